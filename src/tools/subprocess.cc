// SPDX-License-Identifier: BSD-3-Clause
#include "tools/subprocess.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <sstream>

namespace verity::tools {

namespace {

using Clock = std::chrono::steady_clock;

// Appends what is there; false at the end.
bool drain(int fd, std::string* text) {
  std::array<char, 4096> chunk;
  const ssize_t count = read(fd, chunk.data(), chunk.size());
  if (count > 0) text->append(chunk.data(), static_cast<std::size_t>(count));
  return count > 0;
}

// Until both ends are closed or the time is over.
bool collect(int out, int err, Clock::time_point deadline, ProcessResult* result) {
  std::array<pollfd, 2> ends = {{{out, POLLIN, 0}, {err, POLLIN, 0}}};
  while (ends[0].fd >= 0 || ends[1].fd >= 0) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return false;
    if (poll(ends.data(), ends.size(), static_cast<int>(left)) <= 0) continue;
    if (ends[0].revents != 0 && !drain(out, &result->out)) ends[0].fd = -1;
    if (ends[1].revents != 0 && !drain(err, &result->err)) ends[1].fd = -1;
  }
  return true;
}

}  // namespace

void become(const std::vector<std::string>& arguments, const std::vector<Variable>& set,
            const std::vector<std::string>& unset) {
  for (const std::string& name : unset) unsetenv(name.c_str());
  for (const Variable& variable : set) setenv(variable.name.c_str(), variable.value.c_str(), 1);
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  execvp(argv[0], argv.data());
  _exit(127);
}

ProcessResult run_process(const std::vector<std::string>& arguments,
                          const std::vector<Variable>& set, const std::vector<std::string>& unset,
                          int seconds) {
  ProcessResult result;
  int out[2];
  int err[2];
  if (pipe2(out, O_CLOEXEC) != 0) return result;
  if (pipe2(err, O_CLOEXEC) != 0) {
    close(out[0]);
    close(out[1]);
    return result;
  }
  const pid_t child = fork();
  if (child == 0) {
    setpgid(0, 0);
    const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    dup2(nothing, STDIN_FILENO);
    dup2(out[1], STDOUT_FILENO);
    dup2(err[1], STDERR_FILENO);
    become(arguments, set, unset);
  }
  close(out[1]);
  close(err[1]);
  if (child > 0) {
    const auto deadline = Clock::now() + std::chrono::seconds(seconds);
    result.timed_out = !collect(out[0], err[0], deadline, &result);
    if (result.timed_out) kill(-child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  close(out[0]);
  close(err[0]);
  return result;
}

std::string find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return access(name.c_str(), X_OK) == 0 ? name : "";
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "/usr/bin:/bin" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (std::string file = folder + "/" + name; access(file.c_str(), X_OK) == 0) return file;
  }
  return {};
}

}  // namespace verity::tools
