// SPDX-License-Identifier: BSD-3-Clause
#ifndef VERITY_TOOLS_TEMPORARY_FOLDER_H
#define VERITY_TOOLS_TEMPORARY_FOLDER_H

#include <errno.h>
#include <stdlib.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>

namespace verity::tools {

// A folder in TMPDIR, or else in /tmp, removed with this object.
class TemporaryFolder {
 public:
  // For the sub-command of this name.
  explicit TemporaryFolder(const std::string& command)
      : path_(parent() + "/ucx-verity-" + command + "-XXXXXX") {
    if (mkdtemp(path_.data()) == nullptr)
      throw std::runtime_error("cannot write to " + parent() + ": " + std::strerror(errno));
  }
  ~TemporaryFolder() {
    std::error_code none;
    std::filesystem::remove_all(path_, none);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  static std::string parent() {
    const char* named = std::getenv("TMPDIR");
    return named != nullptr && *named != '\0' ? named : "/tmp";
  }

  std::string path_;
};

}  // namespace verity::tools

#endif
