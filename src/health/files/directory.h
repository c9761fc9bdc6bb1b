// SPDX-License-Identifier: BSD-3-Clause
//
// The health files of a folder: which there are, whose, whether their processes live. Safe whatever
// lies there: links, pipes, files that are cut while they are read, a hundred thousand of them.
#ifndef VERITY_HEALTH_FILES_DIRECTORY_H
#define VERITY_HEALTH_FILES_DIRECTORY_H

#include <sys/types.h>

#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "health/files/reader.h"

namespace verity::health {

enum class Life {
  kRunning,  // of another host's processes also those of which no end is recorded
  kEnded,    // closed its file
  kKilled,   // did not
};
[[nodiscard]] const char* life_name(Life life) noexcept;

// Several hosts may share a folder, as on NFS: a process of another one than this counts there, not
// here.
[[nodiscard]] bool is_of_another_host(const Snapshot& snapshot);

struct HealthFile {
  std::string name;     // within the folder
  std::string problem;  // empty: `snapshot` is what it says
  bool failed = false;  // the system did not let us read it: another time it may
  Snapshot snapshot;
  uid_t owner = 0;            // of the file: what counts, whatever the file says
  std::uint64_t born_ns = 0;  // when the file was made; 0: its file system does not say
  Life life = Life::kRunning;
  // When the process ended, ns of CLOCK_REALTIME. Of a killed one: when that was noticed (mark());
  // 0: never yet.
  std::uint64_t ended_ns = 0;
};

// A folder that stays open: what is there is named relative to it.
class Directory {
 public:
  // Returns why it cannot be opened, or an empty text.
  [[nodiscard]] std::string open(const std::string& path);
  Directory() = default;
  ~Directory();
  Directory(Directory&& other) noexcept;
  Directory& operator=(Directory&&) = delete;

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] uid_t owner() const noexcept { return owner_; }
  // Which folder it is, whatever its name.
  [[nodiscard]] std::pair<dev_t, ino_t> place() const noexcept;
  // Others than a file's owner may remove or replace it.
  [[nodiscard]] bool is_open_to_all() const noexcept { return open_to_all_; }
  // Names of health files, sorted; of more than `most` only the first that the system lists. *more:
  // whether there are more.
  [[nodiscard]] std::vector<std::string> names(std::size_t most, bool* more) const;
  // At most `most` of them at random, in no order; or of the hidden ones, which processes make
  // first.
  [[nodiscard]] std::vector<std::string> some_names(std::size_t most, bool hidden = false) const;
  // Others may remove a file after it was listed.
  [[nodiscard]] bool has(const std::string& name) const noexcept;
  // Never fails: what is wrong with it is in HealthFile::problem.
  [[nodiscard]] HealthFile read(const std::string& name) const;
  // Records that the process of this file was killed, and when that was noticed, unless that is
  // recorded or not permitted.
  void mark(HealthFile& file, std::uint64_t now_ns) const;
  // Removes a file whose process is over. False: not allowed, or it is not there any more.
  bool remove(const HealthFile& file) const noexcept;
  // As the function below, of files of `owner` alone if there is one, and of at most `most` of
  // them.
  std::size_t collect(const std::vector<std::string>& names, std::optional<uid_t> owner,
                      std::uint64_t now_ns, std::uint64_t keep_ns,
                      const std::function<bool(const HealthFile&)>& may_go,
                      std::size_t most = std::numeric_limits<std::size_t>::max()) const;

 private:
  // Examined before a file is read, as others may make theirs expensive to read.
  [[nodiscard]] bool is_of(const std::string& name, std::optional<uid_t> owner) const noexcept;
  void remove_hidden(std::optional<uid_t> owner, std::uint64_t now_ns, std::uint64_t keep_ns) const;

  int fd_ = -1;
  uid_t owner_ = 0;
  bool open_to_all_ = false;
  std::string path_;
};

// Removes the files of those names whose processes ended `keep_ns` ago or before; marks those that
// were killed, whose time begins then; of unreadable files, the time of the last change counts.
// Removes only what `may_go` accepts, which can add up the counters first. Returns the number of
// removed files.
std::size_t collect(const Directory& directory, const std::vector<std::string>& names,
                    std::uint64_t now_ns, std::uint64_t keep_ns,
                    const std::function<bool(const HealthFile&)>& may_go = {});

// At the start of a process: a bounded number of files at random places, of its own user. `own`:
// the name of its own file.
void collect_some(const std::string& path, const std::string& own, std::uint64_t now_ns,
                  std::uint64_t keep_ns) noexcept;

// The folders of `status` and others by default: UCX_VERITY_HEALTH_DIR, and in /dev/shm one's own
// folder, or, for root, those of all users, and the site's: /dev/shm/ucx-verity. A folder that is
// called after a user and belongs to another one is left out.
[[nodiscard]] std::vector<std::string> default_directories();

[[nodiscard]] std::uint64_t realtime_ns() noexcept;

}  // namespace verity::health

#endif
