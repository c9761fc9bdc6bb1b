// SPDX-License-Identifier: BSD-3-Clause
#ifndef VERITY_TOOLS_TEMPORARY_FOLDER_H
#define VERITY_TOOLS_TEMPORARY_FOLDER_H

#include <sys/types.h>

#include <string>

namespace verity::tools {

// A folder in TMPDIR, or else in /tmp. It is removed with this object, or when this process ends,
// however it does: by a child that waits for that.
class TemporaryFolder {
 public:
  // For the sub-command of this name. Throws std::runtime_error where there can be none.
  explicit TemporaryFolder(const std::string& command);
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
  pid_t remover_ = -1;
  int lifeline_ = -1;  // the remover's input, which ends with this process
};

}  // namespace verity::tools

#endif
