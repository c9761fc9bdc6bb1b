// SPDX-License-Identifier: BSD-3-Clause
#include "policy/policy_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "util/build_config.h"

namespace verity::policy {

namespace {

struct FileCloser {
  int fd;
  ~FileCloser() { ::close(fd); }
};

Policy unusable(const std::string& path, const std::string& what) {
  Policy none;
  none.errors.push_back(path + ": " + what);
  return none;
}

// Whoever owns a folder decides what is in it: an account that installs software, or root as a
// container's user namespace shows it, as a user that has no name there.
bool owns_folder_of(const std::string& path, uid_t user) {
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  struct stat found;
  return ::stat(folder.c_str(), &found) == 0 && found.st_uid == user;
}

// What is wrong with it; empty: nothing.
std::string distrust(const std::string& path, const struct stat& file) {
  if (!S_ISREG(file.st_mode)) return "is no regular file";
  if (file.st_uid != 0 && file.st_uid != geteuid() && !owns_folder_of(path, file.st_uid))
    return "is owned by user " + std::to_string(file.st_uid) +
           ": expected root, this user or the owner of its folder";
  if ((file.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return "may be written to by group or others: chmod go-w";
  return {};
}

}  // namespace

std::string host_file() { return std::string(VERITY_SYSCONFDIR "/").append(kFileName); }

std::string installation_file(const std::string& module_folder) {
  // As UCX was given it: with slashes at its end, or relative.
  const std::string folder = module_folder.substr(0, module_folder.find_last_not_of('/') + 1);
  const std::size_t slash = folder.rfind('/');
  const std::string name = slash == std::string::npos ? folder : folder.substr(slash + 1);
  if (name.empty()) return {};  // no file: the folder is unknown
  if (name == "." || name == "..") return folder + "/../" + std::string(kFileName);
  return folder.substr(0, folder.size() - name.size()).append(kFileName);
}

Policy read_file(const std::string& path) {
  // Not waiting for a writer, should it be a FIFO.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) {
    if (errno == ENOENT || errno == ENOTDIR) return {};
    return unusable(path, std::strerror(errno));
  }
  const FileCloser closer{fd};
  struct stat file;
  if (::fstat(fd, &file) != 0) return unusable(path, std::strerror(errno));
  if (const std::string why = distrust(path, file); !why.empty()) return unusable(path, why);
  std::string text(kMostBytes + 1, '\0');
  std::size_t length = 0;
  while (length < text.size()) {
    const ssize_t got = ::read(fd, text.data() + length, text.size() - length);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return unusable(path, std::strerror(errno));
    if (got == 0) break;
    length += static_cast<std::size_t>(got);
  }
  text.resize(length);
  return parse(text, path);
}

Policy read_site(const std::string& module_folder) {
  Policy policy = read_file(installation_file(module_folder));
  merge(&policy, read_file(host_file()));
  if (!policy.errors.empty()) merge(&policy, {.entries = {fail_safe(policy)}});
  return policy;
}

}  // namespace verity::policy
