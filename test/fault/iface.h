// SPDX-License-Identifier: BSD-3-Clause
//
// The corrupting interface: everything goes to the lower transport, but frames that the injector
// hits are sent, or delivered, from a damaged copy. The caller's buffers are never touched, with
// one exception: bytes that a get brought are damaged where they landed, as a bad read would.
#ifndef VERITY_TEST_FAULT_IFACE_H
#define VERITY_TEST_FAULT_IFACE_H

#include <chrono>
#include <deque>
#include <mutex>
#include <vector>

#include "fault/injector.h"
#include "uct/wrap/iface.h"

namespace verity::fault {

using Bytes = std::vector<uint8_t>;

struct OldFrame {
  uint8_t am_id;
  Bytes bytes;
};

// The last few frames of one place, for 'replace' and 'repeat'. Any thread.
class History {
 public:
  void remember(uint8_t am_id, std::span<const uint8_t> frame);
  // One of those with this id (-1: any) and no longer than `max_length`; false if none is found.
  [[nodiscard]] bool pick(Random& random, int am_id, size_t max_length, OldFrame* frame_p);

 private:
  std::mutex mutex_;
  std::deque<OldFrame> frames_;
};

class FaultEp : public uct::WrapEp {
 public:
  static FaultEp& of(uct_ep_h ep) noexcept { return static_cast<FaultEp&>(WrapEp::of(ep)); }
  History history;
  bool cancelled = false;  // flushed with UCT_FLUSH_FLAG_CANCEL: nothing may be sent hereafter

  // The peer's rank, if UCX_FAULT_PEERS is set; kUnset for one that knows none.
  [[nodiscard]] uint64_t peer() const noexcept { return peer_; }
  ucs_status_t created(const uct_ep_params_t& params) override;
  void destroying() noexcept override;
  void connected(const uct_ep_addr_t* addr) noexcept;

 private:
  uint64_t peer_ = kUnset;
};

class FaultIface : public uct::WrapIface {
 public:
  static FaultIface& of(uct_iface_h iface) noexcept {
    return static_cast<FaultIface&>(WrapIface::of(iface));
  }

  void fill_ops(uct_iface_ops_t& ops) const noexcept override;
  void fill_internal_ops(uct::InternalOps& ops) const noexcept override;
  void map_attr(uct_iface_attr_t& attr) const noexcept override;
  [[nodiscard]] uct_am_callback_t am_callback() const noexcept override;
  [[nodiscard]] std::unique_ptr<uct::WrapEp> new_ep() override {
    return std::make_unique<FaultEp>();
  }

  ucs_status_t opened(const uct_iface_params_t& params, const uct_iface_config_t& config) override;
  void closing() noexcept override;

  // With UCX_FAULT_CONNECT=ep, where the lower transport can do it: its interfaces have no
  // addresses.
  [[nodiscard]] bool connects_ep_only() const noexcept;

  // ---- with UCX_FAULT_PEERS (peers.cc) ----
  [[nodiscard]] size_t iface_addr_extra() const noexcept override;
  void write_iface_addr_extra(void* to) noexcept override;
  [[nodiscard]] size_t ep_addr_extra() const noexcept override;
  void write_ep_addr_extra(uct::WrapEp& ep, void* to) noexcept override;

  // ---- with UCX_FAULT_ASYNC (async.cc) ----
  unsigned progress() noexcept;
  void enable_progress() noexcept;
  void disable_progress() noexcept;
  // As ud: no descriptor, but a call of the upper layer's from UCX's thread.
  [[nodiscard]] ucs_status_t arm() noexcept;
  // UCP takes no failure from its asynchronous thread: it waits for the next progress().
  ucs_status_t ep_failed(uct::WrapEp& ep, ucs_status_t status) noexcept override;
  void forget_failure(const uct::WrapEp& ep) noexcept;

  // ---- with UCX_FAULT_COMPLETE (async.cc) ----
  // A zero-copy send of that endpoint, which the lower transport completed at once.
  ucs_status_t complete_later(const uct::WrapEp& ep, uct_completion_t* comp);
  void cancel_late(const uct::WrapEp& ep) noexcept;

  // ---- with UCX_FAULT_QUEUE (queue.cc) ----
  void queue_progress() noexcept;
  void leave_queue() noexcept;

  // Lets the frame go up, with what the injector wants done to it.
  ucs_status_t receive(uint8_t am_id, void* data, size_t length, unsigned flags);

 private:
  ucs_status_t deliver(uint8_t am_id, void* data, size_t length, unsigned flags);
  void deliver_copy(OldFrame frame);
  void deliver_hit(uint8_t am_id, std::span<const uint8_t> frame, Verdict& verdict);
  void deliver_old(OldFrame frame, Verdict& verdict);
  void release_held();

  unsigned complete_late() noexcept;

  static void on_timer(int id, ucs_event_set_types_t events, void* arg) noexcept;

  // For synchronous handlers, received asynchronously. Under the worker's asynchronous block.
  std::deque<OldFrame> waiting_;
  struct Failure {
    uct::WrapEp* ep;
    ucs_status_t status;
  };
  std::deque<Failure> failures_;
  struct Late {
    const uct::WrapEp* ep;
    uct_completion_t* comp;
    std::chrono::steady_clock::time_point due;
  };
  std::deque<Late> late_;  // oldest first
  bool in_async_ = false;
  bool armed_ = false;
  uct_async_event_cb_t event_cb_ = nullptr;
  void* event_arg_ = nullptr;
  int timer_id_ = -1;
  uct_worker_cb_id_t progress_id_ = UCS_CALLBACKQ_ID_NULL;
  uct_worker_cb_id_t queue_id_ = UCS_CALLBACKQ_ID_NULL;
  unsigned waited_ = 0;  // receives since that stands in the queue

  History history_;
  std::mutex held_mutex_;
  std::vector<OldFrame> held_;  // by 'swap', until the next frame has been delivered
};

// Operation table entries: active messages in tx.cc, remote memory access in rma.cc, connecting in
// peers.cc, reception in UCX's asynchronous thread in async.cc.
void fill_am_ops(uct_iface_ops_t& ops) noexcept;
void fill_rma_ops(uct_iface_ops_t& ops) noexcept;
void fill_connect_ops(uct_iface_ops_t& ops) noexcept;
// Progress is this interface's, not the lower one's alone.
void fill_progress_ops(uct_iface_ops_t& ops) noexcept;
// That, and excludes the asynchronous thread from all of them: the last to be called.
void fill_async_ops(uct_iface_ops_t& ops) noexcept;

// Does one of the kinds flip, burst, zero_line or truncate to `frame`; not recorded yet.
[[nodiscard]] Damage damage_frame(Verdict& verdict, Bytes& frame);

// The whole frame is lost or another one stands for it.
[[nodiscard]] Damage whole_frame(size_t length, size_t new_length) noexcept;

[[nodiscard]] Bytes gather(const uct_iov_t* iov, size_t count);

// A sender cannot drop a frame once the lower transport asked for its bytes, so it sends these
// instead and the receiving fault interface drops them.
inline constexpr uint8_t kDropMark[] = {0xfa, 0x17, 0xd4, 0x09, 0x5e, 0xc3, 0x3b, 0x80,
                                        0x71, 0x2c, 0xe6, 0x48, 0x9d, 0x05, 0xb2, 0x6f};

}  // namespace verity::fault

#endif
