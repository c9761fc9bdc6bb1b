// SPDX-License-Identifier: BSD-3-Clause
// After a mismatch: which segments, whose fault, and the right bytes.
#include <algorithm>
#include <new>
#include <utility>

#include "merkle/bitmap.h"
#include "merkle/tree.h"
#include "rma/client.h"

namespace verity::rma {

using wire::RmaStatus;

namespace {

merkle::Bitmap bad_of(Descent& d) noexcept { return {d.bad.data(), d.theirs.size()}; }

}  // namespace

void Client::damaged(Chunk& chunk) noexcept {
  counts(chunk).read_chunks_damaged++;
  if (config_.observe) {
    counts(chunk).faults_observed++;
    diagnose(chunk, health::FaultKind::kAmbiguous);
    return finish(chunk, RmaStatus::kOk);
  }
  try {
    const auto leaves = static_cast<size_t>(geometry(chunk).leaf_count());
    chunk.descent = std::make_unique<Descent>();
    chunk.descent->theirs.resize(leaves);
    chunk.descent->mine.resize(leaves);
    chunk.descent->bad.resize(merkle::bitmap_bytes(leaves));
  } catch (const std::bad_alloc&) { return finish(chunk, RmaStatus::kBusy); }
  to_do(chunk, Stage::kLeaves);
}

void Client::take_leaves(Chunk& chunk, const uint8_t* message, size_t length) noexcept {
  Descent& d = *chunk.descent;
  wire::RmaLeaves part;
  const size_t bytes = length - std::min(length, sizeof(part));
  const size_t n = bytes / sizeof(merkle::Digest);
  if (!wire::read_message(message, length, &part) || part.first != d.received || n == 0 ||
      bytes % sizeof(merkle::Digest) != 0 || n > d.theirs.size() - d.received) {
    return finish(chunk, RmaStatus::kRefused);
  }
  std::memcpy(d.theirs.data() + d.received, message + sizeof(part), bytes);
  d.received += static_cast<uint32_t>(n);
  if (d.received == d.theirs.size()) compare_leaves(chunk);
}

// With the digests of the peer's second reading of its memory.
void Client::compare_leaves(Chunk& chunk) noexcept {
  Descent& d = *chunk.descent;
  const merkle::Digest root = merkle::root_of(geometry(chunk), d.theirs);
  d.changed = d.changed || root != chunk.theirs;
  chunk.theirs = root;
  const merkle::Bitmap bad = bad_of(d);
  for (uint32_t i = 0; i < d.theirs.size(); ++i) {
    const bool was_bad = bad.test(i);
    d.mine[i] = leaf(chunk, i);
    if (d.mine[i] == d.theirs[i]) {
      counts(chunk).read_segments_repaired += was_bad;
      bad.reset(i);
    } else {
      counts(chunk).read_segments_damaged += !was_bad;
      d.segments += !was_bad;
      bad.set(i);
    }
  }
  d.at = 0;
  if (!bad.any()) return classify(chunk);
  chunk.posted = false;
  to_do(chunk, ++d.rounds > kRereads ? Stage::kSnapshot : Stage::kReread);
}

Client::Run Client::next_run(const Chunk& chunk) const noexcept {
  const Descent& d = *chunk.descent;
  const merkle::ConstBitmap bad(d.bad.data(), d.theirs.size());
  auto i = static_cast<uint32_t>(d.at >> config_.segment_log2);
  while (i < bad.size() && !bad.test(i)) ++i;
  if (i >= bad.size()) return {chunk.length, chunk.length};
  Run run{std::max(d.at, geometry(chunk).leaf_offset(i)), 0};
  while (i < bad.size() && bad.test(i)) ++i;
  run.end = i < bad.size() ? geometry(chunk).leaf_offset(i) : chunk.length;
  return run;
}

// By whole segments to what the lower transport reads at least.
Client::Run Client::widen(const Chunk& chunk, Run run) const noexcept {
  const uint64_t least = std::min<uint64_t>(chunk.read->least, chunk.length);
  const uint64_t segment = geometry(chunk).segment_size();
  if (run.end - run.begin >= least) return run;
  run.end = std::min<uint64_t>((run.begin + least + segment - 1) / segment * segment, chunk.length);
  run.begin = std::min(run.begin, (run.end - least) / segment * segment);
  return run;
}

bool Client::reread(Chunk& chunk) noexcept {
  Descent& d = *chunk.descent;
  for (Run run = next_run(chunk); run.begin != run.end; run = next_run(chunk)) {
    keep(chunk, run);
    run = widen(chunk, run);
    const Started started = port_.read(chunk, chunk.offset + run.begin, run.end - run.begin);
    chunk.lower_busy = started == Started::kBusy;
    if (chunk.lower_busy) return false;
    if (started == Started::kFailed) {
      finish(chunk, RmaStatus::kOk, true);
      return true;
    }
    chunk.flights += started == Started::kUnderWay;
    counts(chunk).read_bytes_again += run.end - run.begin;
    d.at = run.end;
    // Good bytes come again too, and may come damaged: all are checked.
    for (uint64_t at = run.begin; at < run.end; at += geometry(chunk).segment_size())
      bad_of(d).set(at >> config_.segment_log2);
  }
  chunk.posted = true;
  move(chunk, idle_);
  if (chunk.flights == 0) compare_rereads(chunk);
  return true;
}

// After a second reading, with the digests that the peer gave before it.
void Client::compare_rereads(Chunk& chunk) noexcept {
  Descent& d = *chunk.descent;
  const merkle::Bitmap bad = bad_of(d);
  bad.for_each([&](uint64_t i) {
    const merkle::Digest mine = leaf(chunk, static_cast<uint32_t>(i));
    const bool was_good = d.mine[i] == d.theirs[i];
    if (mine == d.theirs[i]) {
      bad.reset(i);
      add_syndrome(chunk, static_cast<uint32_t>(i));
      counts(chunk).read_segments_repaired += !was_good;
    } else {
      counts(chunk).read_segments_damaged += was_good;
      d.persistent = d.persistent || mine == d.mine[i];
    }
  });
  if (!bad.any()) return classify(chunk);
  to_do(chunk, Stage::kLeaves);
}

bool Client::request_bytes(Chunk& chunk) noexcept {
  Descent& d = *chunk.descent;
  const Run run = next_run(chunk);
  if (run.begin == run.end) {
    bad_of(d).clear();
    classify(chunk);
    return true;
  }
  const uint64_t most =
      std::min<uint64_t>(port_.max_message() - sizeof(wire::RmaHeader), kMaxGetBytes);
  const auto length = static_cast<uint32_t>(std::min(most, run.end - run.begin));
  const Read& read = *chunk.read;
  const uint64_t address = read.address + chunk.offset + run.begin;
  if (!send_request(*read.peer, wire::RmaKind::kGet, chunk, 0,
                    {{}, read.token, address, length, 0}))
    return false;
  d.at = run.begin;
  d.requested = length;
  move(chunk, idle_);
  return true;
}

void Client::take_bytes(Chunk& chunk, const uint8_t* bytes, size_t length) noexcept {
  Descent& d = *chunk.descent;
  if (length != d.requested) return finish(chunk, RmaStatus::kRefused);
  add_syndrome(chunk, bytes, length);
  const Read& read = *chunk.read;
  uint64_t skip = chunk.offset + d.at;
  for (uint32_t i = 0; i < read.count && length != 0; ++i) {
    const util::Piece& piece = read.pieces[i];
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
  const uint64_t before = d.at >> config_.segment_log2;
  d.at += d.requested;
  counts(chunk).read_bytes_again += d.requested;
  counts(chunk).read_segments_repaired +=
      (d.at == chunk.length ? d.theirs.size() : d.at >> config_.segment_log2) - before;
  to_do(chunk, Stage::kSnapshot);
}

// The bytes are right. Whose fault it was: the peer's program wrote to them if their digest
// changed. When the digest stayed the same, it may still have done so between the reading and the
// first digest, unless the digest was there before; then, or when wrong bytes came again, it was
// the way between.
void Client::classify(Chunk& chunk) noexcept {
  const Descent& d = *chunk.descent;
  const char* what = "ambiguous: damaged on the way, or changed while it was read";
  auto kind = health::FaultKind::kAmbiguous;
  if (d.changed) {
    counts(chunk).reads_source_changed++;
    kind = health::FaultKind::kSourceChanged;
    what = "source changed while it was read";
  } else if (d.persistent) {
    counts(chunk).reads_persistent++;
    kind = health::FaultKind::kPersistent;
    what = "persistent: the same wrong bytes came twice";
  } else if (chunk.digest_first || d.rounds > 1) {
    counts(chunk).reads_damaged_on_wire++;
    kind = health::FaultKind::kPayload;
    what = "damaged on the way";
  } else {
    counts(chunk).reads_ambiguous++;
  }
  const bool first_change = d.changed && !std::exchange(chunk.read->reported, true);
  port_.mismatched(*chunk.read, chunk.offset, chunk.length, what, first_change);
  diagnose(chunk, kind);
  counts(chunk).read_chunks_verified++;
  counts(chunk).read_bytes_verified += chunk.length;
  finish(chunk, RmaStatus::kOk);
}

}  // namespace verity::rma
