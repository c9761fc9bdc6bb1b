// SPDX-License-Identifier: BSD-3-Clause
//
// A transport that reads another process's memory and has no active messages (cma, knem): its reads
// are verified over a link of the same worker to the same peer, whichever transport that uses.
#ifndef VERITY_UCT_ONESIDED_READ_IFACE_H
#define VERITY_UCT_ONESIDED_READ_IFACE_H

#include <vector>

#include "health/files/interface_rows.h"
#include "uct/links/flush_queue.h"
#include "uct/links/lanes.h"
#include "uct/links/worker_group.h"
#include "uct/onesided/onesided.h"
#include "uct/process/options.h"
#include "uct/wrap/iface.h"

namespace verity::uct {

class ReadIface;

class ReadEp final : public WrapEp, public ReadOwner, public ReaderLane {
 public:
  static ReadEp& of(uct_ep_h ep) noexcept { return static_cast<ReadEp&>(WrapEp::of(ep)); }

  [[nodiscard]] ReadIface& reader() const noexcept;
  ucs_status_t created(const uct_ep_params_t& params) override;
  void destroying() noexcept override;

  ucs_status_t get_zcopy(const uct_iov_t* iov, size_t iovcnt, uint64_t address, uct_rkey_t rkey,
                         uct_completion_t* comp) noexcept;
  ucs_status_t flush(unsigned flags, uct_completion_t* comp) noexcept;
  // Ends what is open as soon as the lower transport lets go of it.
  void cancel() noexcept;
  void purge(uct_pending_purge_callback_t callback, void* arg) noexcept {
    without_link_ = 0;
    PendingQueue purged = pending.take(this);
    purged.give_back(callback, arg);
  }
  [[nodiscard]] bool must_wait() noexcept;
  [[nodiscard]] health::Counters& counters() noexcept { return *counters_; }

 private:
  friend class ReadIface;
  [[nodiscard]] bool awaits_link() const noexcept { return without_link_ != 0 && !pending.empty(); }
  // The link that digests come over; false: none now.
  bool find_link(OneSided** carrier_p, UctLink** link_p) noexcept;

  // Its peer's. The host is known for certain once there is a link.
  void set_host(health::HostId host) noexcept;
  [[nodiscard]] ReaderLane& lane() noexcept { return *this; }
  // Something before a fence is not done yet, on another lane to that peer.
  [[nodiscard]] bool is_behind_fence() noexcept;

  Lanes* lanes_ = nullptr;  // nullptr: nothing is verified
  uint64_t peer_worker_ = 0;
  health::HostId host_ = 0;
  health::Counters* counters_ = nullptr;
  bool verifies_ = false;
  bool had_link_ = false;
  bool running_ = false;  // a pending request is at work: it stands in no queue
  uint64_t without_link_ =
      0;  // ns; since when a read waits for a link for its digests. 0: none does
  OneSided* last_carrier_ = nullptr;  // where the link was found last, if it is there still
  uint32_t last_link_ = 0;
};

class ReadIface final : public WrapIface {
 public:
  static ReadIface& of(uct_iface_h iface) noexcept {
    return static_cast<ReadIface&>(WrapIface::of(iface));
  }

  [[nodiscard]] const WorkerGroup& group() const noexcept { return group_; }
  [[nodiscard]] WorkerGroup& group() noexcept { return group_; }
  [[nodiscard]] health::InterfaceRows& rows() noexcept { return *rows_; }

  void wait(ReadEp& ep, uct_pending_req_t* request) noexcept;
  ucs_status_t queue_flush(ReadEp& ep, unsigned flags, uct_completion_t* comp) noexcept;
  void forget(ReadEp& ep) noexcept;
  [[nodiscard]] bool reading() const noexcept;
  // As UCX's operation. BUSY while a read waits for a link: if none comes, no event says so.
  ucs_status_t arm(unsigned events) noexcept;
  // Without an interface that carries messages to that worker no digest can ever be had. The self
  // transport leads to its own worker alone.
  [[nodiscard]] bool has_carrier(uint64_t peer_worker) const noexcept;
  void add_reader(ReadEp& ep);
  [[nodiscard]] link::Mode mode() const noexcept { return mode_; }

  // --- WrapIface ---
  void fill_ops(uct_iface_ops_t& ops) const noexcept override;
  void fill_internal_ops(InternalOps& ops) const noexcept override;
  void map_attr(uct_iface_attr_t& attr) const noexcept override;
  [[nodiscard]] size_t iface_addr_extra() const noexcept override;
  void write_iface_addr_extra(void* out) noexcept override;
  ucs_status_t refuse_raw_peer() const noexcept override;
  [[nodiscard]] std::unique_ptr<WrapEp> new_ep() override { return std::make_unique<ReadEp>(); }
  ucs_status_t opened(const uct_iface_params_t& params, const uct_iface_config_t& config) override;
  void closing() noexcept override;

 private:
  // A request of an endpoint is being run; it may destroy that, and progress the worker again.
  struct Running {
    ReadEp* ep;  // nullptr: destroyed meanwhile
    Running* outer;
  };

  static unsigned progress_cb(void* arg) noexcept;
  unsigned progress() noexcept;
  unsigned run_pending(ReadEp& ep) noexcept;
  [[nodiscard]] ucs_status_t run(uct_pending_req_t* request, uint32_t epoch,
                                 Running& running) noexcept;
  void need_progress() noexcept;

  const link::Mode mode_ = options().link.mode;  // this interface's, whatever is configured later
  WorkerGroup group_;
  std::unique_ptr<health::InterfaceRows> rows_;
  std::vector<ReadEp*> eps_;
  FlushQueue<ReadEp> flushes_;
  Running* running_ = nullptr;  // innermost
  uct_worker_cb_id_t progress_id_ = UCS_CALLBACKQ_ID_NULL;
};

}  // namespace verity::uct

#endif
