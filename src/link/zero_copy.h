// SPDX-License-Identifier: BSD-3-Clause
// Zero-copy sends: the user's buffers are the source of a frame until it is acknowledged, or
// bounced: copied to a bounce buffer, so that the user may have them back although the peer is
// silent.
#ifndef VERITY_LINK_ZERO_COPY_H
#define VERITY_LINK_ZERO_COPY_H

#include "link/port/interface.h"
#include "link/port/port.h"
#include "link/state/bounce_buffers.h"
#include "link/state/pool.h"

namespace verity::link {

class ZeroCopy {
 public:
  ZeroCopy(const Interface& iface, Pool& pool) noexcept : iface_(iface), pool_(pool) {}

  // Makes room for the description of a zero-copy frame in a slot reserved with
  // source_space(header_length): the upper header is copied and becomes the first piece; the caller
  // appends the user's pieces.
  [[nodiscard]] static Source* make_source(Slot* slot, const void* upper_header,
                                           size_t header_length) noexcept;
  // The same for a frame of this layer's own, whose `length` bytes of payload stand in the slot and
  // are read there by the lower transport: reserved with `length` + source_space(0).
  [[nodiscard]] static Source* make_source_in_slot(Slot* slot, size_t length) noexcept;
  [[nodiscard]] static constexpr size_t source_space(size_t header_length) noexcept {
    return header_length + alignof(Source) + sizeof(Source);
  }

  // The frame is in flight now. `polls`: of the ControlQueue.
  void committed(Link& link, Slot& slot, uint32_t polls) noexcept;
  // The lower transport has read the pieces. The slot may be gone afterwards.
  void source_sent(Link& link, Slot& slot) noexcept;
  // The same for a slot that the lower transport was done with as soon as it was given to it:
  // bounces it, so that its buffers are free when the send returns. False: there is no memory for
  // the copy, and source_free() will be called.
  [[nodiscard]] bool complete_at_once(Link& link, Slot& slot) noexcept;
  // The user has the buffers of a slot that was bounced or acknowledged, whatever the lower
  // transport still reads of them: source_free() is called.
  void let_go(Link& link, Slot& slot) noexcept;
  // The frame is not in flight any more.
  void acknowledged(Link& link, Slot* slot) noexcept;
  // Frees a slot whose source_free() was called, as soon as it is not in flight any more. While the
  // lower transport reads it, that is called once more behind it.
  void release(Slot* slot) noexcept;

  // Copies the payload, if that was not done. False: there is no memory.
  [[nodiscard]] bool bounce(Link& link, Slot& slot) noexcept;
  // All payloads in flight, so that their buffers are free.
  void bounce_all(Link& link) noexcept {
    bounce_some(link, [](Slot&) { return true; });
  }
  // Those for which wanted(slot) holds.
  template <typename Wanted>
  void bounce_some(Link& link, Wanted&& wanted) noexcept {
    if (link.zero_copies == 0) return;
    for (const SendWindow& tx : link.tx) {
      for (Slot* slot = tx.oldest(); slot != nullptr; slot = slot->next) {
        if (slot->source == nullptr || slot->source->bounced || !wanted(*slot)) continue;
        if (link.mode() == Mode::kObserve && slot->size > iface_.config.max_send &&
            iface_.config.max_large == 0) {
          continue;  // it is not sent yet, and could go in pieces only
        }
        if (bounce(link, *slot)) count_late_copy(link);
      }
    }
  }
  // Whether payloads in flight stand in the user's buffers, or the lower transport reads some.
  [[nodiscard]] static bool has_unbounced(const Link& link) noexcept;
  // The same of the frames before those psns.
  [[nodiscard]] static bool has_unbounced_before(const Link& link, const Psns& psn) noexcept;
  // The same without those that the lower transport alone reads.
  [[nodiscard]] static bool has_uncopied(const Link& link) noexcept;
  // Once per poll. Whoever sent the oldest one calls for progress and finds none: the copy is made
  // in time that would be spent waiting.
  void poll(uint32_t polls) noexcept {
    if (unbounced_.linked() && polls - last_send_ >= iface_.config.copy_polls) bounce_oldest();
  }
  // Frees bounce buffers that were not needed since the last call.
  void trim() noexcept;

 private:
  void bounce_oldest() noexcept;
  void free_source(Link& link, Slot& slot) noexcept;
  void give_back(Slot* slot) noexcept;
  void count_late_copy(Link& link) noexcept;

  const Interface& iface_;
  Pool& pool_;
  BounceBuffers buffers_{4 << 20};
  util::ListNode unbounced_;  // frames in flight that stand in the user's memory, oldest first
  uint32_t last_send_ = 0;    // poll count
  uint64_t late_copies_ = 0;
  uint64_t copies_at_trim_ = 0;
};

}  // namespace verity::link

#endif
