// SPDX-License-Identifier: BSD-3-Clause
#include "validate/message.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstring>
#include <iterator>

#include "merkle/hash.h"

namespace verity::validate {

namespace {

bool well_formed(const Header& h) noexcept {
  return h.kind >= static_cast<uint8_t>(Kind::kRoot) &&
         h.kind <= static_cast<uint8_t>(Kind::kGiveUp) && h.sender <= 1 &&
         std::all_of(std::begin(h.zero), std::end(h.zero), [](uint8_t byte) { return byte == 0; });
}

// So many damaged bits leave the magic recognizable.
constexpr int kMostMagicFlips = 4;

// kGood, kBadHeader or kForeign. Precondition: `bytes` hold a header.
Reading read_header(const uint8_t* bytes, Header* header_p) noexcept {
  Header& h = *header_p;
  std::memcpy(&h, bytes, sizeof(h));
  const bool has_magic = std::popcount(h.magic ^ kMagic) <= kMostMagicFlips;
  h.magic = kMagic;
  if (merkle::hash(&h, offsetof(Header, header_check)) != h.header_check)
    return has_magic ? Reading::kBadHeader : Reading::kForeign;
  return h.version == kVersion && well_formed(h) ? Reading::kGood : Reading::kForeign;
}

// What two of three copies agree on, bit by bit.
std::array<uint8_t, kEndCopySize> vote(std::span<const uint8_t> bytes) noexcept {
  std::array<uint8_t, kEndCopySize> voted;
  for (size_t i = 0; i < voted.size(); ++i) {
    const uint8_t a = bytes[i], b = bytes[i + kEndCopySize], c = bytes[i + 2 * kEndCopySize];
    voted[i] = static_cast<uint8_t>((a & b) | (a & c) | (b & c));
  }
  return voted;
}

// A copy that is right, or what can be made of all together.
Reading read_end(std::span<const uint8_t> bytes, Header* header_p) noexcept {
  bool is_ours = false;
  for (size_t copy = 0; copy < kEndCopies; ++copy) {
    const Reading reading = read_header(bytes.data() + copy * kEndCopySize, header_p);
    if (reading == Reading::kGood) return Reading::kGood;
    is_ours = is_ours || reading == Reading::kBadHeader;
  }
  const Reading reading = read_header(vote(bytes).data(), header_p);
  if (reading == Reading::kGood) return Reading::kGood;
  return is_ours || reading == Reading::kBadHeader ? Reading::kLostEnd : Reading::kForeign;
}

}  // namespace

uint64_t Message::word(uint64_t i) const noexcept {
  uint64_t word;
  std::memcpy(&word, body.data() + i * sizeof(word), sizeof(word));
  return word;
}

void put(Bytes& out, uint64_t word) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(&word);
  out.insert(out.end(), bytes, bytes + sizeof(word));
}

Bytes begin(const Header& header) {
  Bytes message(sizeof(header));
  std::memcpy(message.data(), &header, sizeof(header));
  return message;
}

void seal(Bytes& message) noexcept {
  Header header;
  std::memcpy(&header, message.data(), sizeof(header));
  header.body_check =
      merkle::hash(message.data() + sizeof(header), message.size() - sizeof(header));
  header.header_check = merkle::hash(&header, offsetof(Header, header_check));
  std::memcpy(message.data(), &header, sizeof(header));
}

Bytes make_end(const Header& header) {
  Bytes copy = begin(header);
  seal(copy);
  copy.resize(kEndCopySize);
  Bytes message;
  for (size_t i = 0; i < kEndCopies; ++i) message.insert(message.end(), copy.begin(), copy.end());
  message.resize(kEndSize);
  return message;
}

Reading read(std::span<const uint8_t> bytes, Message* message_p) noexcept {
  if (bytes.size() < sizeof(Header)) return Reading::kForeign;
  message_p->body = {};
  if (bytes.size() == kEndSize) return read_end(bytes, &message_p->header);
  const Reading reading = read_header(bytes.data(), &message_p->header);
  if (reading != Reading::kGood) return reading;
  message_p->body = bytes.subspan(sizeof(Header));
  return merkle::hash(message_p->body.data(), message_p->body.size()) ==
                 message_p->header.body_check
             ? Reading::kGood
             : Reading::kBadBody;
}

}  // namespace verity::validate
