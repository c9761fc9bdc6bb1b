// SPDX-License-Identifier: BSD-3-Clause
#include "health/attestation_io.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <exception>

namespace verity::health {

namespace {

std::string first_set(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const char* value = std::getenv(name);
    if (value != nullptr && value[0] != '\0') return value;
  }
  return {};
}

// Whole, or with errno set. One write(2) for anything but a full disk or a signal.
bool write_all(int fd, std::string_view text) noexcept {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

Identity identify_process() {
  std::array<char, 256> host{};
  if (gethostname(host.data(), host.size() - 1) != 0) host[0] = '\0';
  return {.host = host.data(),
          .program = program_invocation_short_name,
          .pid = getpid(),
          .rank = first_set(
              {"PMIX_RANK", "PMI_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID", "PALS_RANKID"})};
}

std::string append_to_file(const std::string& path, std::string_view json) noexcept {
  // Non-blocking, as opening a named pipe would otherwise wait for a reader for ever.
  const int fd =
      open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0666);
  if (fd < 0) return std::strerror(errno);
  std::string problem;
  if (!write_all(fd, json)) problem = std::strerror(errno);
  if (close(fd) != 0 && problem.empty()) problem = std::strerror(errno);
  return problem;
}

void publish(const Report& report, AttestPolicy policy, std::string_view pattern) noexcept {
  try {
    if (worth_telling(report, policy)) write_all(STDERR_FILENO, render_text(report));
    if (pattern.empty()) return;
    const std::string path = expand_path(pattern, report.who);
    const std::string problem = append_to_file(path, render_json(report));
    if (problem.empty()) return;
    write_all(STDERR_FILENO,
              "ucx-verity: cannot write the attestation to " + path + ": " + problem + "\n");
  } catch (const std::exception&) {
    // Out of memory at the end of a job: the job's own result matters more than this text.
  }
}

}  // namespace verity::health
