// SPDX-License-Identifier: BSD-3-Clause
#include "validate/message.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iterator>

#include "merkle/hash.h"

namespace verity::validate {

namespace {

bool well_formed(const Header& h) noexcept {
  return h.kind >= static_cast<uint8_t>(Kind::kRoot) &&
         h.kind <= static_cast<uint8_t>(Kind::kGivenUp) && h.sender <= 1 &&
         std::all_of(std::begin(h.zero), std::end(h.zero), [](uint8_t byte) { return byte == 0; });
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

Reading read(std::span<const uint8_t> bytes, Message* message_p) noexcept {
  Header& header = message_p->header;
  if (bytes.size() < sizeof(header)) return Reading::kForeign;
  std::memcpy(&header, bytes.data(), sizeof(header));
  message_p->body = bytes.subspan(sizeof(header));
  const bool right = merkle::hash(&header, offsetof(Header, header_check)) == header.header_check;
  if (!right) return header.magic == kMagic ? Reading::kBadHeader : Reading::kForeign;
  if (header.magic != kMagic || header.version != kVersion || !well_formed(header))
    return Reading::kForeign;
  return merkle::hash(message_p->body.data(), message_p->body.size()) == header.body_check
             ? Reading::kGood
             : Reading::kBadBody;
}

}  // namespace verity::validate
