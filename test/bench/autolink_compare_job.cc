// SPDX-License-Identifier: BSD-3-Clause
//
// Linked structures to memory and back: autolink beside Boost.Serialization, which tracks objects
// by their addresses too, and beside what a programmer writes for just this type. Started by the
// script of the same name.
//
//   autolink_compare [ELEMENTS [TURNS]]
//
// Elements are allocated one by one and linked in random order. In each turn all three send each
// structure once and receive it; what is received is compared with what was sent. A line has the
// medians of a structure: MB/s of its elements, and the ratio to autolink within a turn. Boost goes
// down a list by recursion: ELEMENTS are as many as the stack allows, which is 4 GiB here.
#include <pthread.h>

#include <algorithm>
#include <boost/archive/binary_iarchive.hpp>
#include <boost/archive/binary_oarchive.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "autolink_shapes_automap.h"
#include "ucx-verity/autolink.h"

template <typename Archive>
void serialize(Archive& archive, item& i, unsigned) {
  archive& i.value& i.next;
}
template <typename Archive>
void serialize(Archive& archive, branch& b, unsigned) {
  archive& b.key& b.side[0] & b.side[1];
}
template <typename Archive>
void serialize(Archive& archive, vertex& v, unsigned) {
  archive& v.number& v.to[0] & v.to[1] & v.to[2] & v.to[3];
}

namespace {

using Clock = std::chrono::steady_clock;
using Bytes = std::vector<char>;

template <typename Element>
using Elements = std::vector<std::unique_ptr<Element>>;

// Allocated in one order and linked in another.
template <typename Element>
Elements<Element> allocate(size_t count) {
  Elements<Element> all(count);
  for (auto& one : all) one = std::make_unique<Element>();
  std::shuffle(all.begin(), all.end(), std::mt19937_64(count));
  return all;
}

// By hand: elements one behind the other, with numbers in the place of pointers.
template <typename Element>
void put(Bytes* out, const Element& element) {
  const auto* bytes = reinterpret_cast<const char*>(&element);
  out->insert(out->end(), bytes, bytes + sizeof(element));
}
template <typename Element>
std::vector<Element> elements_in(const Bytes& in) {
  std::vector<Element> all(in.size() / sizeof(Element));
  std::memcpy(all.data(), in.data(), in.size());
  return all;
}
template <typename Element>
Element* as_pointer(uintptr_t number) {
  return reinterpret_cast<Element*>(number);
}
template <typename Element>
void set(Element*& pointer, std::vector<Element>& all) {
  const auto number = reinterpret_cast<uintptr_t>(pointer);
  pointer = number == 0 ? nullptr : &all[number - 1];
}

struct List {
  using Element = item;
  static constexpr const char* kName = "list";
  static constexpr int kType = autolink_shapes_number_item;
  static void link(Elements<item>& all) {
    for (size_t i = 0; i < all.size(); ++i)
      *all[i] = {static_cast<int64_t>(i), i + 1 < all.size() ? all[i + 1].get() : nullptr};
  }
  static void to_bytes(const item* root, Bytes* out) {
    for (uintptr_t next = 2; root != nullptr; root = root->next, ++next) {
      put(out, item{root->value, root->next != nullptr ? as_pointer<item>(next) : nullptr});
    }
  }
  static void set_links(std::vector<item>& all) {
    for (item& i : all) set(i.next, all);
  }
  static uint64_t digest(const item* root) {
    uint64_t sum = 0;
    for (; root != nullptr; root = root->next) sum = sum * 31 + static_cast<uint64_t>(root->value);
    return sum;
  }
};

struct Tree {
  using Element = branch;
  static constexpr const char* kName = "tree";
  static constexpr int kType = autolink_shapes_number_branch;
  static void link(Elements<branch>& all) {
    const auto at = [&](size_t i) { return i < all.size() ? all[i].get() : nullptr; };
    for (size_t i = 0; i < all.size(); ++i)
      *all[i] = {static_cast<double>(i), {at(2 * i + 1), at(2 * i + 2)}};
  }
  // Level by level: children are numbered when their parent is written.
  static void to_bytes(const branch* root, Bytes* out) {
    std::deque<const branch*> queue{root};
    for (uintptr_t last = 1; !queue.empty(); queue.pop_front()) {
      branch copy = *queue.front();
      for (branch*& side : copy.side) {
        if (side == nullptr) continue;
        queue.push_back(side);
        side = as_pointer<branch>(++last);
      }
      put(out, copy);
    }
  }
  static void set_links(std::vector<branch>& all) {
    for (branch& b : all) set(b.side[0], all), set(b.side[1], all);
  }
  static uint64_t digest(const branch* root) {
    uint64_t sum = 0;
    std::vector<const branch*> stack{root};
    while (!stack.empty()) {
      const branch* b = stack.back();
      stack.pop_back();
      sum = sum * 31 + static_cast<uint64_t>(b->key);
      for (const branch* side : b->side) {
        if (side != nullptr) stack.push_back(side);
      }
    }
    return sum;
  }
};

// Edges to the next vertex and to any others.
struct Graph {
  using Element = vertex;
  static constexpr const char* kName = "graph";
  static constexpr int kType = autolink_shapes_number_vertex;
  static void link(Elements<vertex>& all) {
    std::mt19937_64 random(7);
    for (size_t i = 0; i < all.size(); ++i) {
      *all[i] = {static_cast<int64_t>(i), {}};
      all[i]->to[0] = all[(i + 1) % all.size()].get();
      for (int edge = 1; edge < EDGES; ++edge) all[i]->to[edge] = all[random() % all.size()].get();
    }
  }
  // The number in each vertex says where it goes.
  static void to_bytes(const vertex* root, Bytes* out) {
    std::vector<const vertex*> all, stack{root};
    while (!stack.empty()) {
      const vertex* v = stack.back();
      stack.pop_back();
      const auto number = static_cast<size_t>(v->number);
      if (number >= all.size()) all.resize(std::max(number + 1, 2 * all.size()));
      if (all[number] != nullptr) continue;
      all[number] = v;
      for (const vertex* to : v->to) stack.push_back(to);
    }
    for (const vertex* v : all) {
      if (v == nullptr) break;
      vertex copy = *v;
      for (vertex*& to : copy.to) to = as_pointer<vertex>(static_cast<uintptr_t>(to->number) + 1);
      put(out, copy);
    }
  }
  static void set_links(std::vector<vertex>& all) {
    for (vertex& v : all) {
      for (vertex*& to : v.to) set(to, all);
    }
  }
  static uint64_t digest(const vertex* root) {
    uint64_t sum = 0;
    const vertex* v = root;
    do {
      for (const vertex* to : v->to) sum = sum * 31 + static_cast<uint64_t>(to->number);
      v = v->to[0];
    } while (v != root);
    return sum;
  }
};

void require(bool is_so, const char* what) {
  if (is_so) return;
  std::fprintf(stderr, "autolink_compare: %s (%s)\n", what, verity_autolink_error());
  std::exit(1);
}

struct ByHand {
  template <typename Shape>
  static auto send_and_receive(typename Shape::Element* root, double* seconds_p) {
    const auto begin = Clock::now();
    Bytes bytes;
    Shape::to_bytes(root, &bytes);
    auto all = std::make_shared<std::vector<typename Shape::Element>>(
        elements_in<typename Shape::Element>(bytes));
    Shape::set_links(*all);
    *seconds_p = std::chrono::duration<double>(Clock::now() - begin).count();
    return std::shared_ptr<typename Shape::Element>(all, all->data());
  }
};

struct Boost {
  template <typename Shape>
  static auto send_and_receive(typename Shape::Element* root, double* seconds_p) {
    using Element = typename Shape::Element;
    const auto begin = Clock::now();
    std::stringstream stream;
    {
      boost::archive::binary_oarchive archive(stream);
      const Element* sent = root;
      archive << sent;
    }
    Element* received = nullptr;
    {
      boost::archive::binary_iarchive archive(stream);
      archive >> received;
    }
    *seconds_p = std::chrono::duration<double>(Clock::now() - begin).count();
    return std::shared_ptr<Element>(received, [](Element* first) { release<Shape>(first); });
  }
  // Each element was allocated.
  template <typename Shape>
  static void release(typename Shape::Element* first) {
    using Element = typename Shape::Element;
    std::vector<Element*> found, stack{first};
    std::vector<bool> seen;
    while (!stack.empty()) {
      Element* e = stack.back();
      stack.pop_back();
      if (e == nullptr) continue;
      if constexpr (std::is_same_v<Element, vertex>) {
        const auto number = static_cast<size_t>(e->number);
        if (number >= seen.size()) seen.resize(number + 1);
        if (seen[number]) continue;
        seen[number] = true;
        stack.insert(stack.end(), std::begin(e->to), std::end(e->to));
      } else if constexpr (std::is_same_v<Element, branch>) {
        stack.insert(stack.end(), std::begin(e->side), std::end(e->side));
      } else {
        stack.push_back(e->next);
      }
      found.push_back(e);
    }
    for (Element* e : found) delete e;
  }
};

struct Autolink {
  template <typename Shape>
  static auto send_and_receive(typename Shape::Element* root, double* seconds_p) {
    const auto begin = Clock::now();
    void* data = nullptr;
    size_t size = 0;
    require(verity_autolink_pack(&autolink_shapes_schema, Shape::kType, root, 1, nullptr, &data,
                                 &size) == 0,
            "pack");
    verity_autolink_structure* structure = nullptr;
    require(verity_autolink_unpack(&autolink_shapes_schema, Shape::kType, data, size, nullptr,
                                   &structure) == 0,
            "unpack");
    std::free(data);
    *seconds_p = std::chrono::duration<double>(Clock::now() - begin).count();
    const std::shared_ptr<verity_autolink_structure> owner(structure, verity_autolink_free);
    return std::shared_ptr<typename Shape::Element>(
        owner, static_cast<typename Shape::Element*>(verity_autolink_root(structure)));
  }
};

double median(std::vector<double> all) {
  std::nth_element(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2),
                   all.end());
  return all[all.size() / 2];
}

size_t elements = 100'000;
int turns = 9;

template <typename Way, typename Shape>
double time_of(typename Shape::Element* root, uint64_t digest) {
  double seconds = 0;
  const auto copy = Way::template send_and_receive<Shape>(root, &seconds);
  require(Shape::digest(copy.get()) == digest, "the copy differs");
  return seconds;
}

template <typename Shape>
void compare() {
  using Element = typename Shape::Element;
  Elements<Element> all = allocate<Element>(elements);
  Shape::link(all);
  Element* root = all[0].get();
  const uint64_t digest = Shape::digest(root);
  std::vector<double> hand, boost, autolink, to_hand, to_boost;
  for (int turn = 0; turn < turns; ++turn) {
    hand.push_back(time_of<ByHand, Shape>(root, digest));
    boost.push_back(time_of<Boost, Shape>(root, digest));
    autolink.push_back(time_of<Autolink, Shape>(root, digest));
    to_hand.push_back(autolink.back() / hand.back());
    to_boost.push_back(autolink.back() / boost.back());
  }
  const double megabytes = static_cast<double>(elements * sizeof(Element)) / 1e6;
  std::printf("%-6s %10zu %9.0f %9.0f %9.0f %12.2f %13.2f\n", Shape::kName, elements,
              megabytes / median(hand), megabytes / median(boost), megabytes / median(autolink),
              median(to_hand), median(to_boost));
}

void* run(void*) {
  std::printf(
      "MB/s, medians of %d turns; time of autolink divided by that of the others in the same "
      "turn\n",
      turns);
  std::printf("%-6s %10s %9s %9s %9s %12s %13s\n", "", "elements", "by hand", "boost", "autolink",
              "to by hand", "to boost");
  compare<List>();
  compare<Tree>();
  compare<Graph>();
  return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) elements = static_cast<size_t>(std::max(std::atol(argv[1]), 1L));
  if (argc > 2) turns = std::max(std::atoi(argv[2]), 1);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  require(pthread_attr_setstacksize(&attributes, size_t{4} << 30) == 0, "no stack of 4 GiB");
  pthread_t thread;
  require(pthread_create(&thread, &attributes, run, nullptr) == 0,
          "no thread with a stack of 4 GiB");
  return pthread_join(thread, nullptr);
}
