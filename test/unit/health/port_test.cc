// SPDX-License-Identifier: BSD-3-Clause
#include "health/faults/port.h"

#include <gtest/gtest.h>

#include "unit/health/file.h"

namespace verity::health {
namespace {

// What sysfs has of an adapter.
struct Adapter : Folder {
  Adapter() {
    std::filesystem::create_directories(path + "/class/infiniband/mlx5_0/ports/1/gids");
    put("fw_ver", "16.35.2000\n");
    put("node_guid", "0002:c903:00a1:b2c0\n");
    put("ports/1/link_layer", "InfiniBand\n");
    put("ports/1/lid", "0xc\n");
    put("ports/1/gids/0", "fe80:0000:0000:0000:0002:c903:00a1:b2c3\n");
  }
  void put(const std::string& name, std::string_view text) const {
    write("class/infiniband/mlx5_0/" + name, text);
  }
};

TEST(Port, InfiniBand) {
  const Adapter adapter;
  const Port port = find_port("mlx5_0:1", adapter.path);
  EXPECT_EQ(port.guid, "0x0002c90300a1b2c3");
  EXPECT_EQ(port.lid, 12U);
  EXPECT_EQ(port.firmware, "16.35.2000");
}

TEST(Port, EthernetHasNoLid) {
  const Adapter adapter;
  adapter.put("ports/1/link_layer", "Ethernet\n");
  adapter.put("ports/1/lid", "0x0\n");
  EXPECT_EQ(find_port("mlx5_0:1", adapter.path), (Port{"0x0002c90300a1b2c0", 0, "16.35.2000"}));
}

TEST(Port, WhatIsNotThereIsNotKnown) {
  const Adapter adapter;
  for (const char* device : {"", "eth0", "memory", "mlx5_1:1", ":1", "mlx5_0:", "mlx5_0:x",
                             "../infiniband/mlx5_0:1", ".:1"}) {
    EXPECT_FALSE(find_port(device, adapter.path).known()) << device;
  }
  adapter.put("ports/1/gids/0", "no guid\n");
  EXPECT_EQ(find_port("mlx5_0:1", adapter.path).guid, "");
  adapter.put("ports/1/gids/0", "0000:0000:0000:0000:0000:0000:0000:0000\n");
  EXPECT_EQ(find_port("mlx5_0:1", adapter.path).guid, "");
  EXPECT_EQ(find_port("mlx5_0:2", adapter.path), (Port{"", 0, "16.35.2000"})) << "another port";
}

}  // namespace
}  // namespace verity::health
