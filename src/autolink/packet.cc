// SPDX-License-Identifier: BSD-3-Clause
#include "autolink/packet.h"

#include <cstddef>
#include <cstring>

#include "merkle/hash.h"

namespace verity::autolink {

uint8_t* begin(const Header& header, uint64_t body, Bytes* message_p) {
  message_p->resize(sizeof(header) + body);
  std::memcpy(message_p->data(), &header, sizeof(header));
  return message_p->data() + sizeof(header);
}

void seal(Bytes* message_p) noexcept {
  Header header;
  std::memcpy(&header, message_p->data(), sizeof(header));
  header.body_check =
      merkle::hash(message_p->data() + sizeof(header), message_p->size() - sizeof(header));
  header.header_check = merkle::hash(&header, offsetof(Header, header_check));
  std::memcpy(message_p->data(), &header, sizeof(header));
}

std::string read(std::span<const uint8_t> message, Header* header_p) {
  if (message.size() < sizeof(Header)) return "shorter than a header";
  std::memcpy(header_p, message.data(), sizeof(Header));
  const Header& h = *header_p;
  if (h.magic != kMagic) return "no message of autolink";
  if (h.version != kVersion)
    return "version " + std::to_string(h.version) + ", this library has " +
           std::to_string(kVersion);
  if (merkle::hash(&h, offsetof(Header, header_check)) != h.header_check)
    return "its header is damaged";
  if (h.kind < static_cast<uint8_t>(Kind::kInitial) ||
      h.kind > static_cast<uint8_t>(Kind::kInteriors) || h.zero != 0 || h.zero2 != 0) {
    return "of an unknown kind";
  }
  const auto body = body_of(message);
  return merkle::hash(body.data(), body.size()) == h.body_check ? "" : "its body is damaged";
}

}  // namespace verity::autolink
