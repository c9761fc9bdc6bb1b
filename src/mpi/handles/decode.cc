// SPDX-License-Identifier: BSD-3-Clause
// A datatype's basic types, from its envelope and contents.
//
// Displacements, gaps and orders of dimensions play no part: every constructor but the structure
// repeats one type, as often as its bytes fit the whole. So of its arguments only that type is
// read, and of a structure the block lengths.
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "mpi/handles/contents.h"
#include "mpi/handles/types.h"
#include "mpi/process/library.h"

namespace verity::mpi {

namespace {

using signature::Type;

// -1: not known.
MPI_Count size_of(MPI_Datatype datatype) {
  MPI_Count size = 0;
  return library().Type_size_x(datatype, &size) == MPI_SUCCESS && size >= 0 ? size : -1;
}

Type leaf_of(uint8_t id, MPI_Count size) {
  auto basic = size < 0 ? std::nullopt : signature::make_basic(id, static_cast<uint64_t>(size));
  if (!basic) basic = signature::make_basic(signature::id_OPAQUE, 1);
  return Type::leaf(*basic);
}

// MPI's value and index pairs: predefined, but structures of two.
struct Pair {
  const char* name;
  const char* first;
  const char* second;
};
constexpr Pair kPairs[] = {
    {"MPI_FLOAT_INT", "MPI_FLOAT", "MPI_INT"},
    {"MPI_DOUBLE_INT", "MPI_DOUBLE", "MPI_INT"},
    {"MPI_LONG_INT", "MPI_LONG", "MPI_INT"},
    {"MPI_SHORT_INT", "MPI_SHORT", "MPI_INT"},
    {"MPI_LONG_DOUBLE_INT", "MPI_LONG_DOUBLE", "MPI_INT"},
    {"MPI_2INT", "MPI_INT", "MPI_INT"},
    {"MPI_2REAL", "MPI_REAL", "MPI_REAL"},
    {"MPI_2DOUBLE_PRECISION", "MPI_DOUBLE_PRECISION", "MPI_DOUBLE_PRECISION"},
    {"MPI_2INTEGER", "MPI_INTEGER", "MPI_INTEGER"},
    {"MPI_2COMPLEX", "MPI_COMPLEX", "MPI_COMPLEX"},
    {"MPI_2DOUBLE_COMPLEX", "MPI_DOUBLE_COMPLEX", "MPI_DOUBLE_COMPLEX"},
};

// The first and second type's sizes must make up the pair's.
bool decode_pair(const Pair& pair, MPI_Count size, Type* type_p) {
  const bool alike = std::string_view(pair.first) == pair.second;
  const auto second =
      signature::find_basic(pair.second, alike ? static_cast<uint64_t>(size) / 2 : 0);
  if (!second || static_cast<uint64_t>(size) <= second->size) return false;
  const auto first = signature::find_basic(pair.first, static_cast<uint64_t>(size) - second->size);
  if (!first) return false;
  const Type::Item items[] = {{Type::leaf(*first), 1}, {Type::leaf(*second), 1}};
  *type_p = Type::sequence(items);
  return true;
}

bool decode_name(MPI_Datatype datatype, Type* type_p) {
  char name[MPI_MAX_OBJECT_NAME + 1] = {};
  int length = 0;
  const MPI_Count size = size_of(datatype);
  if (size < 0 || library().Type_get_name(datatype, name, &length) != MPI_SUCCESS) return false;
  for (const Pair& pair : kPairs) {
    if (std::string_view(pair.name) == name) return decode_pair(pair, size, type_p);
  }
  if (size == 0) {  // MPI_LB, MPI_UB: markers
    *type_p = Type();
    return true;
  }
  const auto basic = signature::find_basic(name, static_cast<uint64_t>(size));
  if (!basic) return false;
  *type_p = Type::leaf(*basic);
  return true;
}

// By the name that it had when it was seen first: the program may give it another.
bool decode_named(MPI_Datatype datatype, Type* type_p) {
  static std::mutex mutex;
  static auto& known = *new std::unordered_map<MPI_Datatype, std::optional<Type>>;
  std::unique_lock lock(mutex);
  auto it = known.find(datatype);
  if (it == known.end()) {
    lock.unlock();  // no MPI call under it
    Type type;
    const bool decoded = decode_name(datatype, &type);
    lock.lock();
    it = known.try_emplace(datatype, decoded ? std::optional<Type>(type) : std::nullopt).first;
  }
  if (it->second) *type_p = *it->second;
  return it->second.has_value();
}

// Open MPI gives each child another handle, so that the same type is another one in each place:
// more than this are not decoded.
constexpr size_t kMostTypes = 1 << 16;

// Types within types, first the innermost: a stack in place of recursion, since programs nest them
// thousands deep.
class Decoder {
 public:
  ~Decoder() {
    for (MPI_Datatype datatype : owned_) library().Type_free(&datatype);
  }

  bool run(MPI_Datatype outermost, Type* type_p) {
    if (!open(outermost)) return false;
    while (!stack_.empty()) {
      Frame& top = stack_.back();
      if (top.next < top.contents.types.size()) {
        const MPI_Datatype child =
            top.contents.types[top.next];  // `top` moves when the stack grows
        const bool is_used = !is_structure(top.combiner) || !top.contents.has_blocks() ||
                             top.contents.block(top.next) != 0;
        ++top.next;
        if (is_used && !done_.contains(child) && !open(child)) return false;
      } else if (!close(top)) {
        return false;
      } else {
        stack_.pop_back();
      }
    }
    *type_p = done_.at(outermost);
    return true;
  }

 private:
  struct Frame {
    MPI_Datatype datatype;
    int combiner;
    Contents contents;
    size_t next = 0;
  };

  // Basic types are done at once, others wait for what they are made of.
  bool open(MPI_Datatype datatype) {
    TypeEnvelope envelope;
    if (!get_envelope(datatype, &envelope)) return false;
    switch (envelope.combiner) {
      case MPI_COMBINER_NAMED: return decode_named(datatype, &done_[datatype]);
      case MPI_COMBINER_F90_INTEGER:
        done_[datatype] = leaf_of(signature::id_F90_INTEGER, size_of(datatype));
        return true;
      case MPI_COMBINER_F90_REAL:
        done_[datatype] = leaf_of(signature::id_F90_REAL, size_of(datatype));
        return true;
      case MPI_COMBINER_F90_COMPLEX:
        done_[datatype] = leaf_of(signature::id_F90_COMPLEX, size_of(datatype));
        return true;
      default: break;
    }
    Frame frame{.datatype = datatype, .combiner = envelope.combiner, .contents = {}};
    if (!get_contents(datatype, envelope, &frame.contents)) return false;
    for (MPI_Datatype child : frame.contents.types) own(child);
    if (owned_.size() > kMostTypes) return false;
    stack_.push_back(std::move(frame));
    return true;
  }

  // Each derived type that get_contents returned is ours to free, as often as it was returned.
  void own(MPI_Datatype child) {
    if (must_be_freed(child)) owned_.push_back(child);
  }

  bool close(const Frame& frame) {
    const Contents& contents = frame.contents;
    if (contents.types.empty()) {
      done_[frame.datatype] = Type();  // a structure of no blocks
      return size_of(frame.datatype) == 0;
    }
    return is_structure(frame.combiner) ? close_structure(frame) : close_repetition(frame);
  }

  static bool is_structure(int combiner) {
#ifndef OPEN_MPI  // which calls it by the newer name
    if (combiner == MPI_COMBINER_STRUCT_INTEGER) return true;
#endif
    return combiner == MPI_COMBINER_STRUCT;
  }

  bool close_structure(const Frame& frame) {
    const Contents& contents = frame.contents;
    if (!contents.has_blocks()) return false;
    std::vector<Type::Item> items;
    items.reserve(contents.types.size());
    for (size_t i = 0; i < contents.types.size(); ++i) {
      if (contents.block(i) < 0) return false;
      if (contents.block(i) == 0) continue;
      items.push_back({done_.at(contents.types[i]), static_cast<uint64_t>(contents.block(i))});
    }
    return finish(frame, items.empty() ? Type() : Type::sequence(items));
  }

  bool close_repetition(const Frame& frame) {
    if (frame.contents.types.size() != 1) return false;
    const Type& child = done_.at(frame.contents.types[0]);
    const MPI_Count size = size_of(frame.datatype);
    const uint64_t each = child.bytes();
    if (size < 0 || (each == 0 ? size != 0 : static_cast<uint64_t>(size) % each != 0)) return false;
    return finish(frame,
                  each == 0 ? Type() : Type::repeat(child, static_cast<uint64_t>(size) / each));
  }

  // The library counts the bytes too: a constructor that works otherwise than it is thought to is
  // never checked.
  bool finish(const Frame& frame, Type type) {
    const MPI_Count size = size_of(frame.datatype);
    if (size < 0 || type.bytes() != static_cast<uint64_t>(size)) return false;
    done_[frame.datatype] = std::move(type);
    return true;
  }

  std::vector<Frame> stack_;
  std::vector<MPI_Datatype> owned_;
  std::unordered_map<MPI_Datatype, Type> done_;
};

}  // namespace

bool is_predefined(MPI_Datatype datatype) {
  TypeEnvelope envelope;
  return get_envelope(datatype, &envelope) && envelope.combiner == MPI_COMBINER_NAMED;
}

bool decode_type(MPI_Datatype datatype, Type* type_p) { return Decoder().run(datatype, type_p); }

}  // namespace verity::mpi
