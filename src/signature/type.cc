// SPDX-License-Identifier: BSD-3-Clause
// Types: their life, and how they are built.
#include "signature/type.h"

#include <vector>

namespace verity::signature {

namespace {

// A child of at most this many parts dissolves in the sequence around it: enough for nested structs
// to read as one, too few for a deep nesting to copy long lists at each level.
constexpr size_t kMaxDissolved = 16;

[[nodiscard]] constexpr uint64_t add_counts(uint64_t a, uint64_t b) noexcept {
  uint64_t sum;
  return __builtin_add_overflow(a, b, &sum) ? kTooMany : sum;
}

// The type without elements. Made at compile time, so that it is there before any other static
// object and after all of them.
union Eternal {
  constexpr Eternal() noexcept : node() {}
  ~Eternal() {}
  Type::Node node;
};
constinit Eternal empty_type;

// The same sequence of basic types: exactly for leaves, by signature otherwise.
bool same_sequence(const Type& a, const Type& b) noexcept {
  if (&a.node() == &b.node()) return true;
  if (a.node().leaf() || b.node().leaf())
    return a.count() == b.count() && a.homogeneous() && a.basic() == b.basic();
  const Signature& one = a.node().repeater[static_cast<unsigned>(Level::kNames)].one();
  return !saturated(one) && one == b.node().repeater[static_cast<unsigned>(Level::kNames)].one();
}

// Collects the parts of a sequence in the normal form.
class Parts {
 public:
  void append(Type type, uint64_t copies) {
    if (copies == 0 || type.count() == 0) return;
    // A repetition of a repetition is one.
    while (type.node().part_count == 1) {
      const Type::Node::Part& only = type.node().parts()[0];
      uint64_t product;
      if (__builtin_mul_overflow(copies, only.copies, &product)) break;
      copies = product;
      type = Type(only.type);
    }
    const auto parts = type.node().parts();
    if (copies != 1 || parts.empty() || parts.size() > kMaxDissolved) return push(type, copies);
    for (const Type::Node::Part& part : parts) push(part.type, part.copies);
  }

  [[nodiscard]] std::vector<Type::Item>& items() noexcept { return items_; }

 private:
  void push(const Type& type, uint64_t copies) {
    uint64_t sum;
    if (!items_.empty() && same_sequence(items_.back().type, type) &&
        !__builtin_add_overflow(items_.back().copies, copies, &sum)) {
      items_.back().copies = sum;
    } else {
      items_.push_back({type, copies});
    }
  }

  std::vector<Type::Item> items_;
};

// The sums over the parts so far.
struct Sums {
  uint64_t count = 0;
  uint64_t bytes = 0;
  Signature signature[kLevels];
  uint64_t bag[kLevels] = {};

  void add(const Type& type, uint64_t copies) noexcept {
    const Type::Node& node = type.node();
    count = add_counts(count, multiply_counts(node.count, copies));
    bytes = add_counts(bytes, multiply_counts(node.bytes, copies));
    for (unsigned level = 0; level < kLevels; ++level) {
      signature[level] = concat(signature[level], node.repeater[level].repeat(copies));
      bag[level] = add_mod(bag[level], mul_mod(node.bag[level], reduce(copies)));
    }
  }
};

void set_sums(Type::Node& node, const Sums& sums) noexcept {
  node.count = sums.count;
  node.bytes = sums.bytes;
  for (unsigned level = 0; level < kLevels; ++level) {
    node.repeater[level] = Repeater(sums.signature[level]);
    node.bag[level] = sums.bag[level];
  }
}

Type::Node::Part make_part(const Type::Item& item, const Sums& before) noexcept {
  Type::Node::Part part{item.type, item.copies, before.count, before.bytes};
  for (unsigned level = 0; level < kLevels; ++level) {
    part.hash_before[level] = before.signature[level].hash;
    part.bag_before[level] = before.bag[level];
  }
  return part;
}

// Of one part with two copies or more, or of several.
std::unique_ptr<Type::Node> make_node(const std::vector<Type::Item>& items) {
  auto node = std::make_unique<Type::Node>();
  node->parts_of = std::make_unique<Type::Node::Part[]>(items.size());
  node->part_count = items.size();
  node->basic = items.front().type.basic();
  Sums sums;
  for (size_t i = 0; i < items.size(); ++i) {
    node->parts_of[i] = make_part(items[i], sums);
    sums.add(items[i].type, items[i].copies);
    node->classes |= items[i].type.node().classes;
    if (items[i].type.basic() != node->basic) node->basic = {};
  }
  set_sums(*node, sums);
  return node;
}

}  // namespace

Type::Type() noexcept : node_(&empty_type.node) {
  node_->references.fetch_add(1, std::memory_order_relaxed);
}

Type::Type(const Type& other) noexcept : node_(other.node_) {
  node_->references.fetch_add(1, std::memory_order_relaxed);
}

Type::~Type() {
  if (node_ != nullptr) release(node_);
}

// Without recursion: a chain of types may be of any length. What falls to zero waits in a list
// through the nodes themselves.
void Type::release(const Node* node) noexcept {
  if (node->references.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  for (Node* dead = const_cast<Node*>(node); dead != nullptr;) {
    const std::unique_ptr<Node> gone(dead);
    dead = gone->next_dead;
    for (size_t i = 0; i < gone->part_count; ++i) {
      Node* child = const_cast<Node*>(std::exchange(gone->parts_of[i].type.node_, nullptr));
      if (child->references.fetch_sub(1, std::memory_order_acq_rel) != 1) continue;
      child->next_dead = dead;
      dead = child;
    }
  }
}

Type Type::leaf(const BasicType& basic) {
  auto node = std::make_unique<Node>();
  Sums sums;
  sums.count = 1;
  sums.bytes = basic.size;
  for (unsigned level = 0; level < kLevels; ++level) {
    const uint64_t code = code_of(basic, static_cast<Level>(level));
    sums.signature[level] = signature::basic(code);
    sums.bag[level] = code;
  }
  set_sums(*node, sums);
  node->basic = basic;
  node->classes = static_cast<uint16_t>(1u << basic.cls);
  return Type(node.release());
}

Type Type::repeat(const Type& child, uint64_t copies) {
  const Item item{child, copies};
  return sequence({&item, 1});
}

Type Type::sequence(std::span<const Item> items) {
  Parts parts;
  for (const Item& item : items) parts.append(item.type, item.copies);
  if (parts.items().empty()) return {};
  if (parts.items().size() == 1 && parts.items()[0].copies == 1) return parts.items()[0].type;
  return Type(make_node(parts.items()).release());
}

}  // namespace verity::signature
