// SPDX-License-Identifier: BSD-3-Clause
//
// The verifying interface: a wrapper whose active messages travel in frames of the link protocol.
//
//   verity_iface.cc  opening, capabilities, addresses        send.cc      am_short, am_bcopy, am_zcopy
//   verity_ep.cc     endpoints and their links               receive.cc   lower active messages
//   port.cc          what the links send through             progress.cc  timers, completions, pending
//   flush.cc         flush and cancel; fence.cc              events.cc    sleeping and waking
//   closing.cc       last frames, goodbyes                   process.cc   attestation, fork, warnings
//   apart.cc         while the worker is not progressed: by another one's progress, or by a thread
//   faults.cc        records of faults
//   onesided_ops.cc  put, get, atomic operations, fence; onesided.cc is what src/rma needs for them
#ifndef VERITY_UCT_VERITY_IFACE_H
#define VERITY_UCT_VERITY_IFACE_H

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <unordered_map>
#include <vector>

#include "health/fault_record.h"
#include "health/interface_rows.h"
#include "health/sampler.h"
#include "link/hub.h"
#include "uct/links/flush_queue.h"
#include "uct/onesided/onesided.h"
#include "uct/process/options.h"
#include "uct/messages/trailers.h"
#include "uct/links/uct_link.h"
#include "uct/links/worker_group.h"
#include "uct/wrap/iface.h"
#include "wire/address.h"
#include "wire/am_ids.h"

namespace verity::uct {

using wire::kAsyncId;
using wire::kCompactId;
using wire::kSyncId;

[[nodiscard]] inline link::Mode mode_of(const wire::AddressTail& tail) noexcept { return static_cast<link::Mode>(tail.mode & 0x0f); }

// A zero-copy send, in link::Source::port.
struct ZcopyState {
  uct_completion_t lower;  // what the lower transport completes
  uct_completion_t* upper;
  UctLink* link;
  link::Slot* slot;
  link::Slot* next_done;
  ucs_status_t status;
  uint64_t watched;  // the companion's count of sends when this one left; 0 without it
};
static_assert(sizeof(ZcopyState) <= sizeof(link::Source::port));

class VerityIface final : public WrapIface, public link::Port {
 public:
  VerityIface() = default;
  ~VerityIface() override;

  static VerityIface& of(uct_iface_h iface) noexcept {
    return static_cast<VerityIface&>(WrapIface::of(iface));
  }

  [[nodiscard]] link::Hub& hub() noexcept { return *hub_; }
  // Of what belongs to no link.
  [[nodiscard]] health::Counters& counters() noexcept { return rows_->own(); }
  // Not in mode off.
  [[nodiscard]] bool has_onesided() const noexcept { return onesided_ != nullptr; }
  [[nodiscard]] OneSided& onesided() noexcept { return *onesided_; }
  [[nodiscard]] bool is_off() const noexcept { return config_.mode == link::Mode::kOff; }
  [[nodiscard]] bool has_async() const noexcept { return has_async_; }
  // Another thread may be at work here: the lower transport's own, or UCX_VERITY_PROGRESS_THREAD's.
  [[nodiscard]] bool is_shared() const noexcept { return shared_; }
  [[nodiscard]] ucs_async_context_t* async() const noexcept { return worker->async; }

  // The class in which upper message `id` travels: as the upper layer wants to receive it.
  [[nodiscard]] wire::Class class_of(uint8_t id) const noexcept {
    const bool is_async = has_async_ && (am[id].flags & UCT_CB_FLAG_ASYNC) != 0 && am[id].cb != stub_;
    return is_async ? wire::Class::kAsync : wire::Class::kSync;
  }
  [[nodiscard]] static uint8_t lower_id(const link::Slot& slot, wire::Class c) noexcept {
    return slot.compact ? kCompactId : wire::lower_id(c);
  }

  // --- links (verity_ep.cc) ---
  [[nodiscard]] UctLink* link_to(const uct_ep_params_t& params, ucs_status_t* status_p);
  [[nodiscard]] UctLink* new_link();
  [[nodiscard]] ucs_status_t ensure_lower(UctLink& l) noexcept;
  void adopt_lower(UctLink& l, LowerEp lower);
  void keep_addresses(UctLink& l, const void* device, const void* iface);
  void drop_link(UctLink& l) noexcept;
  // Its peer is on that host: it counts in that row from now on.
  void set_host(UctLink& l, health::HostId host) noexcept;
  void give_up(UctLink& l, ucs_status_t status) noexcept;

  // An active message whose number is this layer's own; for the caller to return.
  [[nodiscard, gnu::cold]] ucs_status_t refuse_id(uint8_t id) const noexcept;
  // The upper layer may have set handlers of such.
  void check_handlers() const noexcept;

  // --- trailers ---
  // Which trailers this process understands: told to peers.
  [[nodiscard]] uint8_t trailers() const noexcept {
    return companion_ != nullptr ? static_cast<uint8_t>(VERITY_COMPANION_VERSION) : uint8_t{0};
  }
  // Those that the peer of this link understands.
  void set_trailers(UctLink& l, unsigned theirs) const noexcept;
  [[nodiscard]] const verity_companion& companion() const noexcept { return *companion_; }
  [[nodiscard]] uint64_t watched_sends() const noexcept { return companion_ != nullptr ? companion_->watched() : 0; }

  // --- sending (send.cc) ---
  [[nodiscard]] ucs_status_t launch(UctLink& l, wire::Class c, link::Slot* slot, size_t length,
                                    uint8_t id) noexcept;
  [[nodiscard]] ucs_status_t launch_copied(UctLink& l, wire::Class c, link::Slot* slot, size_t length,
                                           const verity_leaving& leaving) noexcept;
  [[nodiscard]] ssize_t launch_bcopy(UctLink& l, wire::Class c, link::Slot* slot, size_t length,
                                     uint8_t id, uct_pack_callback_t pack, void* arg, uint64_t serial = 0) noexcept;
  [[nodiscard]] ucs_status_t refused(UctLink& l, link::Slot* slot) noexcept;
  [[nodiscard]] bool wait_for_lower(UctLink& l) noexcept;
  void send_own(UctLink& l, link::Slot* slot, size_t length, uint8_t id) noexcept;
  void push_unsent(UctLink& l) noexcept;
  void finish(link::Slot* slot, ucs_status_t status) noexcept;  // completes a zcopy in progress()

  // --- progress ---
  // A call of the upper layer, in this thread.
  void note_thread() const noexcept;
  void note_off_link() noexcept { has_off_links_ = true; }
  unsigned progress() noexcept;
  void want_attention(UctLink& l) noexcept;
  void wake_pending() noexcept;
  void serve_apart(uint64_t now, uint64_t idle) noexcept;
  [[nodiscard]] ucs_status_t flush(VerityEp* ep, unsigned flags, uct_completion_t* comp) noexcept;
  // Completes those zero-copy sends of the link that are copied.
  void end_sends(const UctLink& l) noexcept;
  void cancel_flushes(VerityEp* ep) noexcept { flushes_.cancel(ep); }
  void fence() noexcept;
  void hold(UctLink& l) noexcept;
  [[nodiscard]] bool follows_other_lanes(UctLink& l) noexcept;
  // The peer's last acknowledgement may be what was lost: nothing more is waited for.
  [[nodiscard]] bool has_left(UctLink& l) noexcept;
  [[nodiscard]] const WorkerGroup& group() const noexcept { return group_; }
  void abandon_reads(VerityEp& ep) noexcept;

  // --- Port ---
  link::Sent send(link::Link& l, wire::Class c, util::Pieces frame) noexcept override;
  link::Sent send_compact(link::Link& l, util::Piece frame) noexcept override;
  link::Sent send_source(link::Link& l, wire::Class c, link::Slot& slot) noexcept override;
  void deliver(link::Link& l, wire::Class c, uint8_t am_id, const void* payload, size_t length) noexcept override;
  void source_free(link::Link& l, link::Slot& slot) noexcept override;
  void writable(link::Link& l) noexcept override;
  void source_changed(link::Link& l, const link::Slot& slot, bool freed) noexcept override;
  void failed(link::Link& l, link::Failure why) noexcept override;
  void peer_closed(link::Link& l) noexcept override;
  link::Link* greeted(const wire::HelloView& hello) noexcept override;
  void introduced(link::Link& l, const wire::HelloView& hello) noexcept override;
  size_t closed_interfaces(std::span<uint64_t> out) noexcept override;
  void write_addresses(wire::HelloExt& ext, uint8_t* out) noexcept override;
  void faulted(link::Link* l, wire::Verdict verdict, const wire::FrameHeader& header) noexcept override;
  void diagnosed(link::Link* l, const link::Fault& fault) noexcept override;

  // Its code may run in a signal's handler.
  [[nodiscard]] bool may_interrupt() const noexcept;
  // Between whom, as far as this interface and that link (or nullptr) know. Throws std::bad_alloc.
  void describe(const UctLink* l, health::FaultRecord& record) const;

  // --- WrapIface ---
  void fill_ops(uct_iface_ops_t& ops) const noexcept override;
  void fill_internal_ops(InternalOps& ops) const noexcept override;
  void map_attr(uct_iface_attr_t& attr) const noexcept override;
  [[nodiscard]] uct_am_callback_t am_callback() const noexcept override;
  [[nodiscard]] size_t am_header_size() const noexcept override;
  [[nodiscard]] size_t am_room() const noexcept override;
  [[nodiscard]] size_t iface_addr_extra() const noexcept override;
  void write_iface_addr_extra(void* out) noexcept override;
  [[nodiscard]] size_t ep_addr_extra() const noexcept override;
  void write_ep_addr_extra(WrapEp& ep, void* out) noexcept override;
  [[nodiscard]] std::unique_ptr<WrapEp> new_ep() override;
  ucs_status_t opened(const uct_iface_params_t& params, const uct_iface_config_t& config) override;
  void closing() noexcept override;
  ucs_status_t ep_failed(WrapEp& ep, ucs_status_t status) noexcept override;
  ucs_status_t unknown_ep_failed(uct_ep_h lower, ucs_status_t status) noexcept override;
  void sync_am_handlers() noexcept override {}

  // Frames to send at most through the lower interface's bcopy, and whether it has the others.
  [[nodiscard]] size_t max_lower_short() const noexcept { return max_short_; }
  [[nodiscard]] size_t max_lower_bcopy() const noexcept { return lower_attr().cap.am.max_bcopy; }
  [[nodiscard]] size_t max_payload_bcopy() const noexcept { return max_bcopy_; }
  [[nodiscard]] size_t max_payload_zcopy() const noexcept { return max_zcopy_; }
  // Zero-copy sends up to this length are copied.
  [[nodiscard]] size_t copy_up_to() const noexcept { return copy_up_to_; }
  [[nodiscard]] size_t max_header() const noexcept { return max_header_; }
  [[nodiscard]] size_t max_iov() const noexcept { return max_iov_; }
  // Of am_short; in mode off the lower transport's own limit holds, and it looks at it.
  [[nodiscard]] size_t most_copied() const noexcept { return is_off() ? ~size_t{0} : max_bcopy_; }
  [[nodiscard]] size_t max_put() const noexcept { return max_bcopy_ - sizeof(wire::RmaPut); }
  [[nodiscard]] size_t max_get_bcopy() const noexcept {
    return std::min<size_t>(max_bcopy_ - sizeof(wire::RmaHeader), rma::Client::kMostOfFetch);
  }
  [[nodiscard]] size_t header_room() const noexcept { return header_room_; }
  [[nodiscard]] bool connects_to_ep() const noexcept { return to_ep_; }
  // A link to that worker that can be used; nullptr: none.
  [[nodiscard]] static bool is_usable(const UctLink& l) noexcept {
    return !l.failed && !l.peer_gone && !(l.to_ep && l.orphan) && l.mode != link::Mode::kOff;
  }
  [[nodiscard]] UctLink* link_to_worker(uint64_t peer_worker) noexcept;

 private:
  friend struct Ops;

  using Flushes = FlushQueue<VerityEp>;
  struct Deferred {  // a message that waits for progress()
    uint8_t am_id;
    std::vector<char> bytes;
  };

  ucs_status_t open_hub();
  [[nodiscard]] ucs_status_t receive_async() noexcept;
  void set_limits() noexcept;
  void map_onesided(uct_iface_attr_t& attr) const noexcept;
  static ucs_status_t receive_op(void* arg, void* data, size_t length, unsigned flags) noexcept;
  static ucs_status_t unframed_op(void* arg, void* data, size_t length, unsigned flags) noexcept;
  template <typename Receive>
  [[nodiscard]] bool timed(Receive&& receive, link::Received* received) noexcept;
  ucs_status_t receive_compact(void* data, size_t length, unsigned flags) noexcept;
  ucs_status_t receive(wire::Class c, void* data, size_t length, unsigned flags) noexcept;
  // The sender's handler of that message is asynchronous, ours is not: it waits for progress().
  [[nodiscard]] bool must_defer(wire::Class c, uint8_t am_id) const noexcept {
    return c == wire::Class::kAsync && (am[am_id].flags & UCT_CB_FLAG_ASYNC) == 0;
  }
  ucs_status_t upcall(uint8_t am_id, uint8_t* payload, size_t length, unsigned flags,
                      uct_recv_desc_t* release) noexcept;
  ucs_status_t call(uint8_t am_id, uint8_t* payload, size_t length, unsigned flags) noexcept;
  ucs_status_t call_told(uint8_t am_id, uint8_t* payload, size_t length, unsigned flags) noexcept;
  ucs_status_t drop_trailed(size_t length) noexcept;
  void count_upcall(int change) noexcept;
  ucs_status_t call_handler(uint8_t am_id, uint8_t* payload, size_t length, unsigned flags) noexcept;
  [[nodiscard]] wire::AddressTail address_tail() const noexcept;
  [[nodiscard]] bool is_kept(uint8_t am_id, const void* payload, size_t length) noexcept;
  void defer(uint8_t am_id, const void* payload, size_t length) noexcept;

  void enable_progress(unsigned flags) noexcept;
  void take_over_progress(unsigned flags) noexcept;
  void disable_progress(unsigned flags) noexcept;
  static unsigned progress_cb(void* arg) noexcept;
  UctLink* next_due(util::ListNode& due) noexcept;
  unsigned attend() noexcept;
  unsigned attend(UctLink& l) noexcept;
  unsigned run_pending(UctLink& l) noexcept;
  [[nodiscard]] ucs_status_t run(UctLink& l, uct_pending_req_t* request, uint32_t epoch) noexcept;
  [[nodiscard]] bool awaits_room(UctLink& l) noexcept;
  [[nodiscard]] bool needs_push(const UctLink& l) const noexcept {
    return !l.failed && !l.peer_gone && !l.corked && !l.lower_waiting && hub_->has_unsent(l);
  }
  void push_stored(UctLink& l) noexcept;
  void tell_failure(UctLink& l) noexcept;
  [[nodiscard]] bool is_behind_fence(UctLink& l) noexcept;
  void join_lanes(UctLink& l);
  void leave_lanes(UctLink& l) noexcept;
  void reap(UctLink& l) noexcept;
  [[nodiscard]] bool has_work() const noexcept;
  unsigned work() noexcept;
  unsigned run_completions() noexcept;
  unsigned run_deferred() noexcept;
  unsigned run_flushes() noexcept;
  [[nodiscard]] ucs_status_t try_flush(const Flushes::Request& request) noexcept;
  [[nodiscard]] bool may_flush(VerityEp* ep) noexcept;
  [[nodiscard]] bool settled(UctLink& l) noexcept;
  [[nodiscard]] bool applied(UctLink& l) noexcept;
  [[nodiscard]] link::Slot* take_done(const UctLink& l) noexcept;
  [[nodiscard]] uint32_t acknowledged() noexcept;
  void repeat_all() noexcept;

  [[nodiscard]] ucs_status_t event_fd(int* fd_p) noexcept;
  [[nodiscard]] ucs_status_t arm(unsigned events) noexcept;
  void set_timer(uint64_t now) noexcept;
  void set_timer_fd(uint64_t wait) noexcept;
  void start_async_timer(uint64_t wait) noexcept;
  void stop_async_timer(bool wait) noexcept;
  void close_links() noexcept;
  void enter_neighbours();
  void leave_neighbours() noexcept;
  void serve_neighbours() noexcept;
  void serve_siblings(uint64_t now, uint64_t idle) noexcept;
  [[gnu::cold]] static void note_other_thread() noexcept;
  void start_thread() noexcept;
  void stop_thread() noexcept;
  void serve_alone() noexcept;

  link::Config config_;
  std::unique_ptr<health::InterfaceRows> rows_;
  std::unique_ptr<link::Hub> hub_;
  std::unique_ptr<OneSided> onesided_;
  WorkerGroup group_;
  UctLink* current_ = nullptr;  // whose message is being delivered
  uint64_t uid_ = 0;
  const verity_companion* companion_ = nullptr;
  uint32_t told_ids_ = 0;       // bitmap of the messages that the companion is told of
  size_t header_room_ = 0;      // of the lower transport's zero-copy header, behind the frame's
  uct_am_callback_t stub_ = nullptr;
  bool has_async_ = false;
  bool threaded_ = false;       // UCX's asynchronous thread serves it while its worker is left alone
  bool shared_ = false;         // either of them
  int thread_timer_ = -1;
  bool is_neighbour_ = false;   // other interfaces of its thread may look after it (apart.cc)
  bool to_ep_ = false;
  bool is_self_ = false;        // the lower transport delivers inside the sender's call
  bool closing_ = false;
  bool has_off_links_ = false;  // their requests and completions are the lower transport's and the upper layer's alone
  bool apart_ = false;          // serve_apart() is at work: no upcalls
  bool unusual_ = false;        // any of: closing_, apart_, messages in deferred_, sends in done_first_ (or there was one lately)
  bool runs_deferred_ = false;
  std::atomic<unsigned> progressing_ = 0;  // calls of progress() on the stack; written by one thread at a time
  uint64_t neighbours_at_ = 0;  // ns; when the other interfaces were looked at
  health::Sampler sampler_;  // of received frames
  unsigned upcalls_ = 0;  // received messages that the upper layer is handling: more than one on self
  size_t max_short_ = 0;
  size_t max_bcopy_ = 0;
  size_t max_zcopy_ = 0;
  size_t copy_up_to_ = 0;
  size_t max_header_ = 0;
  size_t max_iov_ = 0;
  size_t headroom_ = 0;
  uintptr_t align_mask_ = 0;  // what the upper layer asked for: (data + offset) & mask == 0
  uintptr_t align_offset_ = 0;
  struct Release : uct_recv_desc_t {
    VerityIface* iface;
  };
  static void release_desc(uct_recv_desc_t* release, const char* lower_desc) noexcept;
  Release release_{};          // of descriptors whose frame has a full header
  Release release_compact_{};  // a compact one
  std::string device_name_;
  std::vector<char> device_address_;
  std::vector<char> iface_address_;
  util::ListNode links_;
  util::ListNode attention_;
  std::unordered_map<uct_ep_h, UctLink*> by_lower_;
  link::Slot* done_first_ = nullptr;
  link::Slot* done_last_ = nullptr;
  Flushes flushes_;
  std::vector<Deferred> deferred_;
  size_t deferred_bytes_ = 0;
  uct_worker_cb_id_t progress_id_ = UCS_CALLBACKQ_ID_NULL;
  bool lower_enabled_ = false;
  int epoll_fd_ = -1;
  int timer_fd_ = -1;
  int async_timer_ = -1;
  uct_async_event_cb_t event_cb_ = nullptr;  // how the upper layer wants to be woken, without a descriptor
  void* event_arg_ = nullptr;
  bool timer_set_ = false;
  bool check_time_ = false;
};

// Keeps UCX's asynchronous thread out where it may be at work on this interface. Elsewhere it keeps out the thread that looks after
// neighbours (apart.cc): one comparison.
class AsyncGuard {
 public:
  explicit AsyncGuard(const VerityIface& iface) noexcept
      : async_(iface.is_shared() ? iface.async() : nullptr) {
    if (async_ != nullptr) [[unlikely]] {
      UCS_ASYNC_BLOCK(async_);
    } else {
      iface.note_thread();
    }
  }
  ~AsyncGuard() {
    if (async_ != nullptr) UCS_ASYNC_UNBLOCK(async_);
  }
  AsyncGuard(const AsyncGuard&) = delete;
  AsyncGuard& operator=(const AsyncGuard&) = delete;

 private:
  ucs_async_context_t* async_;
};

[[nodiscard]] uint64_t monotonic_ns() noexcept;

// What a peer's address says; false: something else made it, or another version (then told on stderr).
[[nodiscard]] bool read_tail(const void* address, size_t offset, wire::AddressTail* tail) noexcept;
[[nodiscard]] ucs_status_t refuse_address(const wire::AddressTail& tail) noexcept;

// What checking costs, for UCX's choice among transports.
[[nodiscard]] double in_series(double bandwidth) noexcept;
void add_cost(uct_perf_attr_t& attr) noexcept;

}  // namespace verity::uct

#endif
