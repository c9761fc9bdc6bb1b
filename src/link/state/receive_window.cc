// SPDX-License-Identifier: BSD-3-Clause
#include "link/state/receive_window.h"

#include <cstdlib>
#include <cstring>
#include <new>

namespace verity::link {

QueuedFrame* OutOfOrderPool::copy(const wire::FrameHeader& header,
                                  const uint8_t* payload) noexcept {
  void* memory = std::calloc(1, sizeof(QueuedFrame) + header.length);
  if (memory == nullptr) return nullptr;
  auto* frame = new (memory) QueuedFrame{};
  frame->header = header;
  if (payload != nullptr && header.length != 0)
    std::memcpy(frame->payload(), payload, header.length);
  bytes_ += frame->footprint();
  return frame;
}

void OutOfOrderPool::free(QueuedFrame* frame) noexcept {
  bytes_ -= frame->footprint();
  std::free(frame);
}

QueuedFrame** OutOfOrderQueue::place_of(uint32_t psn) noexcept {
  QueuedFrame** place = &head_;
  while (*place != nullptr && static_cast<int32_t>(psn - (*place)->header.psn) > 0) {
    place = &(*place)->next;
  }
  return place;
}

bool ReceiveWindow::on_probe(const wire::ProbeBody& probe) noexcept {
  const bool lost = probe.nacks_seen == nack_serial_ || probe.nacks_seen == nack_seen_by_peer_;
  nack_seen_by_peer_ = probe.nacks_seen;
  if (!lost) return false;
  probe_serial_ = probe.serial;
  nacked_to_ = expected_;
  for (QueuedFrame* frame = queue_.first(); frame != nullptr; frame = frame->next)
    frame->nacked = false;
  return true;
}

}  // namespace verity::link
