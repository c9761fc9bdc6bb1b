// SPDX-License-Identifier: BSD-3-Clause
#include "tools/temporary_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <system_error>

namespace verity::tools {

namespace {

std::string parent() {
  const char* named = std::getenv("TMPDIR");
  return named != nullptr && *named != '\0' ? named : "/tmp";
}

void remove_folder(const std::string& path) {
  std::error_code none;
  std::filesystem::remove_all(path, none);
}

// In the child: of a session of its own, so that no signal of a terminal reaches it, and without
// the output, whose reader waits for its end.
[[noreturn]] void remove_at_end(const std::string& path, int input) {
  (void)setsid();
  const int null = open("/dev/null", O_RDWR);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fd != input) (void)dup2(null, fd);
  }
  char byte;
  while (read(input, &byte, 1) < 0 && errno == EINTR) {}
  remove_folder(path);
  _exit(0);
}

}  // namespace

TemporaryFolder::TemporaryFolder(const std::string& command)
    : path_(parent() + "/ucx-verity-" + command + "-XXXXXX") {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    throw std::runtime_error(std::string("cannot make a pipe: ") + std::strerror(errno));
  if (mkdtemp(path_.data()) == nullptr)
    throw std::runtime_error("cannot write to " + parent() + ": " + std::strerror(errno));
  remover_ = fork();
  if (remover_ == 0) {
    (void)close(ends[1]);
    remove_at_end(path_, ends[0]);
  }
  (void)close(ends[0]);
  lifeline_ = ends[1];
  if (remover_ > 0) return;
  remove_folder(path_);
  throw std::runtime_error("cannot start a process");
}

TemporaryFolder::~TemporaryFolder() {
  (void)close(lifeline_);
  while (waitpid(remover_, nullptr, 0) < 0 && errno == EINTR) {}
}

}  // namespace verity::tools
