// SPDX-License-Identifier: BSD-3-Clause
//
// While an interface closes, its lower one is used for last acknowledgements and goodbyes only, and
// so is a lower endpoint that answers a peer to which the program has none. The lower transports
// report as errors what they cannot connect to, tcp at once and again for each of its tries; but a
// peer that has closed before is no error.
#ifndef VERITY_UCT_PROCESS_QUIET_LOWER_H
#define VERITY_UCT_PROCESS_QUIET_LOWER_H

namespace verity::uct {

// For its lifetime UCX prints none of this thread's messages but fatal ones. Others' go on.
class QuietLower {
 public:
  QuietLower() noexcept;
  ~QuietLower();
  QuietLower(const QuietLower&) = delete;
  QuietLower& operator=(const QuietLower&) = delete;
};

}  // namespace verity::uct

#endif
