// SPDX-License-Identifier: BSD-3-Clause
#include "uct/links/addresses.h"

#include <cstdio>

#include "uct/process/process.h"
#include "uct/process/warnings.h"

namespace verity::uct {

wire::AddressTail make_tail(link::Mode mode, uint8_t extensions, uint64_t uid) noexcept {
  const uint8_t both = wire::mode_and_extensions(static_cast<uint8_t>(mode), extensions);
  constexpr wire::Release kRelease = wire::parse_release(VERITY_VERSION);
  return {wire::kAddressMagic, wire::kVersion, both, process().host(), uid, kRelease, 0};
}

bool read_tail(const void* address, size_t offset, wire::AddressTail* tail) noexcept {
  wire::read_address(static_cast<const char*>(address) + offset, tail);
  return tail->magic == wire::kAddressMagic && link_mode(*tail) <= link::Mode::kVerify &&
         tail->version == wire::kVersion;
}

ucs_status_t refuse_address(const wire::AddressTail& tail) noexcept {
  char text[wire::kMaxRefusal];
  if (tail.magic != wire::kAddressMagic) {
    std::snprintf(text, sizeof(text),
                  "the peer's address is not one of a verified transport: is the plugin loaded on "
                  "every host of the job?");
  } else if (tail.version != wire::kVersion) {
    wire::write_refusal(tail, wire::parse_release(VERITY_VERSION), text);
  } else {
    std::snprintf(text, sizeof(text),
                  "the address of a peer with ucx-verity %u.%u.%u names mode %u, this side (%s) "
                  "knows 0 to %u: use one release on all hosts of the job",
                  tail.release.major, tail.release.minor, tail.release.patch,
                  static_cast<unsigned>(link_mode(tail)), VERITY_VERSION,
                  static_cast<unsigned>(link::Mode::kVerify));
  }
  warnings().peer_refused(text);
  return UCS_ERR_UNREACHABLE;
}

ucs_status_t refuse_raw_peer() noexcept {
  warnings().peer_refused(
      "a peer without the plugin, or without UCX_VERITY_TRANSPARENT, is refused: nothing that it "
      "sends could be verified; set the same on every host of the job (see 'ucx-verity doctor "
      "--job')");
  return UCS_ERR_UNREACHABLE;
}

}  // namespace verity::uct
