// SPDX-License-Identifier: BSD-3-Clause
//
// UCX's log: what is kept out of it, and what is looked for in it.
//
// Some lower sends go to peers that may have ended, as peers do, and are none of the program's: the
// last acknowledgements and BYEs of an interface that closes, answers to a peer to which the
// program has no endpoint, probes. The lower transports report as errors what they cannot connect
// to or map, tcp at once and again for each of its tries; but a peer that has closed before is no
// error.
//
// And some of what matters UCX says in its log alone.
//
// UCX has one stack of log handlers for the process, without a lock, and whoever pops takes the
// topmost, be it another thread's. So the handler is put there once and stays: it passes on
// everything but the messages of threads that are quiet. Only where the program has put handlers of
// its own above it, each time another one goes on top for as long as the object lives.
#ifndef VERITY_UCT_PROCESS_UCX_LOG_H
#define VERITY_UCT_PROCESS_UCX_LOG_H

namespace verity::uct {

// For its lifetime that handler is the topmost one. What holds one cannot be copied.
class LogHandler {
 public:
  LogHandler() noexcept;
  ~LogHandler();
  LogHandler(const LogHandler&) = delete;
  LogHandler& operator=(const LogHandler&) = delete;

 private:
  bool pushed_ = false;
};

// For its lifetime UCX prints none of this thread's messages but fatal ones. Others' go on.
class QuietLower {
 public:
  QuietLower() noexcept;
  ~QuietLower();

 private:
  LogHandler handler_;
};

// For its lifetime looks for a text in the formats of this thread's messages, up to the level diag.
// What is above the user's own level is not printed.
class LogSearch {
 public:
  // `text` must stay.
  explicit LogSearch(const char* text) noexcept;
  ~LogSearch();
  [[nodiscard]] bool found() const noexcept { return found_; }
  void look_at(const char* format) noexcept;  // by the handler
  // The one of the same thread around it; nullptr: none.
  [[nodiscard]] const LogSearch* outer() const noexcept { return outer_; }

 private:
  const char* text_;
  LogSearch* outer_;
  bool found_ = false;
  LogHandler handler_;
};

}  // namespace verity::uct

#endif
