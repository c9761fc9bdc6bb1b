// SPDX-License-Identifier: BSD-3-Clause
//
// A device's port as fabric tools name it (ibdiagnet, perfquery, smpquery), from sysfs: so that a
// record leads to the switch's port.
#ifndef VERITY_HEALTH_FAULTS_PORT_H
#define VERITY_HEALTH_FAULTS_PORT_H

#include <cstdint>
#include <string>
#include <string_view>

namespace verity::health {

struct Port {
  std::string
      guid;  // of the port, "0x0002c90300a1b2c3"; of the device, where its link is no InfiniBand
  std::uint32_t lid = 0;  // 0: none, as on Ethernet
  std::string firmware;   // "16.35.2000"

  [[nodiscard]] bool known() const noexcept {
    return !guid.empty() || lid != 0 || !firmware.empty();
  }
  bool operator==(const Port&) const = default;
};

// Of a device as UCX names it, "mlx5_0:1". Nothing is known of others (eth0, memory). Reads some
// small files. Throws std::bad_alloc.
[[nodiscard]] Port find_port(std::string_view device, const std::string& sysfs = "/sys");

}  // namespace verity::health

#endif
