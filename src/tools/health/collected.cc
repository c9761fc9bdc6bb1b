// SPDX-License-Identifier: BSD-3-Clause
#include "tools/health/collected.h"

#include <algorithm>
#include <charconv>
#include <tuple>

namespace verity::tools {

namespace {

// Without a rank: behind those with one.
unsigned rank_of(const health::Snapshot& s) noexcept {
  unsigned rank = ~0U;
  (void)std::from_chars(s.rank.data(), s.rank.data() + s.rank.size(), rank);
  return rank;
}

void read_folder(const std::string& path, const Wanted& wanted, Found* found) {
  health::Directory directory;
  const std::string problem = directory.open(path);
  if (!problem.empty()) {
    found->problems.push_back({path, problem});
    return;
  }
  found->folders.push_back(path);
  bool more;
  for (const std::string& name : directory.names(~std::size_t{0}, &more)) {
    health::HealthFile file = directory.read(name);
    if (!file.problem.empty()) {
      if (directory.has(name)) found->problems.push_back({path + "/" + name, file.problem});
    } else if ((wanted.ended || file.life == health::Life::kRunning) &&
               (wanted.job.empty() || file.snapshot.job == wanted.job)) {
      health::ProcessView view = health::view_of(file.snapshot);
      found->processes.push_back({path, std::move(file), std::move(view)});
    }
  }
}

}  // namespace

Found find_processes(const Wanted& wanted) {
  Found found;
  for (const std::string& path :
       wanted.folders.empty() ? health::default_directories() : wanted.folders) {
    read_folder(path, wanted, &found);
  }
  std::sort(found.processes.begin(), found.processes.end(),
            [](const FoundProcess& a, const FoundProcess& b) {
              const auto key = [](const FoundProcess& p) {
                return std::tuple(std::string_view(p.file.snapshot.host), rank_of(p.file.snapshot),
                                  p.file.snapshot.pid, p.file.snapshot.created_ns);
              };
              return key(a) < key(b);
            });
  return found;
}

}  // namespace verity::tools
