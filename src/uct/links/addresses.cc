// SPDX-License-Identifier: BSD-3-Clause
#include "uct/links/addresses.h"

#include "uct/process/process.h"

namespace verity::uct {

wire::AddressTail make_tail(link::Mode mode, uint8_t extensions, uint64_t uid) noexcept {
  const uint8_t both = wire::mode_and_extensions(static_cast<uint8_t>(mode), extensions);
  return {wire::kAddressMagic, wire::kVersion, both, process().host(), uid};
}

bool read_tail(const void* address, size_t offset, wire::AddressTail* tail) noexcept {
  std::memcpy(tail, static_cast<const char*>(address) + offset, sizeof(*tail));
  return tail->magic == wire::kAddressMagic && link_mode(*tail) <= link::Mode::kVerify &&
         tail->version == wire::kVersion;
}

ucs_status_t refuse_address(const wire::AddressTail& tail) noexcept {
  if (tail.magic != wire::kAddressMagic) {
    ucs_error(
        "ucx-verity: the peer's address is not one of a verified transport: is the plugin "
        "loaded on every host of the job?");
  } else if (tail.version != wire::kVersion) {
    ucs_error(
        "ucx-verity: the peer speaks protocol version %u, this side %u: install one "
        "version of ucx-verity on all hosts",
        tail.version, wire::kVersion);
  } else {
    ucs_error(
        "ucx-verity: the peer's address names mode %u, this side knows 0 to %u: install one "
        "version of ucx-verity on all "
        "hosts",
        static_cast<unsigned>(link_mode(tail)), static_cast<unsigned>(link::Mode::kVerify));
  }
  return UCS_ERR_UNREACHABLE;
}

}  // namespace verity::uct
