// SPDX-License-Identifier: BSD-3-Clause
//
// The health files of some folders, read for `status` and `top`.
#ifndef VERITY_TOOLS_HEALTH_COLLECTED_H
#define VERITY_TOOLS_HEALTH_COLLECTED_H

#include <string>
#include <vector>

#include "health/files/directory.h"
#include "health/files/view.h"

namespace verity::tools {

struct FoundProcess {
  std::string folder;
  health::HealthFile file;  // without a problem
  health::ProcessView view;
};

struct Problem {
  std::string path;  // of a file or a folder
  std::string text;
};

struct Found {
  std::vector<std::string> folders;  // that could be opened
  std::vector<FoundProcess> processes;
  std::vector<Problem> problems;
};

struct Wanted {
  std::vector<std::string> folders;  // empty: health::default_directories()
  bool ended = true;                 // those of processes that are over, too
  std::string job = {};              // only those of that job; empty: all
};

// By host, rank and process id. Folders that are named must be there; of the default ones those
// that are.
[[nodiscard]] Found find_processes(const Wanted& wanted);

}  // namespace verity::tools

#endif
