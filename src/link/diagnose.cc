// SPDX-License-Identifier: BSD-3-Clause
// What is told of faults, once the right bytes are there: each damaged frame is told of once. Off the fault-free path.
#include <algorithm>
#include <cstring>
#include <utility>

#include "link/hub.h"

namespace verity::link {

namespace {

health::FaultKind kind_of(wire::Verdict verdict) noexcept {
  switch (verdict) {
    case wire::Verdict::kBadLength: return health::FaultKind::kLength;
    case wire::Verdict::kBadPayload: return health::FaultKind::kPayload;
    case wire::Verdict::kBadFrame: return health::FaultKind::kFrame;
    default: return health::FaultKind::kHeader;
  }
}

}  // namespace

// A frame of which nothing is kept that could be compared.
void Hub::diagnose(Link* link, wire::Class c, wire::Verdict verdict, const wire::FrameHeader& header) noexcept {
  port_.diagnosed(link, {kind_of(verdict), c, false, header, 0, nullptr, nullptr});
}

void Hub::diagnose_sent(Link& link, wire::Class c, Slot& slot, health::FaultKind kind) noexcept {
  const uint32_t tries = slot.repair != nullptr ? slot.repair->tries : 0;
  port_.diagnosed(&link, {kind, c, true, *slot.header(), tries, nullptr, nullptr});
}

// A damaged frame is kept: it is told of when the right bytes come, or when it is given up.
void Hub::suspect(Link& link, wire::Class c, wire::Verdict verdict, Held& held) noexcept {
  held.unproven = verdict == wire::Verdict::kBadFrame;
  held.faulty = true;
  held.kind = kind_of(verdict);
  held.link = &link;
  held.c = c;
}

// The right bytes of a part of the payload, before they replace what came first.
void Hub::look(Held& held, uint32_t offset, const uint8_t* bytes, uint32_t length) noexcept {
  if (!held.faulty || length == 0) return;
  held.syndrome =
      health::join(held.syndrome, health::compare(held.payload() + offset, bytes, length, {offset, held.header.length, 0}));
}

// `payload`: the right one, with its header; nullptr: it never came.
void Hub::diagnose(Held& held, const wire::FrameHeader& header, const uint8_t* payload) noexcept {
  if (!std::exchange(held.faulty, false)) return;
  const bool differs = held.syndrome.bytes != 0;
  port_.diagnosed(held.link,
                  {held.kind, held.c, false, header, held.rounds, differs ? &held.syndrome : nullptr, payload});
}

}  // namespace verity::link
