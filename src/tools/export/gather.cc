// SPDX-License-Identifier: BSD-3-Clause
#include "tools/export/gather.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>


namespace verity::tools {
namespace {

constexpr std::size_t kMostProblems = 8;

std::string why(const char* what, const std::string& path) {
  return std::string(what) + " " + path + ": " + std::strerror(errno);
}

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

// One run over the folders.
class Gathering {
 public:
  Gathering(Ledger& ledger, std::uint64_t take_before_ns) : ledger_(ledger), take_before_ns_(take_before_ns) {}

  void add(const std::shared_ptr<health::Directory>& directory, const std::string& name) {
    const std::string path = directory->path() + "/" + name;
    health::HealthFile file = directory->read(name);
    if (ledger_.taken.contains(path)) {
      // A run that was cut wrote the ledger and did not come to remove this one.
      remove_later(directory, path, std::move(file));
      return;
    }
    if (!file.problem.empty()) {
      ++result.unreadable;
      if (result.problems.size() < kMostProblems) result.problems.push_back(path + ": " + file.problem);
      return;
    }
    count(file);
    if (file.life == health::Life::kKilled && file.ended_ns == 0) directory->mark(file, health::realtime_ns());
    if (file.life != health::Life::kRunning && file.ended_ns != 0 && file.ended_ns < take_before_ns_) {
      take(ledger_, path, file.snapshot);
      remove_later(directory, path, std::move(file));
    } else {
      tools::add(live_, file.snapshot);
    }
  }

  Gathered finish() {
    if (result.complete && take_before_ns_ > 0) ledger_.taken = std::move(still_there_);
    result.totals = totals_of(ledger_);
    for (const auto& [key, counters] : live_.paths) result.totals.paths[key] += counters;
    for (const auto& [key, trouble] : live_.trouble) result.totals.trouble[key] += trouble;
    return std::move(result);
  }

  Gathered result;

 private:
  void remove_later(const std::shared_ptr<health::Directory>& directory, const std::string& path, health::HealthFile file) {
    still_there_.insert(path);
    result.to_remove.emplace_back(directory, std::move(file));
  }
  void count(const health::HealthFile& file) {
    (file.life == health::Life::kRunning ? result.running : file.life == health::Life::kEnded ? result.ended : result.killed)++;
  }

  Ledger& ledger_;
  const std::uint64_t take_before_ns_;
  Totals live_;
  std::set<std::string> still_there_;
};

}  // namespace

std::string default_ledger() { return VERITY_STATEDIR "/ledger.json"; }

std::string load_ledger(const std::string& path, Ledger* ledger_p) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return errno == ENOENT ? std::string() : why("cannot read", path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::string problem = from_json(text, ledger_p);
  return problem.empty() ? problem : path + " is no ledger of ucx-verity export: " + problem;
}

std::string replace_file(const std::string& path, const std::string& text, unsigned mode) {
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  std::string temporary = folder + (slash == std::string::npos ? "/" : "") + "." + path.substr(slash + 1) + ".XXXXXX";
  const int fd = mkostemp(temporary.data(), O_CLOEXEC);
  if (fd < 0) return why("cannot write in", folder);
  const bool written = write_all(fd, text) && fchmod(fd, mode) == 0 && fsync(fd) == 0;
  std::string problem = written ? "" : why("cannot write", path);
  if (close(fd) != 0 && problem.empty()) problem = why("cannot write", path);
  if (problem.empty() && rename(temporary.c_str(), path.c_str()) != 0) problem = why("cannot write", path);
  if (!problem.empty()) unlink(temporary.c_str());
  return problem;
}

Gathered gather(const std::vector<std::string>& directories, Ledger& ledger, const GatherLimits& limits, std::uint64_t take_before_ns) {
  Gathering run(ledger, take_before_ns);
  for (const std::string& path : directories) {
    const auto directory = std::make_shared<health::Directory>();
    if (const std::string problem = directory->open(path); !problem.empty()) {
      run.result.problems.push_back(problem);
      run.result.complete = false;
      ++run.result.unopened;
      continue;
    }
    bool more = false;
    const std::vector<std::string> names = directory->names(limits.files, &more);
    if (more) run.result.complete = false;
    for (const std::string& name : names) {
      if (std::chrono::steady_clock::now() > limits.deadline) {
        run.result.complete = false;
        break;
      }
      run.add(directory, name);
    }
  }
  return run.finish();
}

void remove_taken(const Gathered& gathered) noexcept {
  for (const auto& [directory, file] : gathered.to_remove) directory->remove(file);
}

}  // namespace verity::tools
