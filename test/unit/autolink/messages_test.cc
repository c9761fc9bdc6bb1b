// SPDX-License-Identifier: BSD-3-Clause
// The messages of a structure: their sizes and order, in memory and files, damaged, of another
// schema; and wrong arguments.
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "unit/autolink/graph.h"

namespace verity::autolink::test {
namespace {

TEST(Autolink, RandomGraphsInPacketsOfAnySizeAndOrder) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    Random graph(seed, 1 + seed % 40);
    std::vector<Message> all =
        messages_of(graph.nodes.data(), 1, std::vector<uint64_t>{1, 100, 777, 65536}[seed % 4]);
    std::shuffle(all.begin() + 1, all.end(), graph.random);
    EXPECT_EQ(describe(root_of(received(all))), describe(graph.nodes.data())) << seed;
  }
}

TEST(Autolink, MemoryAndFiles) {
  Random graph(3, 50);
  void* data = nullptr;
  size_t size = 0;
  ASSERT_EQ(verity_autolink_pack(&node_schema, node_number_node, graph.nodes.data(), 1, nullptr,
                                 &data, &size),
            0);
  verity_autolink_structure* made = nullptr;
  ASSERT_EQ(verity_autolink_unpack(&node_schema, node_number_node, data, size, nullptr, &made), 0)
      << verity_autolink_error();
  EXPECT_EQ(describe(root_of(Structure(made))), describe(graph.nodes.data()));
  EXPECT_EQ(verity_autolink_unpack(&node_schema, node_number_node, data, size / 2, nullptr, &made),
            EPROTO);
  std::free(data);
  const std::string path = testing::TempDir() + "autolink." + std::to_string(getpid());
  ASSERT_EQ(verity_autolink_save(&node_schema, node_number_node, graph.nodes.data(), 1, nullptr,
                                 path.c_str()),
            0)
      << verity_autolink_error();
  ASSERT_EQ(verity_autolink_load(&node_schema, node_number_node, path.c_str(), nullptr, &made), 0)
      << verity_autolink_error();
  EXPECT_EQ(describe(root_of(Structure(made))), describe(graph.nodes.data()));
  std::remove(path.c_str());
  EXPECT_EQ(verity_autolink_load(&node_schema, node_number_node, path.c_str(), nullptr, &made),
            EIO);
  EXPECT_NE(std::strstr(verity_autolink_error(), path.c_str()), nullptr);
}

TEST(Autolink, DamagedMessagesAreRefusedAndMayComeAgain) {
  Random graph(4, 30);
  const std::vector<Message> all = messages_of(graph.nodes.data(), 1, 200);
  verity_autolink_sink* made = nullptr;
  ASSERT_EQ(verity_autolink_expand(&node_schema, node_number_node, nullptr, &made), 0);
  const Sink sink(made);
  int is_complete = 0;
  for (const Message& message : all) {
    Message damaged = message;
    damaged[graph.random() % damaged.size()] ^= 1;
    EXPECT_EQ(verity_autolink_feed(sink.get(), damaged.data(), damaged.size(), &is_complete),
              EPROTO);
    EXPECT_EQ(verity_autolink_feed(sink.get(), message.data(), message.size(), &is_complete), 0);
    EXPECT_EQ(verity_autolink_feed(sink.get(), message.data(), message.size(), &is_complete),
              EPROTO);  // twice
  }
  verity_autolink_structure* structure = nullptr;
  ASSERT_EQ(verity_autolink_take(sink.get(), &structure), 0);
  EXPECT_EQ(describe(root_of(Structure(structure))), describe(graph.nodes.data()));
  EXPECT_EQ(verity_autolink_take(sink.get(), &structure), EINVAL);  // once
}

TEST(Autolink, OtherSchemasAreRefused) {
  node one{};
  const std::vector<Message> all = messages_of(&one);
  verity_automap_schema other = node_schema;
  other.hash ^= 1;
  verity_autolink_sink* made = nullptr;
  ASSERT_EQ(verity_autolink_expand(&other, node_number_node, nullptr, &made), 0);
  const Sink sink(made);
  int is_complete = 0;
  EXPECT_EQ(verity_autolink_feed(sink.get(), all[0].data(), all[0].size(), &is_complete), EPROTO);
  EXPECT_NE(std::strstr(verity_autolink_error(), "schema"), nullptr);
}

TEST(Autolink, BadArguments) {
  verity_autolink_source* source = nullptr;
  node one{};
  EXPECT_EQ(verity_autolink_aggregate(nullptr, node_number_node, &one, 1, nullptr, &source),
            EINVAL);
  EXPECT_EQ(verity_autolink_aggregate(&node_schema, node_number_end, &one, 1, nullptr, &source),
            EINVAL);
  EXPECT_EQ(verity_autolink_aggregate(&node_schema, -1, &one, 1, nullptr, &source), EINVAL);
  EXPECT_EQ(verity_autolink_aggregate(&node_schema, node_number_node, nullptr, 1, nullptr, &source),
            EINVAL);
  node overlapping[2] = {};
  overlapping[0].next = reinterpret_cast<node*>(reinterpret_cast<char*>(overlapping) + 8);
  EXPECT_EQ(
      verity_autolink_aggregate(&node_schema, node_number_node, overlapping, 1, nullptr, &source),
      EINVAL);
  EXPECT_NE(std::strstr(verity_autolink_error(), "overlap"), nullptr);
  EXPECT_EQ(source, nullptr);
}

}  // namespace
}  // namespace verity::autolink::test
