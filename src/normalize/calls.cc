// SPDX-License-Identifier: BSD-3-Clause
#include "normalize/calls.h"

#include <algorithm>
#include <climits>

namespace verity::normalize {

namespace {

// First and last byte, as MPI has them without resizing.
struct Bounds {
  int64_t low = 0;
  int64_t high = 0;
};

Bounds bounds_of(const TypePath& path, int64_t unit) {
  Bounds bounds{0, static_cast<int64_t>(path.back().count) * unit};
  for (auto at = path.rbegin() + 1; at != path.rend(); ++at) {
    const Node& node = *at;
    int64_t first = 0, last = static_cast<int64_t>(node.count - 1) * node.stride;
    if (node.kind == Kind::kIndexed) {
      const auto [least, most] = std::ranges::minmax(node.indices);
      first = least;
      last = most;
    }
    bounds = {bounds.low + std::min(first, last), bounds.high + std::max(first, last)};
  }
  return bounds;
}

std::string list_of(const Displacements& numbers, std::size_t most) {
  std::string text;
  for (std::size_t i = 0; i < std::min(numbers.size(), most); ++i)
    text += (i == 0 ? "" : ", ") + std::to_string(numbers[i]);
  if (numbers.size() > most)
    text += ", /* and " + std::to_string(numbers.size() - most) + " more */";
  return text;
}

// A call without its datatypes: what stands before the old one, and between it and the new one; and
// the array that it needs.
struct Call {
  std::string before;
  std::string between;
  std::string array;
};

std::string suffix(uint64_t count) { return count > INT_MAX ? "_c" : ""; }

Call call_of_leaf(uint64_t count) {
  if (count == 1) return {"MPI_Type_dup(", ", &", ""};
  return {"MPI_Type_contiguous" + suffix(count) + "(" + std::to_string(count) + ", ", ", &", ""};
}

// Copies of blocks of the node inside: `block` of them.
Call call_of(const Node& node, uint64_t block, const std::string& array, std::size_t most) {
  const uint64_t large = std::max(node.count, block);
  const std::string counts = std::to_string(node.count) + ", " + std::to_string(block) + ", ";
  if (node.kind == Kind::kVector)
    return {"MPI_Type_create_hvector" + suffix(large) + "(" + counts + std::to_string(node.stride) +
                ", ",
            ", &", ""};
  return {"MPI_Type_create_hindexed_block" + suffix(large) + "(" + counts + array + ", ", ", &",
          std::string("const ") + (large > INT_MAX ? "MPI_Count " : "MPI_Aint ") + array +
              "[] = {" + list_of(node.indices, most) + "};\n"};
}

// From the innermost outwards. A leaf with a node around it is the block of that one.
std::vector<Call> calls_of(const TypePath& path, const Element& element, std::size_t most) {
  std::vector<Call> calls;
  uint64_t block = path.back().count;
  if (path.size() == 1) calls.push_back(call_of_leaf(block));
  int arrays = 0;
  for (auto at = path.rbegin() + 1; at != path.rend(); ++at) {
    const Node& node = *at;
    calls.push_back(
        call_of(node, block,
                "displacements" +
                    (node.kind == Kind::kIndexed && arrays++ > 0 ? std::to_string(arrays) : ""),
                most));
    block = 1;
  }
  const Bounds bounds = bounds_of(path, element.size);
  if (bounds.low != element.lower_bound || bounds.high - bounds.low != element.extent) {
    calls.push_back(
        {"MPI_Type_create_resized(",
         ", " + std::to_string(element.lower_bound) + ", " + std::to_string(element.extent) + ", &",
         ""});
  }
  return calls;
}

std::string words(const Node& node, const Element& element, std::size_t most) {
  const std::string count = std::to_string(node.count);
  const std::string copies = count + (node.count == 1 ? " copy" : " copies");
  switch (node.kind) {
    case Kind::kVector:
      return "vec  " + copies + ", one every " + std::to_string(node.stride) + " bytes";
    case Kind::kIndexed: return "idx  " + copies + " at " + list_of(node.indices, most);
    case Kind::kContiguous: break;
  }
  return "con  " + count + " " + std::string(element.name) +
         (node.count == 1 ? "" : ", one after the other");
}

}  // namespace

std::string mpi_calls(const TypePath& path, const Element& element, std::size_t most) {
  const std::vector<Call> calls = calls_of(path, element, most);
  std::string declarations = "MPI_Datatype newtype", text;
  std::string old(element.name);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const bool last = i + 1 == calls.size();
    const std::string made = last ? "newtype" : "inner" + std::to_string(i + 1);
    if (!last) declarations += ", " + made;
    text += calls[i].array + calls[i].before + old + calls[i].between + made + ");\n";
    if (i > 0) text += "MPI_Type_free(&" + old + ");\n";
    old = made;
  }
  return declarations + ";\n" + text;
}

std::string draw(const TypePath& path, const Element& element, std::size_t most) {
  std::string text;
  for (std::size_t depth = 0; depth < path.size(); ++depth) {
    if (depth > 0) text += std::string(3 * (depth - 1), ' ') + "`- ";
    text += words(path[depth], element, most) + "\n";
  }
  return text;
}

}  // namespace verity::normalize
