// SPDX-License-Identifier: BSD-3-Clause
// After a mismatch: the digests of the segments are requested, the damaged ones read again, or
// fetched in frames, and the cause is reported.
#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "rma/client.h"

namespace verity::rma {

using wire::RmaStatus;

void Client::damaged(Chunk& chunk) noexcept {
  counts(chunk).read_chunks_damaged++;
  if (config_.observe) {
    counts(chunk).faults_observed++;
    diagnose(chunk, health::FaultKind::kAmbiguous);
    return finish(chunk, RmaStatus::kOk);
  }
  try {
    chunk.descent = std::make_unique<Descent>(geometry(chunk));
  } catch (const std::bad_alloc&) { return finish(chunk, RmaStatus::kBusy); }
  to_do(chunk, Stage::kLeaves);
}

void Client::count(const Chunk& chunk, const Descent::Found& found) noexcept {
  counts(chunk).read_segments_damaged += found.damaged;
  counts(chunk).read_segments_repaired += found.repaired;
}

void Client::take_leaves(Chunk& chunk, const uint8_t* message, size_t length) noexcept {
  wire::RmaLeaves part;
  if (!wire::read_message(message, length, &part) ||
      !chunk.descent->take_digests(part.first, message + sizeof(part), length - sizeof(part)))
    return finish(chunk, RmaStatus::kRefused);
  if (chunk.descent->has_digests()) compare_leaves(chunk);
}

// With the digests of the peer's second reading of its memory.
void Client::compare_leaves(Chunk& chunk) noexcept {
  Descent& d = *chunk.descent;
  count(chunk, d.compare_all(memory(chunk), &chunk.theirs));
  if (!d.is_damaged()) return repaired(chunk);
  chunk.posted = false;
  to_do(chunk, d.begin_round() > kRereads ? Stage::kSnapshot : Stage::kReread);
}

bool Client::reread(Chunk& chunk) noexcept {
  Descent& d = *chunk.descent;
  for (Run run = d.next_run(); !run.empty(); run = d.next_run()) {
    d.keep(memory(chunk), run);
    run = d.widen(run, chunk.read->least);
    const Started started = port_.read(chunk, chunk.offset + run.begin, run.end - run.begin);
    chunk.lower_busy = started == Started::kBusy;
    if (chunk.lower_busy) return false;
    if (started == Started::kFailed) {
      finish(chunk, RmaStatus::kOk, true);
      return true;
    }
    chunk.flights += started == Started::kUnderWay;
    counts(chunk).read_bytes_again += run.end - run.begin;
    d.rereading(run);
  }
  chunk.posted = true;
  move(chunk, idle_);
  if (chunk.flights == 0) compare_rereads(chunk);
  return true;
}

void Client::compare_rereads(Chunk& chunk) noexcept {
  Descent& d = *chunk.descent;
  count(chunk, d.compare_reread(memory(chunk)));
  if (!d.is_damaged()) return repaired(chunk);
  to_do(chunk, Stage::kLeaves);
}

bool Client::request_bytes(Chunk& chunk) noexcept {
  Run run = chunk.descent->next_run();
  if (run.empty()) {
    repaired(chunk);
    return true;
  }
  const uint64_t most =
      std::min<uint64_t>(port_.max_message() - sizeof(wire::RmaHeader), kMaxGetBytes);
  run.end = std::min(run.end, run.begin + most);
  const Read& read = *chunk.read;
  const uint64_t address = read.address + chunk.offset + run.begin;
  const auto length = static_cast<uint32_t>(run.end - run.begin);
  if (!send_request(*read.peer, wire::RmaKind::kGet, chunk, 0,
                    {{}, read.token, address, length, 0}))
    return false;
  chunk.descent->requested(run);
  move(chunk, idle_);
  return true;
}

void Client::take_bytes(Chunk& chunk, const uint8_t* message, size_t length) noexcept {
  wire::RmaPart part{};
  std::memcpy(&part, message, std::min(length, sizeof(part)));
  const bool in_parts = part.header.segment == wire::kPart && length >= sizeof(part);
  const size_t before = in_parts ? sizeof(part) : sizeof(part.header);
  const uint8_t* bytes = message + before;
  length -= before;
  uint64_t segments = 0;
  if (!chunk.descent->take_bytes(memory(chunk), {bytes, length}, in_parts, &segments))
    return finish(chunk, RmaStatus::kRefused);
  counts(chunk).read_bytes_again += length;
  counts(chunk).read_segments_repaired += segments;
  if (!chunk.descent->awaits_bytes()) to_do(chunk, Stage::kSnapshot);
}

// The bytes are right.
void Client::repaired(Chunk& chunk) noexcept {
  const Descent& d = *chunk.descent;
  const Cause cause = d.cause(chunk.digest_first);
  counts(chunk).*cause.counter += 1;
  const bool first_change = d.source_changed() && !std::exchange(chunk.read->reported, true);
  port_.mismatched(*chunk.read, chunk.offset, chunk.length, cause.text, first_change);
  diagnose(chunk, cause.kind);
  counts(chunk).read_chunks_verified++;
  counts(chunk).read_bytes_verified += chunk.length;
  finish(chunk, RmaStatus::kOk);
}

void Client::diagnose(const Chunk& chunk, health::FaultKind kind) noexcept {
  ReadFault fault{kind, chunk.offset, chunk.length, 0, 0, nullptr};
  if (const Descent* d = chunk.descent.get(); d != nullptr) {
    fault.segments = d->segments();
    fault.attempts = d->rounds();
    if (kind != health::FaultKind::kSourceChanged) fault.syndrome = d->syndrome();
  }
  port_.diagnosed(*chunk.read, fault);
}

}  // namespace verity::rma
