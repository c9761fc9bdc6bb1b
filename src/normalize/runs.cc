// SPDX-License-Identifier: BSD-3-Clause
#include "normalize/runs.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace verity::normalize {

namespace {

// Pieces of equal length that a list is cut into, to find what repeats in it.
constexpr uint64_t kMostPieces = uint64_t{1} << 20;
// Small loops become part of the body.
constexpr uint64_t kMostUnrolled = 64;
// Sums of three fit 63 bits.
constexpr int64_t kMaxBound = int64_t{1} << 61;

int64_t displacement_of(const Node& node, uint64_t copy) {
  return node.kind == Kind::kIndexed ? node.indices[copy]
                                     : static_cast<int64_t>(copy) * node.stride;
}

int64_t end_of(const Run& run) { return run.offset + static_cast<int64_t>(run.length); }

void add_run(std::vector<Run>* list, const Run& run) {
  if (!list->empty() && end_of(list->back()) == run.offset) {
    list->back().length += run.length;
  } else {
    list->push_back(run);
  }
}

// False: more than `most` runs.
bool add_copies(const Node& node, const std::vector<Run>& one, std::size_t most,
                std::vector<Run>* all) {
  // Copies that follow each other are one run, however many.
  if (node.kind == Kind::kVector && one.size() == 1 &&
      node.stride == static_cast<int64_t>(one[0].length)) {
    add_run(all, {one[0].offset, one[0].length * node.count});
    return true;
  }
  for (uint64_t copy = 0; copy < node.count; ++copy) {
    const int64_t displacement = displacement_of(node, copy);
    for (const Run& run : one) add_run(all, {run.offset + displacement, run.length});
    if (all->size() > most) return false;
  }
  return true;
}

uint64_t sum_of(const std::vector<Run>& list) {
  return std::accumulate(list.begin(), list.end(), uint64_t{0},
                         [](uint64_t sum, const Run& run) { return sum + run.length; });
}

// The displacements of the pieces of `length` that the list consists of.
Displacements cut(const std::vector<Run>& list, uint64_t length) {
  Displacements pieces;
  for (const Run& run : list) {
    for (uint64_t at = 0; at < run.length; at += length)
      pieces.push_back(run.offset + static_cast<int64_t>(at));
  }
  return pieces;
}

// Pieces that follow each other in each innermost vector are one piece, so that it does not matter
// in which units the layout was described.
void join_pieces(RunsKey* key) {
  std::vector<Node>& nodes = key->path.nodes;
  Run& piece = key->element[0];
  if (key->element.size() != 1 || nodes.empty() || nodes[0].kind != Kind::kVector ||
      nodes[0].stride != static_cast<int64_t>(piece.length))
    return;
  piece.length *= nodes[0].count;
  key->path.elements /= nodes[0].count;
  nodes.erase(nodes.begin());
}

// The lowest and highest displacement of a loop's copies.
struct Range {
  int64_t low = 0;
  int64_t high = 0;
};
Range range_of(const Node& loop) {
  if (loop.kind == Kind::kIndexed) {
    const auto [low, high] = std::ranges::minmax(loop.indices);
    return {low, high};
  }
  const int64_t last = displacement_of(loop, loop.count - 1);
  return {std::min<int64_t>(last, 0), std::max<int64_t>(last, 0)};
}

bool set_bounds(Runs* runs) {
  runs->low = runs->body[0].offset;
  runs->high = end_of(runs->body[0]);
  for (const Run& run : runs->body) {
    runs->low = std::min(runs->low, run.offset);
    runs->high = std::max(runs->high, end_of(run));
  }
  for (const Node& loop : runs->loops) {
    const Range range = range_of(loop);
    runs->low += range.low;
    runs->high += range.high;
    if (runs->low < -kMaxBound || runs->high > kMaxBound) return false;
  }
  return true;
}

void set_lengths(Runs* runs) {
  runs->length = runs->body[0].length;
  for (const Run& run : runs->body) {
    if (run.length != runs->length) runs->length = 0;
    runs->body_bytes += run.length;
  }
  if (runs->length != 0) return;
  uint64_t begin = 0;
  for (const Run& run : runs->body) {
    runs->begins.push_back(begin);
    begin += run.length;
  }
}

}  // namespace

bool flatten(Pattern* pattern, std::size_t most) {
  std::vector<Run> list;
  for (const Run& run : pattern->list) add_run(&list, run);
  for (auto node = pattern->around.rbegin(); node != pattern->around.rend(); ++node) {
    std::vector<Run> all;
    if (!add_copies(*node, list, most, &all)) return false;
    list = std::move(all);
  }
  if (list.size() > most) return false;
  *pattern = {{}, std::move(list)};
  return true;
}

std::optional<RunsKey> runs_key(const Pattern& pattern) {
  RunsKey key;
  TypePath path = pattern.around;
  uint64_t length = 0;
  for (const Run& run : pattern.list) length = std::gcd(length, run.length);
  if (sum_of(pattern.list) / length <= kMostPieces) {
    key.element.push_back({0, length});
    path.push_back(indexed(cut(pattern.list, length)));
  } else {
    const int64_t first = pattern.list[0].offset;
    for (const Run& run : pattern.list) key.element.push_back({run.offset - first, run.length});
    path.push_back(indexed({first}));
  }
  path.push_back(contiguous(1));
  if (!canonical(path, static_cast<int64_t>(length), &key.path).empty()) return std::nullopt;
  join_pieces(&key);
  return key;
}

std::optional<Runs> make_runs(const RunsKey& key) {
  Runs runs;
  if (__builtin_mul_overflow(key.path.elements, sum_of(key.element), &runs.bytes) ||
      runs.bytes > static_cast<uint64_t>(kMaxBound))
    return std::nullopt;
  for (const Run& run : key.element)
    runs.body.push_back({run.offset + key.path.offset, run.length});
  for (const Node& node : key.path.nodes) {
    std::vector<Run> all;
    const bool is_list = node.kind == Kind::kIndexed && runs.body.size() == 1;
    const std::size_t most = is_list ? node.count : kMostUnrolled;
    if (runs.loops.empty() && add_copies(node, runs.body, most, &all)) {
      runs.body = std::move(all);
    } else {
      runs.loops.insert(runs.loops.begin(), node);
    }
  }
  set_lengths(&runs);
  if (runs.loops.size() > kMaxLoops || !set_bounds(&runs)) return std::nullopt;
  return runs;
}

std::size_t RunsCache::Hash::operator()(const RunsKey& key) const noexcept {
  std::size_t hash = key.path.elements;
  const auto add = [&hash](uint64_t word) {
    hash = (hash ^ word) * 0x9e3779b97f4a7c15U + (hash >> 29);
  };
  add(static_cast<uint64_t>(key.path.offset));
  for (const Node& node : key.path.nodes) {
    add(node.count);
    add(static_cast<uint64_t>(node.stride));
    for (const int64_t index : node.indices) add(static_cast<uint64_t>(index));
  }
  for (const Run& run : key.element) {
    add(static_cast<uint64_t>(run.offset));
    add(run.length);
  }
  return hash;
}

namespace {

// About how many numbers one is, with its key.
uint64_t weight_of(const RunsKey& key, const Runs& runs) {
  constexpr uint64_t kEach = 64;
  uint64_t weight = kEach + 2 * runs.body.size() + 2 * key.element.size();
  for (const Node& node : key.path.nodes) weight += node.indices.size();
  for (const Node& loop : runs.loops) weight += loop.indices.size();
  return weight;
}

}  // namespace

void RunsCache::drop_unused() {
  std::erase_if(all_, [this](const auto& entry) {
    if (entry.second.use_count() != 1) return false;
    weight_ -= weight_of(entry.first, *entry.second);
    return true;
  });
  most_weight_ = std::max(kMostWeight, 2 * weight_);  // not again for each one more in use
}

std::shared_ptr<const Runs> RunsCache::find_or_make(RunsKey key) {
  if (const auto found = all_.find(key); found != all_.end()) return found->second;
  std::optional<Runs> runs = make_runs(key);
  if (!runs) return nullptr;
  auto made = std::make_shared<const Runs>(std::move(*runs));
  const uint64_t weight = weight_of(key, *made);
  all_.emplace(std::move(key), made);
  weight_ += weight;
  if (weight_ > most_weight_) drop_unused();
  return made;
}

RunsCursor::RunsCursor(const Runs& runs, const void* address, int64_t extent) noexcept
    : runs_(runs),
      address_(reinterpret_cast<uintptr_t>(address)),
      extent_(extent),
      at_(address_),
      copy_(address_) {}

void RunsCursor::seek(uint64_t offset) noexcept {
  at_ = copy_ = address_ + (offset / runs_.bytes) * static_cast<uint64_t>(extent_);
  offset %= runs_.bytes;
  uint64_t bytes = runs_.bytes;
  for (std::size_t level = 0; level < runs_.loops.size(); ++level) {
    const Node& loop = runs_.loops[level];
    bytes /= loop.count;
    turns_[level] = offset / bytes;
    offset %= bytes;
    at_ += static_cast<uintptr_t>(displacement_of(loop, turns_[level]));
  }
  if (runs_.length != 0) {
    run_ = offset / runs_.length;
    done_ = offset % runs_.length;
    return;
  }
  const auto behind = std::ranges::upper_bound(runs_.begins, offset);
  run_ = static_cast<std::size_t>(behind - runs_.begins.begin()) - 1;
  done_ = offset - runs_.begins[run_];
}

void RunsCursor::next_run() noexcept {
  done_ = 0;
  if (++run_ == runs_.body.size()) next_body();
}

void RunsCursor::next_body() noexcept {
  run_ = 0;
  for (std::size_t level = runs_.loops.size(); level-- > 0;) {
    const Node& loop = runs_.loops[level];
    uint64_t& turn = turns_[level];
    if (turn + 1 < loop.count) {
      const int64_t step =
          loop.kind == Kind::kVector ? loop.stride : loop.indices[turn + 1] - loop.indices[turn];
      at_ += static_cast<uintptr_t>(step);
      ++turn;
      return;
    }
    at_ -= static_cast<uintptr_t>(displacement_of(loop, turn));
    turn = 0;
  }
  copy_ += static_cast<uintptr_t>(extent_);
  at_ = copy_;
}

// `count` runs, from the begin of one on. kLength: that of each, 0: known at run time alone.
template <uint64_t kLength>
void RunsCursor::gather_fixed(uint8_t* out, uint64_t count) noexcept {
  const uint64_t length = kLength != 0 ? kLength : runs_.length;
  const bool strided =
      runs_.body.size() == 1 && !runs_.loops.empty() && runs_.loops.back().kind == Kind::kVector;
  while (count != 0) {
    uint64_t n;
    if (strided) {
      const Node& loop = runs_.loops.back();
      uint64_t& turn = turns_[runs_.loops.size() - 1];
      const auto stride = static_cast<uintptr_t>(loop.stride);
      n = std::min(count, loop.count - turn);
      const uintptr_t first = at_ + static_cast<uintptr_t>(runs_.body[0].offset);
      for (uint64_t i = 0; i < n; ++i)
        std::memcpy(out + i * length, reinterpret_cast<const void*>(first + i * stride), length);
      turn += n - 1;
      at_ += (n - 1) * stride;
      next_body();
    } else {
      n = std::min<uint64_t>(count, runs_.body.size() - run_);
      const Run* run = runs_.body.data() + run_;
      for (uint64_t i = 0; i < n; ++i) {
        const uintptr_t from = at_ + static_cast<uintptr_t>(run[i].offset);
        std::memcpy(out + i * length, reinterpret_cast<const void*>(from), length);
      }
      run_ += n;
      if (run_ == runs_.body.size()) next_body();
    }
    out += n * length;
    count -= n;
  }
}

// A copy of a length that is known when this is compiled is a few instructions, and no call.
void RunsCursor::gather_equal(uint8_t* out, uint64_t count) noexcept {
  switch (runs_.length) {
    case 1: return gather_fixed<1>(out, count);
    case 2: return gather_fixed<2>(out, count);
    case 4: return gather_fixed<4>(out, count);
    case 8: return gather_fixed<8>(out, count);
    case 12: return gather_fixed<12>(out, count);
    case 16: return gather_fixed<16>(out, count);
    case 24: return gather_fixed<24>(out, count);
    case 32: return gather_fixed<32>(out, count);
    case 40: return gather_fixed<40>(out, count);
    case 48: return gather_fixed<48>(out, count);
    case 64: return gather_fixed<64>(out, count);
    default: return gather_fixed<0>(out, count);
  }
}

// Whole runs of the body, from the begin of one on, as many as `length` bytes hold. Returns their
// bytes.
uint64_t RunsCursor::gather_whole(uint8_t* out, uint64_t length) noexcept {
  const Run* const begin = runs_.body.data();
  const Run* const end = begin + runs_.body.size();
  const Run* run = begin + run_;
  uint64_t done = 0;
  for (; run != end && run->length <= length - done; ++run) {
    const uintptr_t from = at_ + static_cast<uintptr_t>(run->offset);
    std::memcpy(out + done, reinterpret_cast<const void*>(from), run->length);
    done += run->length;
  }
  run_ = static_cast<std::size_t>(run - begin);
  if (run == end) next_body();
  return done;
}

void RunsCursor::gather(uint8_t* out, uint64_t length) noexcept {
  while (length != 0) {
    uint64_t piece;
    if (done_ != 0 || length < left()) {
      piece = std::min(length, left());
      std::memcpy(out, here(), piece);
      advance(piece);
    } else if (runs_.length != 0) {
      const uint64_t count = length / runs_.length;
      piece = count * runs_.length;
      gather_equal(out, count);
    } else {
      piece = gather_whole(out, length);
    }
    out += piece;
    length -= piece;
  }
}

}  // namespace verity::normalize
