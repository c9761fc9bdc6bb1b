// SPDX-License-Identifier: BSD-3-Clause
// Structures of nodes (mpi/libraries/autolink_node.h): sent, received, compared and made at random.
#ifndef VERITY_TEST_UNIT_AUTOLINK_GRAPH_H
#define VERITY_TEST_UNIT_AUTOLINK_GRAPH_H

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "mpi/libraries/autolink_node_automap.h"
#include "ucx-verity/autolink.h"

namespace verity::autolink::test {

using Message = std::vector<uint8_t>;

struct Free {
  void operator()(verity_autolink_structure* s) const { verity_autolink_free(s); }
  void operator()(verity_autolink_sink* s) const { verity_autolink_sink_free(s); }
};
using Structure = std::unique_ptr<verity_autolink_structure, Free>;
using Sink = std::unique_ptr<verity_autolink_sink, Free>;

inline const node* root_of(const Structure& structure) {
  return static_cast<const node*>(verity_autolink_root(structure.get()));
}

inline std::vector<Message> messages_of(const node* root, uint64_t count = 1,
                                        uint64_t packet_bytes = 0) {
  const verity_autolink_options options{packet_bytes, 0};
  verity_autolink_source* source = nullptr;
  EXPECT_EQ(
      verity_autolink_aggregate(&node_schema, node_number_node, root, count, &options, &source), 0)
      << verity_autolink_error();
  std::vector<Message> all;
  if (source == nullptr) return all;
  const void* data = nullptr;
  size_t size = 0;
  while (verity_autolink_next(source, &data, &size) == 0 && data != nullptr) {
    all.emplace_back(static_cast<const uint8_t*>(data), static_cast<const uint8_t*>(data) + size);
  }
  verity_autolink_source_free(source);
  return all;
}

inline Structure received(const std::vector<Message>& all) {
  verity_autolink_sink* made = nullptr;
  EXPECT_EQ(verity_autolink_expand(&node_schema, node_number_node, nullptr, &made), 0);
  const Sink sink(made);
  int is_complete = 0;
  for (const Message& message : all)
    EXPECT_EQ(verity_autolink_feed(sink.get(), message.data(), message.size(), &is_complete), 0)
        << verity_autolink_error();
  EXPECT_EQ(is_complete, 1);
  verity_autolink_structure* structure = nullptr;
  EXPECT_EQ(verity_autolink_take(sink.get(), &structure), 0) << verity_autolink_error();
  return Structure(structure);
}

inline Structure copy_of(const node* root, uint64_t packet_bytes = 0) {
  return received(messages_of(root, 1, packet_bytes));
}

// A description of all that can be reached, with each node's number in the order of the walk: equal
// for equal structures.
inline std::string describe(const node* root) {
  std::map<const node*, size_t> numbers;
  std::deque<const node*> queue;
  std::string text;
  const auto number = [&](const node* n) -> std::string {
    if (n == nullptr) return "0";
    const auto [place, is_new] = numbers.emplace(n, numbers.size() + 1);
    if (is_new) queue.push_back(n);
    return std::to_string(place->second);
  };
  (void)number(root);
  while (!queue.empty()) {
    const node* n = queue.front();
    queue.pop_front();
    text += std::to_string(n->value) + " next " + number(n->next) + " other " + number(n->other) +
            " data";
    for (int i = 0; n->data != nullptr && i < n->n; ++i) text += " " + std::to_string(n->data[i]);
    text += " many";
    for (int i = 0; n->many != nullptr && i < n->n_many; ++i) text += " " + number(n->many[i]);
    text += std::string(" name ") + (n->name != nullptr ? n->name : "-") + " pair " +
            number(n->pair[0]) + " " + number(n->pair[1]);
    text += " into " + (n->into == nullptr ? "-"
                        : n->data != nullptr && n->into >= n->data && n->into < n->data + n->n
                            ? "data " + std::to_string(n->into - n->data)
                            : std::to_string(*n->into));
    text += " point " + std::to_string(n->point.x) + " " + std::to_string(n->point.y) + "\n";
  }
  return text;
}

struct Random {
  explicit Random(unsigned seed, size_t count)
      : random(seed), nodes(count), data(count * 3), names(count), many(count) {
    for (size_t i = 0; i < count; ++i) {
      node& n = nodes[i];
      n.value = static_cast<int64_t>(random());
      n.next = i + 1 < count ? &nodes[i + 1] : nullptr;
      n.other = any();
      n.pair[random() % 2] = any();
      if (random() % 2 == 0) n.data = &data[i], n.n = static_cast<int32_t>(random() % (count * 2));
      if (n.data != nullptr && n.n > 0) n.into = n.data + random() % static_cast<unsigned>(n.n);
      names[i] = std::string(random() % 9, 'x');
      if (random() % 3 == 0) n.name = names[i].data();
      for (unsigned k = random() % 4; k != 0; --k)
        many[i].push_back(random() % 3 == 0 ? nullptr : any());
      n.many = many[i].data(), n.n_many = static_cast<int32_t>(many[i].size());
      if (many[i].empty()) n.many = nullptr;
    }
    for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<double>(i);
  }
  node* any() { return &nodes[random() % nodes.size()]; }

  std::mt19937 random;
  std::vector<node> nodes;
  std::vector<double> data;
  std::vector<std::string> names;
  std::vector<std::vector<node*>> many;
};

}  // namespace verity::autolink::test

#endif
