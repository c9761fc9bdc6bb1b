// SPDX-License-Identifier: BSD-3-Clause
// What is known of a chunk after a mismatch. Sends and reads nothing itself: Client does that
// (repair.cc).
#ifndef VERITY_RMA_DESCENT_H
#define VERITY_RMA_DESCENT_H

#include <cstdint>
#include <span>
#include <vector>

#include "health/counters.h"
#include "health/faults/fault_kind.h"
#include "health/faults/syndrome.h"
#include "merkle/bitmap.h"
#include "merkle/geometry.h"
#include "merkle/hash.h"
#include "util/bytes.h"

namespace verity::rma {

// The memory into which a chunk was read. Positions count from the chunk's first byte.
struct ChunkMemory {
  util::Pieces pieces;  // of the whole read
  uint64_t offset;      // of the chunk in it
  uint64_t read_length;
  uint64_t address;  // the peer's, of the whole read
  merkle::Geometry geometry;

  [[nodiscard]] merkle::Digest digest(uint32_t segment) const noexcept {
    return merkle::hash_range(pieces, offset + geometry.leaf_offset(segment),
                              geometry.leaf_length(segment));
  }
  void copy(uint64_t at, uint8_t* out, size_t length) const noexcept {
    (void)util::copy_out(pieces, offset + at, out, length);
  }
  void write(uint64_t at, const uint8_t* bytes, size_t length) const noexcept;
  [[nodiscard]] health::Extent extent(uint64_t at) const noexcept {
    return {offset + at, read_length, address};
  }
};

struct Run {  // of bytes in the chunk
  uint64_t begin;
  uint64_t end;

  [[nodiscard]] bool empty() const noexcept { return begin == end; }
};

// What is reported of the damage: some bytes are kept before they are read again, and compared when
// they are right.
class DamagedBytes {
 public:
  static constexpr size_t kKept = 64 * 1024;  // at most

  // Of the run that is about to be read again: its segments as they came first.
  void keep(const ChunkMemory& memory, Run run) noexcept;
  // That segment is right now.
  void compare(const ChunkMemory& memory, uint32_t segment) noexcept;
  // The right bytes came in a frame, and are not in the memory yet.
  void compare(const ChunkMemory& memory, uint64_t at, const uint8_t* right,
               size_t length) noexcept;
  // Of those that came right since; nullptr: none that were kept.
  [[nodiscard]] const health::Syndrome* syndrome() const noexcept {
    return syndrome_.bytes != 0 ? &syndrome_ : nullptr;
  }

 private:
  std::vector<uint8_t> kept_;      // the first of the damaged segments, as they came first
  std::vector<uint32_t> kept_at_;  // which these are; the last one may be shorter than the others
  std::vector<uint8_t> scratch_;   // one segment
  health::Syndrome syndrome_;
};

// Whose fault it was.
struct Cause {
  health::FaultKind kind;
  uint64_t health::Counters::*counter;
  const char* text;
};

class Descent {
 public:
  // Segments that a comparison found damaged, and right again.
  struct Found {
    uint32_t damaged = 0;
    uint32_t repaired = 0;
  };

  // Throws std::bad_alloc.
  explicit Descent(const merkle::Geometry& geometry);

  // --- the peer's digests of all segments ---
  void expect_digests() noexcept { received_ = 0; }
  // The next ones. False: they do not follow what came so far.
  [[nodiscard]] bool take_digests(uint64_t first, const uint8_t* digests, size_t bytes) noexcept;
  [[nodiscard]] bool has_digests() const noexcept { return received_ == theirs_.size(); }
  // Compares all segments. `root_p`: the peer's digest of the chunk, before and now.
  [[nodiscard]] Found compare_all(const ChunkMemory& memory, merkle::Digest* root_p) noexcept;
  // A round of reading begins. How many there were, with it.
  uint32_t begin_round() noexcept { return ++rounds_; }

  // --- reading again ---
  // The next bytes that are damaged; empty: there are no more.
  [[nodiscard]] Run next_run() const noexcept;
  // By whole segments to what the lower transport reads at least.
  [[nodiscard]] Run widen(Run run, uint64_t least) const noexcept;
  void keep(const ChunkMemory& memory, Run run) noexcept { bytes_.keep(memory, run); }
  // It is being read. Good bytes come again too, and may come damaged: all are compared.
  void rereading(Run run) noexcept;
  // Compares what was read again, with the digests that the peer gave before it.
  [[nodiscard]] Found compare_reread(const ChunkMemory& memory) noexcept;

  // --- bytes in frames ---
  void requested(Run run) noexcept;
  // False: they are not as many as requested; in parts: more. `repaired_p`: segments that are right
  // now.
  [[nodiscard]] bool take_bytes(const ChunkMemory& memory, std::span<const uint8_t> bytes,
                                bool in_parts, uint64_t* repaired_p) noexcept;
  [[nodiscard]] bool awaits_bytes() const noexcept { return requested_ != 0; }

  // --- the end ---
  [[nodiscard]] bool is_damaged() const noexcept { return bad().any(); }
  // Of bytes that are right now. `digest_first`: the peer's digest was there before the reading.
  [[nodiscard]] Cause cause(bool digest_first) const noexcept;
  [[nodiscard]] bool source_changed() const noexcept { return changed_; }
  [[nodiscard]] uint32_t segments() const noexcept { return segments_; }
  [[nodiscard]] uint32_t rounds() const noexcept { return rounds_; }
  [[nodiscard]] const health::Syndrome* syndrome() const noexcept { return bytes_.syndrome(); }

 private:
  [[nodiscard]] merkle::Bitmap bad() noexcept { return {bad_.data(), theirs_.size()}; }
  [[nodiscard]] merkle::ConstBitmap bad() const noexcept { return {bad_.data(), theirs_.size()}; }

  const merkle::Geometry geometry_;
  std::vector<merkle::Digest> theirs_;
  std::vector<merkle::Digest> mine_;  // what the segments were when all were compared last
  std::vector<uint8_t> bad_;  // bitmap: to be read again, or read again and not compared yet
  uint32_t received_ = 0;     // digests of the answer that came so far
  uint64_t at_ = 0;           // where in the chunk to go on reading
  uint32_t requested_ = 0;    // bytes that are to come in frames
  uint32_t rounds_ = 0;
  uint32_t segments_ = 0;    // that were damaged
  bool changed_ = false;     // the peer's digests differ from those before
  bool persistent_ = false;  // the same wrong bytes came twice
  DamagedBytes bytes_;
};

}  // namespace verity::rma

#endif
