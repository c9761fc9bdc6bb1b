// SPDX-License-Identifier: BSD-3-Clause
//
// The verifying interface: a wrapper whose active messages travel in frames of the link protocol.
// It opens, closes, answers UCX's queries (attributes.cc) and says in which order progress is made
// (progress.cc); its parts do the work:
//
//   LinkSet       the links                      Delivery       from a received frame to the upcall
//   FrameSender   from a message to a frame      OneSided       remote memory access
//   Completions   of zero-copy sends             Fences         the order among several lanes
//   LinkUpkeep    pending requests, failures     Flusher        flush and cancel
//   LinkPort      what the links call            WakeupTimer    sleeping and waking
//   IdleProgress  while the worker is idle
//
// UCX's entries are in ops.h.
#ifndef VERITY_UCT_IFACE_VERITY_IFACE_H
#define VERITY_UCT_IFACE_VERITY_IFACE_H

#include "uct/idle/wakeup_timer.h"
#include "uct/iface/link_port.h"
#include "uct/process/spent_numbers.h"
#include "uct/progress/flusher.h"
#include "uct/progress/lingering_close.h"
#include "uct/progress/link_upkeep.h"
#include "uct/progress/worker_callback.h"

namespace verity::uct {

// More than 30 member functions: most are one-line accessors of the parts, or WrapIface's.
class VerityIface final : public WrapIface, private IdleProgress::Served {
 public:
  VerityIface() noexcept;
  ~VerityIface() override;

  static VerityIface& of(uct_iface_h iface) noexcept {
    return static_cast<VerityIface&>(WrapIface::of(iface));
  }

  // --- the parts ---
  [[nodiscard]] const IfaceCore& core() const noexcept { return core_; }
  [[nodiscard]] LinkSet& links() noexcept { return links_; }
  [[nodiscard]] FrameSender& sender() noexcept { return sender_; }
  [[nodiscard]] Delivery& delivery() noexcept { return delivery_; }
  [[nodiscard]] Completions& completions() noexcept { return completions_; }
  [[nodiscard]] Fences& fences() noexcept { return fences_; }
  [[nodiscard]] LinkUpkeep& upkeep() noexcept { return upkeep_; }
  [[nodiscard]] Flusher& flusher() noexcept { return flusher_; }
  [[nodiscard]] WakeupTimer& wakeup() noexcept { return wakeup_; }

  // --- queries ---
  // An active message whose number is this layer's own; for the caller to return.
  [[nodiscard, gnu::cold]] ucs_status_t refuse_id(uint8_t id) const noexcept;
  // The upper layer may have set handlers of such.
  void check_handlers() const noexcept;
  // Of am_short; in mode off the lower transport's own limit holds, and it checks it.
  [[nodiscard]] size_t max_copied() const noexcept {
    return core_.is_off() ? ~size_t{0} : sender_.limits().max_bcopy;
  }

  // --- progress (progress.cc) ---
  unsigned progress() noexcept;
  void enable_progress(unsigned flags) noexcept;
  void disable_progress(unsigned flags) noexcept;
  [[nodiscard]] ucs_status_t arm(unsigned events) noexcept;

  // --- WrapIface ---
  void fill_ops(uct_iface_ops_t& ops) const noexcept override;
  void fill_internal_ops(InternalOps& ops) const noexcept override;
  void map_attr(uct_iface_attr_t& attr) const noexcept override;
  [[nodiscard]] uct_am_callback_t am_callback() const noexcept override;
  [[nodiscard]] size_t am_header_size() const noexcept override;
  [[nodiscard]] size_t am_room() const noexcept override;
  ucs_status_t refuse_raw_peer() const noexcept override;
  [[nodiscard]] size_t iface_addr_extra() const noexcept override;
  void write_iface_addr_extra(void* out) noexcept override;
  [[nodiscard]] size_t ep_addr_extra() const noexcept override;
  void write_ep_addr_extra(WrapEp& ep, void* out) noexcept override;
  [[nodiscard]] std::unique_ptr<WrapEp> new_ep() override;
  ucs_status_t opened(const uct_iface_params_t& params, const uct_iface_config_t& config) override;
  [[nodiscard]] bool wants_lower_worker() const noexcept override;
  void closing() noexcept override;
  ucs_status_t ep_failed(WrapEp& ep, ucs_status_t status) noexcept override;
  ucs_status_t unknown_ep_failed(uct_ep_h lower, ucs_status_t status) noexcept override;
  void sync_am_handlers() noexcept override {}

 private:
  [[nodiscard]] ucs_status_t open_links(const uct_iface_params_t& params);
  [[nodiscard]] ucs_status_t start_receiving() noexcept;
  // On self no event comes from below: what a thread leaves for the progress of another one, which
  // sleeps, is to wake that.
  [[nodiscard]] bool wakes_itself() const noexcept {
    return core_.is_self && lower_attr().cap.event_flags == 0;
  }
  void map_onesided(uct_iface_attr_t& attr) const noexcept;
  [[nodiscard]] wire::AddressTail address_tail() const noexcept;
  unsigned progress_shared() noexcept;
  // `ticked`: what tick() returned, 0 if it was not due.
  unsigned progress_upper(uint64_t ticked) noexcept;
  // Looks at the clock; returns it (ns).
  uint64_t tick() noexcept;
  unsigned read_on() noexcept;
  bool flush_control() noexcept;
  bool read_all() noexcept;
  [[nodiscard]] bool has_work() const noexcept;
  unsigned work() noexcept;

  // --- IdleProgress::Served ---
  bool serve_idle(uint64_t now, uint64_t idle) noexcept override;
  bool serve_digests() noexcept override;

  IfaceCore core_;
  Extensions extensions_;
  LinkSet links_;
  FrameSender sender_;
  Completions completions_;
  Fences fences_;
  std::unique_ptr<OneSided> onesided_;  // not in mode off
  Delivery delivery_;
  LinkPort port_;
  Flusher flusher_;
  LinkUpkeep upkeep_;
  WakeupTimer wakeup_;
  WorkerCallback callback_;
  std::atomic<unsigned> progressing_ =
      0;                     // calls of progress() on the stack; written by one thread at a time
  SpentNumbers spent_;       // empty unless a peer was given up
  bool check_time_ = false;  // the next progress reads the clock
  IdleProgress idle_;        // the last one: its thread is at work on all others
};

}  // namespace verity::uct

#endif
