// SPDX-License-Identifier: BSD-3-Clause
//
// UCX's posix transport names its shared memory by process and descriptor: peers open
// /proc/PID/fd/N, to write, and map what they find. A peer that was given up while it computed may
// do so when the interface has closed long since: another interface has the number by then, one
// that is just being made, or a file of the program. So such numbers stay taken, by /dev/null,
// which cannot be mapped.
#ifndef VERITY_UCT_PROCESS_SPENT_NUMBERS_H
#define VERITY_UCT_PROCESS_SPENT_NUMBERS_H

#include <cstddef>

namespace verity::uct {

class SpentNumbers {
 public:
  // Before the lower interface closes: which descriptors are of shared memory.
  void note() noexcept;
  // Behind it: those that it has closed are taken.
  void take() noexcept;

 private:
  static constexpr size_t kMost = 64;
  int noted_[kMost] = {};
  size_t count_ = 0;
};

}  // namespace verity::uct

#endif
