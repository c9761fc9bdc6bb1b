// SPDX-License-Identifier: BSD-3-Clause
#include "validate/buffer.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace verity::validate {

namespace {

// A datatype without gaps: all copies are one run.
void join_copies(Layout& layout, uint64_t& count) {
  if (layout.runs.size() != 1 || static_cast<int64_t>(layout.runs[0].length) != layout.extent)
    return;
  layout.runs[0].length *= count;
  layout.bytes = layout.runs[0].length;
  count = std::min<uint64_t>(count, 1);
}

}  // namespace

Buffer::Buffer(void* base, Layout layout, uint64_t count)
    : base_(static_cast<uint8_t*>(base)), layout_(std::move(layout)) {
  if (count != 0) join_copies(layout_, count);
  length_ = layout_.bytes * count;
  uint64_t begin = 0;
  for (const Run& run : layout_.runs) begin = begins_.emplace_back(begin) + run.length;
}

template <typename Visit>
void Buffer::visit(uint64_t offset, uint64_t length, Visit&& visit) const {
  if (length == 0) return;
  uint64_t copy = offset / layout_.bytes;
  uint64_t within = offset % layout_.bytes;
  auto i = static_cast<size_t>(std::upper_bound(begins_.begin(), begins_.end(), within) -
                               begins_.begin()) -
           1;
  within -= begins_[i];
  while (length != 0) {
    const Run& run = layout_.runs[i];
    const uint64_t bytes = std::min(length, run.length - within);
    uint8_t* copy_base = base_ + static_cast<int64_t>(copy) * layout_.extent;
    visit(copy_base + run.displacement + within, bytes);
    length -= bytes;
    within = 0;
    if (++i == layout_.runs.size()) {
      i = 0;
      ++copy;
    }
  }
}

void Buffer::pieces(uint64_t offset, uint64_t length, std::vector<util::Piece>* pieces_p) const {
  pieces_p->clear();
  visit(offset, length, [&](uint8_t* at, uint64_t bytes) { pieces_p->push_back({at, bytes}); });
}

void Buffer::read(uint64_t offset, uint64_t length, uint8_t* out) const {
  visit(offset, length, [&](const uint8_t* at, uint64_t bytes) {
    std::memcpy(out, at, bytes);
    out += bytes;
  });
}

void Buffer::write(uint64_t offset, uint64_t length, const uint8_t* in) const {
  visit(offset, length, [&](uint8_t* at, uint64_t bytes) {
    std::memcpy(at, in, bytes);
    in += bytes;
  });
}

}  // namespace verity::validate
