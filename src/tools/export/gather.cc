// SPDX-License-Identifier: BSD-3-Clause
#include "tools/export/gather.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include "health/files/belief.h"
#include "health/process_id.h"
#include "health/text.h"
#include "util/write_all.h"

namespace verity::tools {
namespace {

constexpr std::size_t kMostProblems = 8;
using Clock = std::chrono::steady_clock;
constexpr std::size_t kMostJobs = 4096;

std::string why(const char* what, const std::string& path) {
  return std::string(what) + " " + path + ": " + std::strerror(errno);
}

std::uint64_t uptime_ns() noexcept {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(now.tv_nsec);
}

// As a run in another folder would name it.
std::string absolute(const std::string& path) {
  std::error_code error;
  const std::filesystem::path full = std::filesystem::absolute(path, error);
  return error ? path : full.string();
}

// Adds up the files of one run.
class Gathering {
 public:
  Gathering(Ledger& ledger, std::uint64_t take_before_ns)
      : ledger_(ledger), take_before_ns_(take_before_ns) {
    if (ledger.boot != boot_) of_before_ = totals_of(ledger);
    find_folders_of_taken();
  }

  void read(const std::shared_ptr<health::Directory>& directory, const std::string& name) {
    health::HealthFile file = directory->read(name);
    ++result.read;
    if (is_of_another(file)) {
      deferred.emplace_back(directory, name);
    } else {
      add(directory, std::move(file));
    }
  }
  // One of those.
  void read_deferred(const std::shared_ptr<health::Directory>& directory, const std::string& name) {
    add(directory, directory->read(name));
  }

  // Files of a folder that has been listed to its end: those that were taken and are not there any
  // more are forgotten, also where other folders cannot be read.
  void forget_removed(const std::string& folder, const std::vector<std::string>& names) {
    if (take_before_ns_ == 0) return;
    const std::set<std::string_view> there(names.begin(), names.end());
    const std::string full = absolute(folder);
    std::erase_if(ledger_.taken, [&](const std::string& path) {
      const std::size_t slash = path.rfind('/');
      return path.compare(0, slash, full) == 0 &&
             !there.contains(std::string_view(path).substr(slash + 1));
    });
  }

  Gathered finish() {
    notice_boot(ledger_, boot_, of_before_);
    for (const auto& [folder, files] : failed_)
      result.partial.push_back(folder + ": " + std::to_string(files) +
                               (files == 1 ? " file" : " files") + " could not be read");
    result.complete = result.blind.empty() && result.partial.empty();
    if (result.complete && take_before_ns_ > 0) ledger_.taken = std::move(still_there_);
    result.totals = totals_of(ledger_);
    for (const auto& [key, counters] : live_.paths) result.totals.paths[key] += counters;
    for (const auto& [key, trouble] : live_.trouble) result.totals.trouble.place(key) += trouble;
    return std::move(result);
  }

  Gathered result;
  // By a container's numbers of users, or copies: to be counted after all originals.
  std::vector<std::pair<std::shared_ptr<health::Directory>, std::string>> deferred;

 private:
  void add(const std::shared_ptr<health::Directory>& directory, health::HealthFile file) {
    if (const std::string taken = taken_as(*directory, file.name); !taken.empty()) {
      // A run that was cut wrote the ledger and did not come to remove this one, or none may.
      remove_later(directory, taken, std::move(file));
      return;
    }
    const std::string path = directory->path() + "/" + file.name;
    if (!file.problem.empty()) {
      if (!directory->has(file.name)) return;
      ++result.unreadable;
      if (file.failed) ++failed_[directory->path()];
      if (result.problems.size() < kMostProblems)
        result.problems.push_back(health::printable(path) + ": " + file.problem);
      return;
    }
    if (health::is_of_another_host(file.snapshot)) return;  // its own exporter takes it
    if (std::string why = doubt_about(*directory, file); !why.empty()) {
      tools::add(result.doubtful, file.snapshot, file.owner);
      return add_doubted({health::printable(path), file.owner, std::move(why),
                          health::path_faults(file.snapshot.sum()).faults() != 0});
    }
    count(file);
    for (const health::SnapshotRow& row : file.snapshot.rows)
      result.delivered += row.injected ? 0 : row.counters.faults_observed;
    add_job(file.snapshot);
    if (ledger_.boot != boot_ && file.snapshot.boot_id != boot_)
      tools::add(of_before_, file.snapshot, file.owner);
    if (file.life == health::Life::kKilled && file.ended_ns == 0)
      directory->mark(file, health::realtime_ns());
    if (file.life != health::Life::kRunning && file.ended_ns != 0 &&
        file.ended_ns < take_before_ns_) {
      const std::string full = absolute(path);
      take(ledger_, full, file.snapshot, file.owner);
      remove_later(directory, full, std::move(file));
    } else {
      tools::add(live_, file.snapshot, file.owner);
    }
  }

  // A process has one file.
  using Identity =
      std::tuple<std::string, std::uint32_t, std::uint64_t, std::uint64_t, std::uint64_t>;

  [[nodiscard]] bool is_of_another(const health::HealthFile& file) const noexcept {
    return file.problem.empty() && file.owner != 0 && file.owner != reader_ &&
           file.owner != file.snapshot.uid;
  }

  std::string doubt_about(const health::Directory& directory, const health::HealthFile& file) {
    const health::FileFacts facts{.owner = file.owner,
                                  .folder_owner = directory.owner(),
                                  .folder_open = directory.is_open_to_all(),
                                  .born_ns = file.born_ns,
                                  .uptime_ns = uptime_,
                                  .boot_id = boot_};
    const health::Snapshot& s = file.snapshot;
    if (std::string why = health::doubt(s, facts, reader_); !why.empty()) return why;
    if (file.owner == 0 || file.owner == reader_) return {};
    return processes_.insert({s.boot_id, s.uid, s.pid, s.start_ticks, s.created_ns}).second
               ? ""
               : "another file is of the same process: a copy";
  }
  void add_doubted(Doubted doubted) {
    ++result.not_believed;
    if (result.doubted.size() < kMostProblems) {
      result.doubted.push_back(std::move(doubted));
    } else if (doubted.faults && !result.doubted.back().faults) {
      result.doubted.back() = std::move(doubted);
    }
    std::stable_partition(result.doubted.begin(), result.doubted.end(),
                          [](const Doubted& d) { return d.faults; });
  }
  // Under which name the ledger has a file that was taken; empty: under none.
  [[nodiscard]] std::string taken_as(const health::Directory& directory,
                                     const std::string& name) const {
    const std::string path = directory.path() + "/" + name;
    if (ledger_.taken.contains(path)) return path;
    const auto [first, last] = folders_of_taken_.equal_range(directory.place());
    for (auto folder = first; folder != last; ++folder) {
      const std::string other = folder->second + "/" + name;
      if (ledger_.taken.contains(other)) return other;
    }
    return {};
  }
  // What is taken stays in folders that are read-only, or where a run was cut, which may have other
  // names the next time: links, other places where they are mounted.
  void find_folders_of_taken() {
    std::set<std::string> folders;
    for (const std::string& path : ledger_.taken) folders.insert(path.substr(0, path.rfind('/')));
    for (const std::string& path : folders) {
      health::Directory directory;
      if (directory.open(path).empty()) folders_of_taken_.emplace(directory.place(), path);
    }
  }
  void remove_later(const std::shared_ptr<health::Directory>& directory, const std::string& path,
                    health::HealthFile file) {
    still_there_.insert(path);
    result.to_remove.emplace_back(directory, std::move(file));
  }
  // What a test transport did on purpose is no job's fault.
  void add_job(const health::Snapshot& snapshot) {
    if (snapshot.job.empty() ||
        (result.jobs.size() == kMostJobs && !result.jobs.contains(snapshot.job)))
      return;
    health::Counters& sum = result.jobs[snapshot.job];
    for (const health::SnapshotRow& row : snapshot.rows) {
      if (!row.injected) sum += row.counters;
    }
  }
  void count(const health::HealthFile& file) {
    (file.life == health::Life::kRunning ? result.running
     : file.life == health::Life::kEnded ? result.ended
                                         : result.killed)++;
  }

  Ledger& ledger_;
  const std::uint64_t take_before_ns_;
  const std::uint32_t reader_ = geteuid();
  const std::uint64_t uptime_ = uptime_ns();
  const std::string boot_ = health::boot_id();
  Totals live_;
  Totals of_before_;  // the machine's last start
  std::set<Identity> processes_;
  std::multimap<std::pair<dev_t, ino_t>, std::string> folders_of_taken_;  // in the ledger
  std::set<std::string> still_there_;
  std::map<std::string, std::size_t> failed_;  // files that could not be read, by folder
};

struct Folder {
  std::shared_ptr<health::Directory> directory;
  std::vector<std::string> names;
  bool more = false;
};

// The folders that can be opened, each once, those with fewest files first: a full one delays no
// other. Those that the ledger's sums are of as well, as far as they are there still: what a run
// leaves out would count once more in the next one.
std::vector<Folder> open_folders(const std::vector<std::string>& paths, const Ledger& ledger,
                                 const GatherLimits& limits, Gathered& result) {
  std::vector<Folder> folders;
  std::set<std::pair<dev_t, ino_t>> known;
  std::random_device random;
  const auto add = [&](const std::string& path, bool named) {
    Folder folder{std::make_shared<health::Directory>(), {}, false};
    if (const std::string problem = folder.directory->open(path); !problem.empty()) {
      if (named) result.blind.push_back(health::printable(path) + ": " + problem);
      return;
    }
    if (!known.insert(folder.directory->place()).second) return;  // by another name
    folder.names = folder.directory->names(limits.files, &folder.more);
    if (limits.anywhere && !folder.names.empty()) {
      const auto first = static_cast<std::ptrdiff_t>(random() % folder.names.size());
      std::rotate(folder.names.begin(), folder.names.begin() + first, folder.names.end());
    }
    folders.push_back(std::move(folder));
  };
  for (const std::string& path : paths) add(path, true);
  for (const std::string& path : ledger.folders) add(path, false);
  std::stable_sort(folders.begin(), folders.end(), [](const Folder& a, const Folder& b) {
    return a.names.size() < b.names.size();
  });
  return folders;
}

// Each folder has an equal share of the time that is left.
Clock::time_point share_of(Clock::time_point deadline, std::size_t folders_left) {
  const auto now = Clock::now();
  if (deadline == Clock::time_point::max() || deadline <= now) return deadline;
  return now + (deadline - now) / static_cast<Clock::rep>(folders_left);
}

// Some files of each folder are read even when the time is over, as on a busy machine it soon is.
bool may_read(std::size_t read, Clock::time_point until, Clock::time_point deadline) {
  constexpr std::size_t kAtLeast = 100;
  constexpr auto kMore = std::chrono::seconds(1);
  const auto now = Clock::now();
  return now <= until || (read < kAtLeast && now <= deadline + kMore);
}

}  // namespace

std::string default_ledger() { return VERITY_STATEDIR "/ledger.json"; }

// JSON does not keep each byte that a name may have.
Machine this_machine() {
  return {health::boot_id(), health::printable(health::host_name({})),
          health::realtime_ns() / 1'000'000'000};
}

LoadedLedger load_ledger(const std::string& path, Ledger* ledger_p) {
  *ledger_p = {};
  std::ifstream file(path, std::ios::binary);
  if (!file && errno == ENOENT) return {};
  std::string text;
  for (char part[4096]; file.read(part, sizeof(part)), file.gcount() > 0;)
    text.append(part, static_cast<std::size_t>(file.gcount()));
  if (!file.eof()) return {LedgerState::kUnreadable, why("cannot read", path)};
  const std::string problem = from_json(text, ledger_p);
  if (!problem.empty()) {
    *ledger_p = {};
    return {LedgerState::kUseless, path + " is no ledger of ucx-verity export: " + problem};
  }
  const Owner owner = owner_of(*ledger_p, this_machine());
  if (owner == Owner::kThisHost) return {};
  const std::string host = health::printable(ledger_p->host);
  *ledger_p = {};
  return {owner == Owner::kOtherHost ? LedgerState::kInUse : LedgerState::kUseless,
          path + " is the ledger of host " + host};
}

std::string replace_file(const std::string& path, const std::string& text, unsigned mode,
                         const std::string& ledger) {
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  // Always the same name: the next run replaces what one that was killed has left. Runs with other
  // ledgers, which may write beside this one, have names of their own.
  const std::size_t writer = std::hash<std::string>()(absolute(ledger));
  const std::string temporary = folder + (slash == std::string::npos ? "/" : "") + "." +
                                path.substr(slash + 1) + "." + std::to_string(writer);
  (void)unlink(temporary.c_str());
  const int fd = open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return why("cannot write in", folder);
  const bool written = util::write_all(fd, text) && fchmod(fd, mode) == 0 && fsync(fd) == 0;
  std::string problem = written ? "" : why("cannot write", path);
  if (close(fd) != 0 && problem.empty()) problem = why("cannot write", path);
  if (problem.empty() && rename(temporary.c_str(), path.c_str()) != 0)
    problem = why("cannot write", path);
  if (!problem.empty()) unlink(temporary.c_str());
  return problem;
}

namespace {

// Each folder stays open, and there is one for each user who was here since the machine started.
void raise_descriptor_limit() noexcept {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  (void)setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

Gathered gather(const std::vector<std::string>& directories, Ledger& ledger,
                const GatherLimits& limits, std::uint64_t take_before_ns) {
  raise_descriptor_limit();
  Gathering run(ledger, take_before_ns);
  const std::uint64_t now_ns = health::realtime_ns();
  const std::vector<Folder> folders = open_folders(directories, ledger, limits, run.result);
  for (std::size_t i = 0; i < folders.size(); ++i) {
    const Folder& folder = folders[i];
    // What killed jobs left, beside health files.
    if (take_before_ns > 0)
      (void)health::collect(*folder.directory, {}, now_ns, now_ns - take_before_ns);
    if (!folder.more) run.forget_removed(folder.directory->path(), folder.names);
    const auto until = share_of(limits.deadline, folders.size() - i);
    std::size_t read = 0;
    while (read < folder.names.size() && may_read(read, until, limits.deadline))
      run.read(folder.directory, folder.names[read++]);
    if (read == folder.names.size() && !folder.more) continue;
    run.result.partial.push_back(folder.directory->path() + ": " + std::to_string(read) + " of " +
                                 (folder.more ? "more than " : "") +
                                 std::to_string(folder.names.size()) + " files");
  }
  std::size_t read = 0;
  while (read < run.deferred.size() && may_read(read, limits.deadline, limits.deadline)) {
    const auto& [directory, name] = run.deferred[read++];
    run.read_deferred(directory, name);
  }
  if (read < run.deferred.size()) {
    run.result.partial.push_back("files of other users than they say: " + std::to_string(read) +
                                 " of " + std::to_string(run.deferred.size()) + " files");
  }
  Gathered gathered = run.finish();
  if (gathered.complete) ledger.folders.clear();
  for (const Folder& folder : folders) ledger.folders.insert(absolute(folder.directory->path()));
  return gathered;
}

void remove_taken(const Gathered& gathered) noexcept {
  for (const auto& [directory, file] : gathered.to_remove) directory->remove(file);
}

}  // namespace verity::tools
