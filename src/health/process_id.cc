// SPDX-License-Identifier: BSD-3-Clause
#include "health/process_id.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <memory>

namespace verity::health {

namespace {

// The first bytes of a file in /proc; empty: not readable.
std::string first_bytes(const std::string& path) {
  std::array<char, 1024> bytes;
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (fd < 0) return {};
  const ssize_t count = ::read(fd, bytes.data(), bytes.size());
  ::close(fd);
  return count > 0 ? std::string(bytes.data(), static_cast<std::size_t>(count)) : std::string();
}

std::uint64_t stat_of(std::uint64_t pid, StatField field) {
  return parse_stat(first_bytes("/proc/" + std::to_string(pid) + "/stat"), field);
}

// As parse_stat(), and a zombie's too.
std::uint64_t field_of(std::string_view stat, StatField field) noexcept {
  const int blanks = static_cast<int>(field) - 2;  // from the name's ')' to the field
  std::size_t at = stat.rfind(')');
  for (int i = 0; i < blanks && at != std::string_view::npos; ++i) at = stat.find(' ', at + 1);
  if (at == std::string_view::npos) return 0;
  std::uint64_t value = 0;
  const char* first = stat.data() + at + 1;
  const auto [end, error] = std::from_chars(first, stat.data() + stat.size(), value);
  return error == std::errc() && end != first ? value : 0;
}

}  // namespace

std::uint64_t parse_stat(std::string_view stat, StatField field) noexcept {
  const std::size_t at = stat.rfind(')');
  if (at == std::string_view::npos || at + 2 >= stat.size() || stat[at + 2] == 'Z' ||
      stat[at + 2] == 'X')
    return 0;
  return field_of(stat, field);
}

std::uint64_t start_ticks(std::uint64_t pid) { return stat_of(pid, StatField::kStartTicks); }

std::uint64_t stack_start(std::uint64_t pid) { return stat_of(pid, StatField::kStackStart); }

std::uint32_t stack_mark(std::uint64_t pid) {
  const std::uint64_t start = stack_start(pid);
  // Multiplied, as the lowest bits are always the same.
  return start == 0 ? 0 : static_cast<std::uint32_t>((start * 0x9e3779b97f4a7c15U >> 32) % 255 + 1);
}

bool is_exiting(std::uint64_t pid) {
  constexpr std::uint64_t kExiting = 4;  // the kernel's PF_EXITING
  const std::string folder = "/proc/" + std::to_string(pid) + "/task/";
  const std::unique_ptr<DIR, int (*)(DIR*)> threads(opendir(folder.c_str()), closedir);
  bool any = false;
  while (const dirent* thread = threads != nullptr ? readdir(threads.get()) : nullptr) {
    if (thread->d_name[0] == '.') continue;
    const std::string stat = first_bytes(folder + thread->d_name + "/stat");
    if (!stat.empty() && (field_of(stat, StatField::kFlags) & kExiting) == 0) return false;
    any = true;
  }
  return any;
}

bool runs_as(std::uint64_t pid, std::uint32_t user) {
  const std::string status = first_bytes("/proc/" + std::to_string(pid) + "/status");
  const std::size_t at = status.find("\nUid:");
  std::array<unsigned, 4> users{};
  if (at == std::string::npos || std::sscanf(status.c_str() + at, "\nUid: %u %u %u %u", &users[0],
                                             &users[1], &users[2], &users[3]) != 4) {
    return false;
  }
  return std::find(users.begin(), users.end(), user) != users.end();
}

std::uint32_t user_outside(std::uint32_t user, std::string_view map) noexcept {
  for (std::size_t end; (end = map.find('\n')) != std::string_view::npos;
       map.remove_prefix(end + 1)) {
    std::array<std::uint32_t, 3> numbers{};
    const char* at = map.data();
    for (std::uint32_t& number : numbers) {
      while (at != map.data() + end && *at == ' ') ++at;
      at = std::from_chars(at, map.data() + end, number).ptr;
    }
    const auto [inside, outside, length] = numbers;
    if (user < inside || user - inside >= length) continue;
    return outside + (user - inside) != 0 ? outside + (user - inside) : user;
  }
  return user;
}

std::uint32_t user_outside(std::uint32_t user) {
  static const std::string map = first_bytes("/proc/self/uid_map");
  return user_outside(user, map);
}

// Of "PID (NAME) STATE PARENT ...", where NAME may hold anything.
std::string ancestor(std::string_view program) {
  constexpr int kMost = 16;  // shells and tools between a launcher and its process
  std::uint64_t pid = static_cast<std::uint64_t>(getppid());
  for (int i = 0; i < kMost && pid > 1; ++i) {
    const std::string stat = first_bytes("/proc/" + std::to_string(pid) + "/stat");
    const std::size_t open = stat.find('(');
    const std::size_t close = stat.rfind(')');
    if (open == std::string::npos || close == std::string::npos || close + 4 >= stat.size())
      return {};
    if (std::string_view(stat).substr(open + 1, close - open - 1).starts_with(program)) {
      return std::to_string(pid) + "." + std::to_string(parse_stat(stat, StatField::kStartTicks));
    }
    pid = 0;
    (void)std::from_chars(stat.data() + close + 4, stat.data() + stat.size(), pid);
  }
  return {};
}

std::string boot_id() {
  std::string id = first_bytes("/proc/sys/kernel/random/boot_id");
  id.erase(std::min(id.find('\n'), id.size()));
  return id;
}

std::string without_domain(std::string_view name) {
  const bool is_address = name.find_first_not_of("0123456789.") == std::string_view::npos;
  return std::string(is_address ? name : name.substr(0, name.find('.')));
}

std::string host_name(std::string_view setting) {
  if (!setting.empty()) return std::string(setting);
  std::array<char, 256> host{};
  if (gethostname(host.data(), host.size() - 1) != 0) return {};
  return without_domain(host.data());
}

std::uint32_t name_hash(std::string_view name) noexcept {
  std::uint32_t digest = 2166136261U;  // FNV-1a
  for (const char c : name) digest = (digest ^ static_cast<unsigned char>(c)) * 16777619U;
  return digest != 0 ? digest : 1;
}

std::string short_name(std::string_view name, std::size_t most) {
  if (name.size() <= most) return std::string(name);
  const std::uint32_t digest = name_hash(name);
  std::array<char, 16> tail;
  const int length = std::snprintf(tail.data(), tail.size(), "~%07x", digest & 0xfffffffU);
  return std::string(name.substr(0, most - static_cast<std::size_t>(length))) + tail.data();
}

}  // namespace verity::health
