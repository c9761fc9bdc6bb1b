// SPDX-License-Identifier: BSD-3-Clause
#include "health/faults/port.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

namespace verity::health {
namespace {

// The first line of a small file; empty: there is none.
std::string line_of(const std::string& path) {
  std::array<char, 128> bytes;
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (fd < 0) return {};
  const ssize_t count = ::read(fd, bytes.data(), bytes.size());
  ::close(fd);
  const std::string text(bytes.data(), count > 0 ? static_cast<std::size_t>(count) : 0);
  return text.substr(0, text.find_first_of("\r\n"));
}

// "fe80:0000:0000:0000:0002:c903:00a1:b2c3" or "0002:c903:00a1:b2c3": its last 64 bits.
std::string guid_of(std::string text) {
  std::erase(text, ':');
  const bool hex = text.find_first_not_of("0123456789abcdefABCDEF") == std::string::npos;
  if (!hex || text.size() < 16) return {};
  text = text.substr(text.size() - 16);
  return text == "0000000000000000" ? std::string() : "0x" + text;
}

// A name of one folder.
bool is_plain(std::string_view name) noexcept {
  return !name.empty() && name.front() != '.' && name.find('/') == std::string_view::npos &&
         name.find('\0') == std::string_view::npos;
}

}  // namespace

Port find_port(std::string_view device, const std::string& sysfs) {
  const std::size_t colon = device.rfind(':');
  if (colon == std::string_view::npos) return {};
  const std::string name(device.substr(0, colon));
  const std::string number(device.substr(colon + 1));
  if (!is_plain(name) || number.empty() ||
      number.find_first_not_of("0123456789") != std::string::npos)
    return {};
  const std::string folder = sysfs + "/class/infiniband/" + name;
  const std::string port = folder + "/ports/" + number;
  Port result;
  result.firmware = line_of(folder + "/fw_ver");
  const bool infiniband = line_of(port + "/link_layer") != "Ethernet";
  result.guid = guid_of(line_of(infiniband ? port + "/gids/0" : folder + "/node_guid"));
  if (infiniband)
    result.lid =
        static_cast<std::uint32_t>(std::strtoul(line_of(port + "/lid").c_str(), nullptr, 0));
  return result;
}

}  // namespace verity::health
