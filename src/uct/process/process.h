// SPDX-License-Identifier: BSD-3-Clause
//
// What belongs to the process and not to one interface: the counters and their file, the
// attestation at the end, the warning about raw lanes, fork, and the one line before an abort. A
// child made by fork() is a process of its own, with what it opens itself; see is_inherited() of
// links/iface_core.h.
#ifndef VERITY_UCT_PROCESS_PROCESS_H
#define VERITY_UCT_PROCESS_PROCESS_H

#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "health/files/interface_rows.h"
#include "health/files/segment.h"
#include "health/report/attestation.h"
#include "health/report/bypass.h"
#include "health/report/job_log.h"
#include "link/port/port.h"
#include "uct/compat/ucx.h"
#include "util/interposer.h"
#include "wire/frame.h"

namespace verity::uct {

// Some 18 fields: what a process is in the middle of, mostly flags.
class Process {
 public:
  // Where an interface of `transport`, without its v, counts; `injected`: see
  // WrapIface::lower_injects(). Throws std::bad_alloc.
  [[nodiscard]] std::unique_ptr<health::InterfaceRows> open_rows(const char* transport,
                                                                 const uct_iface_params_t& params,
                                                                 bool injected);
  // UCX looks for transports, in a process that may use other ones. The ranks of an MPI job make
  // their health files now, so that they are seen even if they never use the plugin; other
  // processes wait for communicates().
  void noticed(uct_component_h component) noexcept;
  // A link opens: the first one makes the health file. A process that does not communicate needs
  // none.
  void communicates() noexcept {
    if (!published_.load(std::memory_order_relaxed)) publish();
  }
  // The MPI interposer's counters are the process's.
  void count_types(const verity_interposer& interposer) noexcept;
  // Without UCX_VERITY_HOST.
  [[nodiscard]] const health::Identity& who() const noexcept { return who_; }
  // This host's name, for peers, and the hash of it.
  void write_host(char (&field)[wire::kMaxHostName]) const noexcept {
    std::memcpy(field, advertised_host_, sizeof(field));
  }
  [[nodiscard]] health::HostId host() const noexcept { return host_; }
  // The host of a peer, by the name that it advertised.
  [[nodiscard]] health::HostId host_of(const char (&field)[wire::kMaxHostName]) noexcept;
  // Empty: not known yet. Throws std::bad_alloc.
  [[nodiscard]] std::string host_name(health::HostId host) const {
    return table_ != nullptr ? table_->host_name(host) : std::string();
  }

  // An interface opened: the first time, warns if raw lanes stand beside the verified ones.
  void opened(link::Mode mode) noexcept;
  // By that number peers know it.
  void add_interface(uint64_t uid) noexcept;
  // An interface is about to close: notes which MPI components are loaded while they still are.
  void closing(uint64_t uid) noexcept;
  // Writes the uids of those that closed last; returns how many. May be called in a signal's
  // handler.
  [[nodiscard]] size_t closed_interfaces(std::span<uint64_t> out) const noexcept;
  void link_failed(const char* transport, uint64_t peer, link::Failure why) noexcept;
  [[noreturn]] void abort_job(const char* transport, uint64_t peer, ucs_status_t status) noexcept;

  // The process is about to end, with that status.
  void exits(int status) noexcept { fails_ = fails_ || status != 0; }
  // At the end of the process: the attestation, or that of all ranks of this host if it is the last
  // one.
  void finish() noexcept;

 private:
  template <typename>
  friend class PerProcess;
  Process() noexcept;
  // Interfaces that were inherited count in private memory from now on.
  void in_child() noexcept;
  // It is one of those that a launcher started, and no child that inherited the variables of one.
  [[nodiscard]] bool is_rank() const noexcept;
  void start() noexcept;
  void start_counting();
  void publish() noexcept;
  void report_no_file(const std::string& problem) noexcept;
  void guard_counters() noexcept;
  void join_job();
  [[nodiscard]] health::Report make_report() const;
  void finish_or_throw();

  std::mutex mutex_;
  std::unique_ptr<health::Segment> segment_;
  std::unique_ptr<health::Table> table_;           // nullptr: this process opened no interface yet
  char advertised_host_[wire::kMaxHostName] = {};  // from the first open_rows() on
  health::HostId host_ = 0;                        // the same
  // As the variables had it when UCX was initialized: programs remove a launcher's to start jobs of
  // their own.
  health::Identity who_;
  health::MpiSettings mpi_;
  const pid_t pid_ = getpid();  // children that no handler of fork() has seen have another one
  std::atomic<bool> lost_counters_{false};  // somebody has cut the file in which they were
  bool started_ = false;
  bool finished_ = false;
  bool noticed_ = false;
  int open_ = 0;        // interfaces for messages
  bool fails_ = false;  // it ends with an error: others may be killed for that
  std::atomic<bool> published_{false};
  bool counts_types_ = false;
  link::Mode mode_ = link::Mode::kVerify;
  std::array<std::atomic<uint64_t>, 64> closed_{};  // uids, a ring; 0: none yet
  std::atomic<size_t> closed_count_{0};
  health::Report known_;  // of the report at the end, what is known so far
  health::Launch launch_;
  health::JobLog job_;
};

// Never destroyed: interfaces may close after static destructors ran.
[[nodiscard]] Process& process() noexcept;

}  // namespace verity::uct

#endif
