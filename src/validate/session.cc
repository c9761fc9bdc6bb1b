// SPDX-License-Identifier: BSD-3-Clause
#include "validate/session.h"

#include <algorithm>
#include <bit>

#include "merkle/hash.h"

namespace verity::validate {

namespace {

// Levels that one exchange of digests descends: up to 1024 digests for each node that differs.
constexpr unsigned kLevels = 2;

unsigned lower_level(unsigned upper) noexcept { return upper > kLevels ? upper - kLevels : 0; }

struct Range {
  uint64_t begin, end;
};

// The nodes at `lower` below node `parent` at `upper`.
Range descendants(const merkle::Geometry& geometry, unsigned upper, uint64_t parent,
                  unsigned lower) noexcept {
  const unsigned shift = (upper - lower) * merkle::kFanoutShift;
  return {parent << shift, std::min((parent + 1) << shift, geometry.level_size(lower))};
}

merkle::Digest digest(const merkle::Geometry& geometry, const Buffer& buffer, uint64_t leaf,
                      Bytes* space) {
  const uint64_t length = geometry.leaf_length(leaf);
  return merkle::hash(buffer.gather(geometry.leaf_offset(leaf), length, space), length);
}

Outcome outcome_of(Kind end) noexcept {
  switch (end) {
    case Kind::kGood: return Outcome::kEqual;
    case Kind::kUnequal: return Outcome::kUnequalLength;
    default: return Outcome::kGivenUp;
  }
}

// Lengths are even but for those of the last messages.
constexpr uint64_t padded(uint64_t bytes) noexcept { return (bytes + 7) / 8 * 8; }

}  // namespace

merkle::Tree hash_buffer(const Buffer& buffer, uint32_t segment_size) {
  const merkle::Geometry geometry(buffer.length(), segment_size);
  std::vector<merkle::Digest> leaves(geometry.leaf_count());
  Bytes space;
  for (uint64_t i = 0; i < leaves.size(); ++i) leaves[i] = digest(geometry, buffer, i, &space);
  return merkle::Tree::from_leaves(geometry, leaves);
}

// --- owner
// -----------------------------------------------------------------------------------------------------------------

Owner::Owner(const Buffer& buffer, const merkle::Tree& tree, uint32_t serial, const Limits& limits)
    : buffer_(buffer), tree_(tree), serial_(serial), limits_(limits) {
  result_.segments = tree.geometry().leaf_count();
}

Header Owner::header(Kind kind) const noexcept {
  Header header;
  header.kind = static_cast<uint8_t>(kind);
  header.segment_log2 = static_cast<uint8_t>(std::countr_zero(tree_.geometry().segment_size()));
  header.serial = serial_;
  header.length = buffer_.length();
  return header;
}

Bytes Owner::plain(Kind kind) {
  Bytes message = begin(header(kind));
  seal(message);
  return message;
}

Bytes Owner::start() {
  Header h = header(Kind::kRoot);
  h.count = 1;
  Bytes message = begin(h);
  put(message, tree_.root());
  seal(message);
  return message;
}

// It is the holder that ends: an owner that gives up repeats GIVE_UP until it does.
Bytes Owner::receive(Reading reading, const Message& message) {
  if (outcome_ != Outcome::kRunning) return {};
  if (reading == Reading::kLostEnd) {
    outcome_ = Outcome::kGivenUp;
    return {};
  }
  const bool is_good = reading == Reading::kGood;
  if (is_good && is_end(message.kind())) {
    outcome_ = outcome_of(message.kind());
    return {};
  }
  if (!is_good && ++damaged_messages_ > limits_.max_rounds) gives_up_ = true;
  if (gives_up_) return plain(Kind::kGiveUp);
  if (!is_good) return plain(Kind::kDamaged);
  switch (message.kind()) {
    case Kind::kDamaged: return start();
    case Kind::kMore: return segments();
    case Kind::kDigests: return compare(message);
    default: return plain(Kind::kDamaged);
  }
}

Bytes Owner::give_up() {
  gives_up_ = true;
  return plain(Kind::kGiveUp);
}

// Each value is the holder's word: bounded before it is used.
Bytes Owner::compare(const Message& message) {
  const merkle::Geometry& geometry = tree_.geometry();
  const unsigned lower = message.header.levels & 0x0f;
  const unsigned upper = message.header.levels >> 4;
  const uint64_t parents = message.header.count;
  if (upper >= tree_.level_count() || lower > upper || upper - lower > kLevels ||
      parents > message.words())
    return plain(Kind::kDamaged);
  std::vector<uint64_t> differ;
  uint64_t at = parents;
  for (uint64_t i = 0; i < parents; ++i) {
    if (message.word(i) >= geometry.level_size(upper)) return plain(Kind::kDamaged);
    const Range nodes = descendants(geometry, upper, message.word(i), lower);
    if (nodes.end - nodes.begin > message.words() - at) return plain(Kind::kDamaged);
    for (uint64_t node = nodes.begin; node < nodes.end; ++node, ++at) {
      if (message.word(at) != tree_.level(lower)[node]) differ.push_back(node);
    }
  }
  if (lower == 0) {
    to_send_ = std::move(differ);
    sent_ = 0;
    ++result_.rounds;
    result_.damaged += to_send_.size();
    return segments();
  }
  Header h = header(Kind::kDifferences);
  h.levels = static_cast<uint8_t>(lower);
  h.count = differ.size();
  Bytes answer = begin(h);
  for (const uint64_t node : differ) put(answer, node);
  seal(answer);
  return answer;
}

Bytes Owner::segments() {
  const merkle::Geometry& geometry = tree_.geometry();
  const uint64_t most = std::max<uint64_t>(limits_.max_message / geometry.segment_size(), 1);
  const size_t end = std::min<uint64_t>(to_send_.size(), sent_ + most);
  Header h = header(end == to_send_.size() ? Kind::kLastSegments : Kind::kSegments);
  h.count = end - sent_;
  Bytes message = begin(h);
  uint64_t bytes = 0;
  for (size_t i = sent_; i < end; ++i) {
    put(message, to_send_[i]);
    bytes += geometry.leaf_length(to_send_[i]);
  }
  size_t place = message.size();
  message.resize(place + padded(bytes));
  for (; sent_ < end; ++sent_) {
    const uint64_t leaf = to_send_[sent_];
    buffer_.read(geometry.leaf_offset(leaf), geometry.leaf_length(leaf), message.data() + place);
    place += geometry.leaf_length(leaf);
  }
  result_.bytes_sent_again += bytes;
  seal(message);
  return message;
}

// --- holder
// ----------------------------------------------------------------------------------------------------------------

Holder::Holder(const Buffer& buffer, uint32_t serial, const Limits& limits)
    : buffer_(buffer), serial_(serial), limits_(limits) {}

Header Holder::header(Kind kind) const noexcept {
  Header header;
  header.kind = static_cast<uint8_t>(kind);
  header.serial = serial_;
  header.sender = 1;
  header.length = buffer_.length();
  return header;
}

Bytes Holder::plain(Kind kind) {
  Bytes message = begin(header(kind));
  seal(message);
  return message;
}

Bytes Holder::end(Kind kind) {
  outcome_ = outcome_of(kind);
  return make_end(header(kind));
}

Bytes Holder::give_up() { return end(Kind::kGivenUp); }

Bytes Holder::receive(Reading reading, const Message& message) {
  if (outcome_ != Outcome::kRunning) return {};
  if (reading != Reading::kGood) return damaged();
  switch (message.kind()) {
    case Kind::kRoot: return on_root(message);
    case Kind::kDifferences: return on_differences(message);
    case Kind::kSegments:
    case Kind::kLastSegments: return on_segments(message);
    case Kind::kDamaged: return tree_ == nullptr ? plain(Kind::kDamaged) : begin_round();
    case Kind::kGiveUp: return give_up();
    default: return damaged();
  }
}

Bytes Holder::damaged() {
  if (tree_ != nullptr) return begin_round();
  if (++rounds_begun_ > limits_.max_rounds) return give_up();
  return plain(Kind::kDamaged);
}

Bytes Holder::on_root(const Message& message) {
  if (tree_ != nullptr) return {};  // again: the answer to the first one is under way
  if (message.header.length != buffer_.length()) return end(Kind::kUnequal);
  const unsigned log2 = message.header.segment_log2;
  if (message.words() != 1 || log2 >= 32 || !merkle::is_valid_segment_size(uint64_t{1} << log2))
    return damaged();
  owner_root_ = message.word(0);
  tree_ = std::make_unique<merkle::Tree>(hash_buffer(buffer_, 1u << log2));
  result_.segments = tree_->geometry().leaf_count();
  was_damaged_.resize(result_.segments);
  rounds_begun_ = 0;
  return check_root();
}

Bytes Holder::check_root() {
  return tree_->root() == owner_root_ ? end(Kind::kGood) : begin_round();
}

Bytes Holder::begin_round() {
  if (++rounds_begun_ > limits_.max_rounds) return give_up();
  constexpr uint64_t kRootNode[] = {0};
  return digests_below(tree_->level_count() - 1, kRootNode);
}

Bytes Holder::digests_below(unsigned upper, std::span<const uint64_t> parents) {
  const unsigned lower = lower_level(upper);
  Header h = header(Kind::kDigests);
  h.levels = static_cast<uint8_t>(upper << 4 | lower);
  h.count = parents.size();
  Bytes message = begin(h);
  for (const uint64_t parent : parents) put(message, parent);
  for (const uint64_t parent : parents) {
    const Range nodes = descendants(tree_->geometry(), upper, parent, lower);
    for (uint64_t node = nodes.begin; node < nodes.end; ++node)
      put(message, tree_->level(lower)[node]);
  }
  seal(message);
  return message;
}

Bytes Holder::on_differences(const Message& message) {
  const unsigned level = message.header.levels;
  if (tree_ == nullptr || level == 0 || level >= tree_->level_count() ||
      message.header.count != message.words())
    return damaged();
  std::vector<uint64_t> nodes(message.words());
  for (uint64_t i = 0; i < nodes.size(); ++i) {
    nodes[i] = message.word(i);
    if (nodes[i] >= tree_->geometry().level_size(level)) return damaged();
  }
  return nodes.empty() ? begin_round() : digests_below(level, nodes);
}

Bytes Holder::on_segments(const Message& message) {
  const uint64_t count = message.header.count;
  if (tree_ == nullptr || count > message.words()) return damaged();
  const merkle::Geometry& geometry = tree_->geometry();
  uint64_t bytes = 0;
  for (uint64_t i = 0; i < count; ++i) {
    if (message.word(i) >= geometry.leaf_count()) return damaged();
    bytes += geometry.leaf_length(message.word(i));
  }
  if (message.body.size() != count * sizeof(uint64_t) + padded(bytes)) return damaged();
  const uint8_t* in = message.body.data() + count * sizeof(uint64_t);
  Bytes space;
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t leaf = message.word(i);
    buffer_.write(geometry.leaf_offset(leaf), geometry.leaf_length(leaf), in);
    in += geometry.leaf_length(leaf);
    tree_->update_leaf(leaf, digest(geometry, buffer_, leaf, &space));
    result_.damaged += !was_damaged_[leaf];
    was_damaged_[leaf] = true;
  }
  result_.bytes_sent_again += bytes;
  if (message.kind() == Kind::kSegments) return plain(Kind::kMore);
  ++result_.rounds;
  return check_root();
}

}  // namespace verity::validate
