// SPDX-License-Identifier: BSD-3-Clause
//
// What the links need of this layer: each call goes to the part that it is for. Nothing here calls
// the upper layer except deliver().
#ifndef VERITY_UCT_IFACE_LINK_PORT_H
#define VERITY_UCT_IFACE_LINK_PORT_H

#include <utility>
#include <vector>

#include "link/port/port.h"
#include "uct/idle/wakeup_timer.h"
#include "uct/receiving/delivery.h"
#include "uct/sending/zero_copy.h"

namespace verity::uct {

class LinkPort final : public link::Port {
 public:
  // `check_time` is set where the next progress is to read the clock.
  LinkPort(FrameSender& sender, Completions& completions, Delivery& delivery, WakeupTimer& wakeup,
           bool& check_time) noexcept
      : core_(sender.links().core()),
        links_(sender.links()),
        sender_(sender),
        completions_(completions),
        delivery_(delivery),
        wakeup_(wakeup),
        check_time_(check_time) {}

  // --- link::Port ---
  link::Sent send(link::Link& l, wire::Class c, util::Pieces frame) noexcept override;
  link::Sent send_compact(link::Link& l, util::Piece frame) noexcept override;
  bool wait_for_room(link::Link& l) noexcept override;
  bool must_read_on(link::Link& l) noexcept override;
  link::Sent send_source(link::Link& l, wire::Class c, link::Slot& slot) noexcept override;
  void deliver(link::Link& l, wire::Class c, uint8_t am_id, const void* payload,
               size_t length) noexcept override;
  void source_free(link::Link& l, link::Slot& slot) noexcept override;
  void writable(link::Link& l) noexcept override;
  void source_changed(link::Link& l, const link::Slot& slot, bool freed) noexcept override;
  void failed(link::Link& l, link::Failure why) noexcept override;
  void peer_closed(link::Link& l) noexcept override;
  link::Link* new_peer(const wire::HelloView& hello) noexcept override;
  void hello_received(link::Link& l, const wire::HelloView& hello) noexcept override;
  size_t closed_interfaces(std::span<uint64_t> out) noexcept override;
  void write_addresses(wire::HelloExt& ext, uint8_t* out) noexcept override;
  void faulted(link::Link* l, wire::Verdict verdict,
               const wire::FrameHeader& header) noexcept override;
  void diagnosed(link::Link* l, const link::Fault& fault) noexcept override;
  void deadline_set() noexcept override;

  // Before each Hub::tick() of a progress call: whether the process made none for long.
  void note_time(uint64_t now) noexcept;
  // Whether must_read_on() had control frames wait since the last call of this.
  [[nodiscard]] bool take_reads_on() noexcept { return std::exchange(reads_on_, false); }

 private:
  IfaceCore& core_;
  LinkSet& links_;
  FrameSender& sender_;
  Completions& completions_;
  Delivery& delivery_;
  WakeupTimer& wakeup_;
  bool& check_time_;
  uint64_t noted_at_ = 0;  // ns; the last note_time()
  uint32_t pauses_ = 0;
  bool reads_on_ = false;
};

}  // namespace verity::uct

#endif
