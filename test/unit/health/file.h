// SPDX-License-Identifier: BSD-3-Clause
//
// A folder and a process's file for the tests.
#ifndef VERITY_TEST_UNIT_HEALTH_FILE_H
#define VERITY_TEST_UNIT_HEALTH_FILE_H

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include "health/files/directory.h"
#include "health/files/segment.h"
#include "health/process_id.h"

namespace verity::health {

// Removed at the end.
struct Folder {
  std::string path;
  Folder() {
    char name[] = "/tmp/verity-health-XXXXXX";
    path = mkdtemp(name) != nullptr ? name : "";
    EXPECT_FALSE(path.empty());
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::permissions(path, std::filesystem::perms::owner_all, ignored);
    std::filesystem::remove_all(path, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  [[nodiscard]] std::vector<std::string> names() const {
    Directory directory;
    EXPECT_EQ(directory.open(path), "");
    bool more;
    return directory.names(1000, &more);
  }
  [[nodiscard]] HealthFile read(const std::string& name) const {
    Directory directory;
    EXPECT_EQ(directory.open(path), "");
    return directory.read(name);
  }
  void write(const std::string& name, std::string_view bytes) const {
    std::ofstream(path + "/" + name, std::ios::binary) << bytes;
  }
};

inline Origin this_process() {
  const auto pid = static_cast<std::uint64_t>(getpid());
  return {.pid = pid,
          .start_ticks = start_ticks(pid),
          .stack_mark = stack_mark(pid),
          .created_ns = realtime_ns(),
          .uid = geteuid(),
          .mode = "verify",
          .host = "node17",
          .peer_name = "node17",
          .program = "ocean",
          .rank = "3",
          .version = "0.1.0",
          .ucx_version = "1.13.1",
          .boot_id = boot_id()};
}

// Private memory for a table, for tests that need no file.
struct Plain final : Ground {
  std::vector<std::uint64_t> memory = std::vector<std::uint64_t>(Table::kMostBytes / 8);
  std::size_t limit = Table::kMostBytes;
  [[nodiscard]] std::byte* base() noexcept override {
    return reinterpret_cast<std::byte*>(memory.data());
  }
  [[nodiscard]] bool grow(std::size_t size) noexcept override { return size <= limit; }
  [[nodiscard]] std::span<const std::byte> bytes(std::size_t size) { return {base(), size}; }
};

}  // namespace verity::health

#endif
