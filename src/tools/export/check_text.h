// SPDX-License-Identifier: BSD-3-Clause
//
// What `ucx-verity check` says: one line, or one object of JSON. Pure functions.
#ifndef VERITY_TOOLS_EXPORT_CHECK_TEXT_H
#define VERITY_TOOLS_EXPORT_CHECK_TEXT_H

#include <cstdint>
#include <string>
#include <vector>

#include "blame/trust.h"
#include "tools/export/gather.h"

namespace verity::tools {

struct Checked {
  blame::Verdict verdict{};
  bool idle = false;                 // nothing was verified in that time: says nothing of the node
  std::vector<std::string> blind{};  // what could not be read; empty: everything was
  std::vector<std::string> partial{};  // as in Gathered
  std::vector<std::string> notes{};    // what was left out
  std::uint64_t hours = 24;
  std::uint64_t injected = 0;
  std::uint64_t files = 0, unreadable = 0, not_believed = 0;  // health files
  std::vector<Doubted> doubted{};
};

// The verdict with what gather() could not see or does not believe. `idle_warns`: when nothing was
// verified there is something to say.
[[nodiscard]] Checked conclude(blame::Verdict verdict, const Gathered& gathered,
                               const blame::Trust& trust, std::uint64_t hours, bool idle_warns);

// Without the newline.
[[nodiscard]] std::string check_line(const Checked& checked);
// Version of the JSON object. Raised when a key changes its meaning or goes; new keys may come.
inline constexpr int kCheckSchema = 1;
[[nodiscard]] std::string check_json(const Checked& checked);

}  // namespace verity::tools

#endif
