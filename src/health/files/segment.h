// SPDX-License-Identifier: BSD-3-Clause
//
// The memory of a process's table: a health file that others can read, or private memory, so that
// counting never fails.
#ifndef VERITY_HEALTH_FILES_SEGMENT_H
#define VERITY_HEALTH_FILES_SEGMENT_H

#include <sys/types.h>

#include <string>

#include "health/files/table.h"

namespace verity::health {

// UCX_VERITY_HEALTH*
struct FileSettings {
  bool enabled = true;
  std::string directory;  // empty: default_directory()
  mode_t mode = 0600;

  bool operator==(const FileSettings&) const = default;
};

// /dev/shm/ucx-verity-UID; in a container UID is the number that the user has outside of it.
[[nodiscard]] std::string default_directory(uid_t uid);

class Segment final : public Ground {
 public:
  // Private memory. Throws std::bad_alloc.
  Segment();
  ~Segment() override;
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;

  [[nodiscard]] std::byte* base() noexcept override { return base_; }
  [[nodiscard]] bool grow(std::size_t size) noexcept override;

  // A new file in the folder takes the memory's place, with its first `used` bytes, at the same
  // address. Returns why not, or an empty text. Makes the default folder, and no other one. Others
  // may count meanwhile, and do nothing else to the memory. Throws std::bad_alloc.
  [[nodiscard]] std::string move_to_file(const FileSettings& settings, std::uint64_t pid,
                                         std::size_t used);
  // In a child made by fork(), which must not write to its parent's memory or file, or when others
  // have cut the file: memory of its own at the same place, zeroed. False: there is none. Safe in a
  // handler of pthread_atfork() and of a signal.
  bool unshare() noexcept;

  // Empty: private memory.
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] const std::string& folder() const noexcept { return folder_; }

 private:
  [[nodiscard]] std::string make_file(int directory, const std::string& name, mode_t mode,
                                      std::size_t used);
  [[nodiscard]] std::string map_file(std::size_t used);
  [[nodiscard]] bool is_ours() const noexcept;

  std::byte* base_ = nullptr;
  std::size_t usable_ = 0;
  int fd_ = -1;  // of the file, open for good: its lock says that the process lives
  dev_t device_ = 0;
  ino_t inode_ = 0;
  std::string folder_;
  std::string path_;
};

}  // namespace verity::health

#endif
