// SPDX-License-Identifier: BSD-3-Clause
// What is reported of a damaged read: some of its bytes are kept before they are read again, and
// compared when they are right.
#include <algorithm>
#include <new>

#include "merkle/bitmap.h"
#include "rma/client.h"
#include "util/bytes.h"

namespace verity::rma {

namespace {

health::Extent extent_at(const Chunk& chunk, uint64_t offset) noexcept {
  return {chunk.offset + offset, chunk.read->length, chunk.read->address};
}

void copy_bytes(const Chunk& chunk, uint64_t offset, uint8_t* out, size_t length) noexcept {
  (void)util::copy_out(util::Pieces(chunk.read->pieces, chunk.read->count), chunk.offset + offset,
                       out, length);
}

}  // namespace

// Of the run that is about to be read again: the damaged segments as they came first.
void Client::keep(Chunk& chunk, Run run) noexcept {
  Descent& d = *chunk.descent;
  const merkle::Geometry g = geometry(chunk);
  for (auto i = static_cast<uint32_t>(run.begin >> config_.segment_log2);
       i < g.leaf_count() && g.leaf_offset(i) < run.end; ++i) {
    const auto length = static_cast<size_t>(g.leaf_length(i));
    const bool kept = std::find(d.kept_at.begin(), d.kept_at.end(), i) != d.kept_at.end();
    if (kept || d.kept.size() + length > Descent::kKept) continue;
    try {
      d.kept_at.reserve(d.kept_at.size() + 1);
      d.scratch.resize(std::min<size_t>(g.segment_size(), chunk.length));
      d.kept.resize(d.kept.size() + length);
    } catch (const std::bad_alloc&) {
      return;  // a syndrome less
    }
    d.kept_at.push_back(i);
    copy_bytes(chunk, g.leaf_offset(i), d.kept.data() + d.kept.size() - length, length);
  }
}

// That segment is right now.
void Client::add_syndrome(Chunk& chunk, uint32_t leaf) noexcept {
  Descent& d = *chunk.descent;
  const merkle::Geometry g = geometry(chunk);
  const uint8_t* bad = d.kept.data();
  for (const uint32_t i : d.kept_at) {
    const auto length = static_cast<size_t>(g.leaf_length(i));
    if (i == leaf) {
      copy_bytes(chunk, g.leaf_offset(i), d.scratch.data(), length);
      d.syndrome = health::join(d.syndrome, health::compare(bad, d.scratch.data(), length,
                                                            extent_at(chunk, g.leaf_offset(i))));
      return;
    }
    bad += length;
  }
}

// The right bytes came in a frame, for those from descent->at on.
void Client::add_syndrome(Chunk& chunk, const uint8_t* right, size_t length) noexcept {
  Descent& d = *chunk.descent;
  for (size_t done = 0; done < length && !d.scratch.empty();) {
    const size_t n = std::min(d.scratch.size(), length - done);
    copy_bytes(chunk, d.at + done, d.scratch.data(), n);
    d.syndrome = health::join(d.syndrome, health::compare(d.scratch.data(), right + done, n,
                                                          extent_at(chunk, d.at + done)));
    done += n;
  }
}

void Client::diagnose(const Chunk& chunk, health::FaultKind kind) noexcept {
  const Descent* d = chunk.descent.get();
  const bool known =
      d != nullptr && kind != health::FaultKind::kSourceChanged && d->syndrome.bytes != 0;
  port_.diagnosed(*chunk.read, {kind, chunk.offset, chunk.length, d != nullptr ? d->segments : 0,
                                d != nullptr ? d->rounds : 0, known ? &d->syndrome : nullptr});
}

}  // namespace verity::rma
