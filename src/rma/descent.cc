// SPDX-License-Identifier: BSD-3-Clause
#include "rma/descent.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "merkle/tree.h"

namespace verity::rma {

using health::Counters;
using health::FaultKind;

void ChunkMemory::write(uint64_t at, const uint8_t* bytes, size_t length) const noexcept {
  uint64_t skip = offset + at;
  for (const util::Piece& piece : pieces) {
    if (length == 0) return;
    if (skip >= piece.length) {
      skip -= piece.length;
      continue;
    }
    const size_t n = std::min<size_t>(piece.length - skip, length);
    std::memcpy(static_cast<uint8_t*>(const_cast<void*>(piece.data)) + skip, bytes, n);
    bytes += n;
    length -= n;
    skip = 0;
  }
}

// --- DamagedBytes ---

void DamagedBytes::keep(const ChunkMemory& memory, Run run) noexcept {
  const merkle::Geometry& g = memory.geometry;
  for (auto i = static_cast<uint32_t>(run.begin / g.segment_size());
       i < g.leaf_count() && g.leaf_offset(i) < run.end; ++i) {
    const size_t length = g.leaf_length(i);
    const bool kept = std::find(kept_at_.begin(), kept_at_.end(), i) != kept_at_.end();
    if (kept || kept_.size() + length > kKept) continue;
    try {
      kept_at_.reserve(kept_at_.size() + 1);
      scratch_.resize(std::min<size_t>(g.segment_size(), g.length()));
      kept_.resize(kept_.size() + length);
    } catch (const std::bad_alloc&) {
      return;  // a syndrome less
    }
    kept_at_.push_back(i);
    memory.copy(g.leaf_offset(i), kept_.data() + kept_.size() - length, length);
  }
}

void DamagedBytes::compare(const ChunkMemory& memory, uint32_t segment) noexcept {
  const merkle::Geometry& g = memory.geometry;
  const uint8_t* bad = kept_.data();
  for (const uint32_t i : kept_at_) {
    const size_t length = g.leaf_length(i);
    if (i == segment) {
      memory.copy(g.leaf_offset(i), scratch_.data(), length);
      syndrome_ = health::join(syndrome_, health::compare(bad, scratch_.data(), length,
                                                          memory.extent(g.leaf_offset(i))));
      return;
    }
    bad += length;
  }
}

void DamagedBytes::compare(const ChunkMemory& memory, uint64_t at, const uint8_t* right,
                           size_t length) noexcept {
  for (size_t done = 0; done < length && !scratch_.empty();) {
    const size_t n = std::min(scratch_.size(), length - done);
    memory.copy(at + done, scratch_.data(), n);
    syndrome_ = health::join(
        syndrome_, health::compare(scratch_.data(), right + done, n, memory.extent(at + done)));
    done += n;
  }
}

// --- Descent ---

Descent::Descent(const merkle::Geometry& geometry)
    : geometry_(geometry),
      theirs_(static_cast<size_t>(geometry.leaf_count())),
      mine_(theirs_.size()),
      bad_(merkle::bitmap_bytes(theirs_.size())) {}

bool Descent::take_digests(uint64_t first, const uint8_t* digests, size_t bytes) noexcept {
  const size_t n = bytes / sizeof(merkle::Digest);
  if (first != received_ || n == 0 || bytes % sizeof(merkle::Digest) != 0 ||
      n > theirs_.size() - received_)
    return false;
  std::memcpy(theirs_.data() + received_, digests, bytes);
  received_ += static_cast<uint32_t>(n);
  return true;
}

Descent::Found Descent::compare_all(const ChunkMemory& memory, merkle::Digest* root_p) noexcept {
  const merkle::Digest root = merkle::root_of(geometry_, theirs_);
  changed_ = changed_ || root != *root_p;
  *root_p = root;
  Found found;
  for (uint32_t i = 0; i < theirs_.size(); ++i) {
    const bool was_bad = bad().test(i);
    mine_[i] = memory.digest(i);
    if (mine_[i] == theirs_[i]) {
      found.repaired += was_bad;
      bad().reset(i);
    } else {
      found.damaged += !was_bad;
      bad().set(i);
    }
  }
  segments_ += found.damaged;
  at_ = 0;
  return found;
}

Run Descent::next_run() const noexcept {
  const merkle::ConstBitmap bits = bad();
  auto i = static_cast<uint32_t>(at_ / geometry_.segment_size());
  while (i < bits.size() && !bits.test(i)) ++i;
  if (i >= bits.size()) return {geometry_.length(), geometry_.length()};
  Run run{std::max(at_, geometry_.leaf_offset(i)), 0};
  while (i < bits.size() && bits.test(i)) ++i;
  run.end = i < bits.size() ? geometry_.leaf_offset(i) : geometry_.length();
  return run;
}

Run Descent::widen(Run run, uint64_t least) const noexcept {
  least = std::min(least, geometry_.length());
  const uint64_t segment = geometry_.segment_size();
  if (run.end - run.begin >= least) return run;
  run.end = std::min((run.begin + least + segment - 1) / segment * segment, geometry_.length());
  run.begin = std::min(run.begin, (run.end - least) / segment * segment);
  return run;
}

void Descent::rereading(Run run) noexcept {
  at_ = run.end;
  for (uint64_t at = run.begin; at < run.end; at += geometry_.segment_size())
    bad().set(at / geometry_.segment_size());
}

Descent::Found Descent::compare_reread(const ChunkMemory& memory) noexcept {
  Found found;
  bad().for_each([&](uint64_t i) {
    const merkle::Digest mine = memory.digest(static_cast<uint32_t>(i));
    const bool was_good = mine_[i] == theirs_[i];
    if (mine == theirs_[i]) {
      bad().reset(i);
      if (!was_good) bytes_.compare(memory, static_cast<uint32_t>(i));
      found.repaired += !was_good;
    } else {
      found.damaged += was_good;
      persistent_ = persistent_ || mine == mine_[i];
    }
  });
  segments_ += found.damaged;
  return found;
}

void Descent::requested(Run run) noexcept {
  at_ = run.begin;
  requested_ = static_cast<uint32_t>(run.end - run.begin);
}

bool Descent::take_bytes(const ChunkMemory& memory, std::span<const uint8_t> bytes, bool in_parts,
                         uint64_t* repaired_p) noexcept {
  const size_t length = bytes.size();
  if (requested_ == 0 || length > requested_ || (!in_parts && length != requested_)) return false;
  requested_ -= static_cast<uint32_t>(length);
  bytes_.compare(memory, at_, bytes.data(), length);
  memory.write(at_, bytes.data(), length);
  const uint64_t before = at_ / geometry_.segment_size();
  at_ += length;
  *repaired_p =
      (at_ == geometry_.length() ? theirs_.size() : at_ / geometry_.segment_size()) - before;
  return true;
}

// The peer's program wrote to the bytes if their digest changed. When the digest stayed the same,
// it may still have done so between the reading and the first digest, unless the digest was there
// before; then, or when wrong bytes came again, it was the way between.
Cause Descent::cause(bool digest_first) const noexcept {
  if (changed_)
    return {FaultKind::kSourceChanged, &Counters::reads_source_changed,
            "source changed while it was read"};
  if (persistent_)
    return {FaultKind::kPersistent, &Counters::reads_persistent,
            "persistent: the same wrong bytes came twice"};
  if (digest_first || rounds_ > 1)
    return {FaultKind::kPayload, &Counters::reads_damaged_on_wire, "damaged on the way"};
  return {FaultKind::kAmbiguous, &Counters::reads_ambiguous,
          "ambiguous: damaged on the way, or changed while it was read"};
}

}  // namespace verity::rma
