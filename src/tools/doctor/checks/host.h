// SPDX-License-Identifier: BSD-3-Clause
//
// What keeps the plugin out of a process although this shell is set up: programs that the dynamic
// linker preloads nothing into, containers, limits of the host.
#ifndef VERITY_TOOLS_DOCTOR_CHECKS_HOST_H
#define VERITY_TOOLS_DOCTOR_CHECKS_HOST_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/devices.h"

namespace verity::tools {

// A launcher, or a program that the user names.
struct Program {
  std::string path;
  std::string problem;  // why nothing can be preloaded into it; empty: it can
};

struct HostFacts {
  std::string name{};
  std::optional<std::uint64_t> memlock{};  // bytes that may be locked; nothing: any number
  std::string container{};                 // the software that made it; empty: this is none
  std::string launcher{};  // of the job that this process belongs to; empty: it is no job's
  std::vector<Program> programs{};
  std::vector<std::string> absent{};  // programs that the user names and that do not exist
};

// The transports of these devices whose hardware needs locked memory, each once.
[[nodiscard]] std::vector<std::string> locking_transports(const std::vector<Device>& devices);

// How that launcher is told to give its processes a variable. `launcher`: as in HostFacts.
[[nodiscard]] std::string pass_variable(const std::string& launcher, const std::string& name,
                                        const std::string& value);

// "64 KiB", "16 MiB"; what is no whole number of KiB stays in bytes.
[[nodiscard]] std::string size_text(std::uint64_t bytes);

}  // namespace verity::tools

#endif
