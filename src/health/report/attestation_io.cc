// SPDX-License-Identifier: BSD-3-Clause
#include "health/report/attestation_io.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <exception>

#include "health/file_pattern.h"

namespace verity::health {

std::string append_to_file(const std::string& path, std::string_view json, int patience) noexcept {
  // Non-blocking, as opening a named pipe would otherwise wait for a reader for ever.
  const int fd =
      open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0666);
  if (fd < 0) return std::strerror(errno);
  std::string problem;
  if (!util::write_all(fd, json, patience)) problem = std::strerror(errno);
  if (close(fd) != 0 && problem.empty()) problem = std::strerror(errno);
  return problem;
}

void print(std::string_view text) noexcept { util::write_all(STDERR_FILENO, text); }

void write_attestation(const Report& report, std::string_view pattern) noexcept {
  if (pattern.empty() || !report.active) return;
  try {
    const std::string path = expand_path(pattern, report.who);
    const std::string problem = append_to_file(path, render_json(report));
    if (!problem.empty())
      print("ucx-verity: cannot write the attestation to " + path + ": " + problem + "\n");
  } catch (const std::exception&) {
    // Out of memory at the end of a job: the job's own result matters more than this text.
  }
}

void publish(const Report& report, AttestPolicy policy, std::string_view pattern) noexcept {
  try {
    if (should_print(report, policy)) print(render_text(report));
  } catch (const std::exception&) {  // out of memory, as above
  }
  write_attestation(report, pattern);
}

}  // namespace verity::health
