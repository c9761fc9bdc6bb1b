// SPDX-License-Identifier: BSD-3-Clause
#include "validate/buffer.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace verity::validate {

namespace {

// A datatype without gaps: all copies are one run.
void join_copies(Layout& layout, uint64_t& count) {
  normalize::Runs& runs = layout.runs;
  if (!runs.is_one_run() || static_cast<int64_t>(runs.bytes) != layout.extent) return;
  runs.bytes *= count;
  runs.body[0].length = runs.length = runs.body_bytes = runs.bytes;
  count = std::min<uint64_t>(count, 1);
}

}  // namespace

std::optional<Layout> make_layout(const normalize::Pattern& pattern, int64_t extent) {
  if (pattern.empty()) return Layout{{}, extent};
  const std::optional<normalize::RunsKey> key = normalize::runs_key(pattern);
  if (!key) return std::nullopt;
  std::optional<normalize::Runs> runs = normalize::make_runs(*key);
  return runs ? std::optional(Layout{std::move(*runs), extent}) : std::nullopt;
}

Layout plain_layout(uint64_t bytes) {
  normalize::Pattern run;
  if (bytes != 0) run.list.push_back({0, bytes});
  return make_layout(run, static_cast<int64_t>(bytes)).value();
}

Buffer::Buffer(void* base, Layout layout, uint64_t count)
    : base_(static_cast<uint8_t*>(base)), layout_(std::move(layout)) {
  if (count != 0) join_copies(layout_, count);
  length_ = layout_.runs.bytes * count;
}

normalize::RunsCursor Buffer::cursor_at(uint64_t offset) const noexcept {
  normalize::RunsCursor cursor(layout_.runs, base_, layout_.extent);
  cursor.seek(offset);
  return cursor;
}

const uint8_t* Buffer::gather(uint64_t offset, uint64_t length,
                              std::vector<uint8_t>* space_p) const {
  if (length == 0) return space_p->data();
  normalize::RunsCursor cursor = cursor_at(offset);
  if (length <= cursor.left()) return cursor.here();
  if (space_p->size() < length) space_p->resize(length);
  cursor.gather(space_p->data(), length);
  return space_p->data();
}

void Buffer::read(uint64_t offset, uint64_t length, uint8_t* out) const {
  if (length != 0) cursor_at(offset).gather(out, length);
}

void Buffer::write(uint64_t offset, uint64_t length, const uint8_t* in) const {
  if (length == 0) return;
  for (normalize::RunsCursor cursor = cursor_at(offset); length != 0;) {
    const uint64_t bytes = std::min(length, cursor.left());
    std::memcpy(const_cast<uint8_t*>(cursor.here()), in, bytes);
    cursor.advance(bytes);
    in += bytes;
    length -= bytes;
  }
}

}  // namespace verity::validate
