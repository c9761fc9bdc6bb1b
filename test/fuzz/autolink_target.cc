// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstring>
#include <memory>
#include <set>
#include <vector>

#include "autolink/packet.h"
#include "fuzz/targets.h"
#include "mpi/libraries/autolink_node_automap.h"
#include "ucx-verity/autolink.h"

namespace verity::fuzz {

namespace {

using autolink::Bytes;

std::vector<Bytes> messages_of(const node* root, uint64_t packet_bytes) {
  const verity_autolink_options options{packet_bytes, 0};
  verity_autolink_source* source = nullptr;
  require(
      verity_autolink_aggregate(&node_schema, node_number_node, root, 1, &options, &source) == 0,
      "an honest structure cannot be sent");
  std::vector<Bytes> all;
  const void* data = nullptr;
  size_t size = 0;
  while (verity_autolink_next(source, &data, &size) == 0 && data != nullptr) {
    all.emplace_back(static_cast<const uint8_t*>(data), static_cast<const uint8_t*>(data) + size);
  }
  verity_autolink_source_free(source);
  return all;
}

// Reads all that its pointers promise: a sanitizer sees what lies outside.
void walk(const node* root) {
  std::vector<const node*> queue;
  std::set<const node*> seen;
  volatile double sum = 0;
  const auto reach = [&](const node* n) {
    if (n != nullptr && seen.insert(n).second) queue.push_back(n);
  };
  reach(root);
  for (size_t next = 0; next < queue.size(); ++next) {
    const node* n = queue[next];
    reach(n->next);
    reach(n->other);
    reach(n->pair[0]);
    reach(n->pair[1]);
    for (int i = 0; n->many != nullptr && i < n->n_many; ++i) reach(n->many[i]);
    for (int i = 0; n->data != nullptr && i < n->n; ++i) sum = sum + n->data[i];
    if (n->into != nullptr) sum = sum + *n->into;
    if (n->name != nullptr) sum = sum + static_cast<double>(std::strlen(n->name));
  }
}

struct Graph {
  node nodes[8] = {};
  double data[12] = {};
  char names[8][4] = {};
  node* many[6] = {};
};

void make(Input& input, Graph& g) {
  const auto any = [&]() -> node* {
    return input.u8() % 4 == 0 ? nullptr : &g.nodes[input.u8() % 8];
  };
  for (node*& one : g.many) one = any();
  for (size_t i = 0; i < 8; ++i) {
    node& n = g.nodes[i];
    n.value = input.u8();
    n.next = any(), n.other = any(), n.pair[i % 2] = any();
    const size_t first = input.u8() % 12;
    n.data = &g.data[first], n.n = static_cast<int32_t>(input.u8() % (13 - first));
    n.into = input.u8() % 2 == 0 ? &g.data[input.u8() % 12] : &g.nodes[input.u8() % 8].point.y;
    const size_t begin = input.u8() % 6;
    n.many = &g.many[begin], n.n_many = static_cast<int32_t>(input.u8() % (7 - begin));
    std::fill_n(g.names[i], input.u8() % 4, 'a');
    n.name = g.names[i];
  }
}

}  // namespace

// Choices of a small structure, then changes of its messages, which are sealed again so that they
// pass every check.
void autolink_target(const uint8_t* data, size_t size) {
  Input input(data, size);
  const auto graph = std::make_unique<Graph>();
  make(input, *graph);
  std::vector<Bytes> all = messages_of(graph->nodes, 1 + input.u8() * 4);
  while (!input.empty()) {
    Bytes& message = all[input.u8() % all.size()];
    const size_t place = input.u16() % message.size();
    message[place] = input.u8();
    if (input.u8() % 16 == 0)
      message.resize(
          std::max<size_t>(message.size() - 1 - input.u8() % 8, sizeof(autolink::Header)));
    autolink::seal(&message);
  }
  const verity_autolink_options options{0, 1 << 20};
  verity_autolink_sink* sink = nullptr;
  require(verity_autolink_expand(&node_schema, node_number_node, &options, &sink) == 0, "no sink");
  int is_complete = 0;
  for (const Bytes& message : all)
    (void)verity_autolink_feed(sink, message.data(), message.size(), &is_complete);
  verity_autolink_structure* structure = nullptr;
  if (verity_autolink_take(sink, &structure) == 0) {
    const auto* root = static_cast<const node*>(verity_autolink_root(structure));
    for (uint64_t i = 0; root != nullptr && i < verity_autolink_root_count(structure); ++i)
      walk(root + i);
    verity_autolink_free(structure);
  }
  verity_autolink_sink_free(sink);
}

}  // namespace verity::fuzz
