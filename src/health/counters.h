// SPDX-License-Identifier: BSD-3-Clause
//
// What a process counts. One list makes the structure, the sums, the JSON keys and the help texts;
// a counter added to it is in all of these; README.md says what is left to do by hand.
#ifndef VERITY_HEALTH_COUNTERS_H
#define VERITY_HEALTH_COUNTERS_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace verity::health {

// X(name, unit, help). Units: frames, bytes, segments, messages, links, events, nanoseconds.
// Retransmissions are counted separately from first transmissions, so that repair and its cost can
// be seen.
#define VERITY_COUNTERS(X)                                                                         \
  X(frames_sent, "frames", "payload frames handed to the lower transport for the first time")      \
  X(bytes_sent, "bytes", "payload bytes in them")                                                  \
  X(frames_verified, "frames", "payload frames that passed their check and were delivered")        \
  X(bytes_verified, "bytes", "payload bytes in them")                                              \
  X(frames_unverified, "frames", "payload frames delivered unchecked (a side in mode off)")        \
  X(bytes_unverified, "bytes", "payload bytes in them")                                            \
  X(segments_repaired, "segments", "damaged segments that arrived intact when retransmitted")      \
  X(segments_resent, "segments", "segments retransmitted because the peer found them damaged")     \
  X(segment_bytes_resent, "bytes", "payload bytes in them")                                        \
  X(faults_sent, "frames", "frames of which segments were retransmitted: damaged on their way")    \
  X(frames_resent, "frames", "whole frames retransmitted (lost, or header or length damaged)")     \
  X(frame_bytes_resent, "bytes", "payload bytes in them")                                          \
  X(faults_payload, "frames", "frames received with a damaged payload")                            \
  X(faults_header, "frames", "frames received with a damaged header")                              \
  X(faults_length, "frames", "frames received with a wrong length")                                \
  X(faults_observed, "frames", "faulty frames that mode observe delivered")                        \
  X(faults_repaired, "frames", "damaged frames whose data all arrived intact in the end")          \
  X(frames_dropped_unknown, "frames", "frames that name no known link, dropped")                   \
  X(frames_duplicate, "frames", "frames received twice, dropped")                                  \
  X(gaps, "events", "gaps in the sequence of a link's frames")                                     \
  X(frames_held, "frames", "frames queued out of order while an earlier one was repaired")         \
  X(held_dropped, "frames", "frames dropped because the out-of-order queue was full")              \
  X(acks_sent, "messages", "acknowledgements sent alone, not in a data frame")                     \
  X(nacks_sent, "messages", "requests to the peer for damaged or missing data")                    \
  X(nacks_received, "messages", "requests from peers for damaged or missing data")                 \
  X(probes_sent, "messages", "probes sent after a retransmission timeout")                         \
  X(late_copies, "frames", "zero-copy sends copied to a bounce buffer, not yet acknowledged")      \
  X(bounce_copies, "frames", "frames retransmitted from a bounce buffer after a repeated fault")   \
  X(source_changed, "frames", "frames whose source buffer changed before they were acknowledged")  \
  X(source_faults, "frames", "frames whose retransmit copy no longer matched (sender's memory)")   \
  X(read_chunks_verified, "messages", "chunks of remote reads whose digest matched the owner's")   \
  X(read_bytes_verified, "bytes", "bytes in them")                                                 \
  X(read_chunks_damaged, "messages", "chunks of remote reads whose digest did not match at first") \
  X(read_segments_damaged, "segments", "segments that differed in these chunks")                   \
  X(read_segments_repaired, "segments", "segments of these chunks that were intact when re-read")  \
  X(read_bytes_again, "bytes", "bytes re-read")                                                    \
  X(reads_damaged_on_wire, "messages", "of these chunks: damaged in transit")                      \
  X(reads_ambiguous, "messages", "of these chunks: damaged in transit or changed by their owner")  \
  X(reads_source_changed, "messages", "of these chunks: changed by their owner while being read")  \
  X(reads_persistent, "messages", "of these chunks: the same damaged bytes arrived twice")         \
  X(get_bytes_received, "bytes", "bytes of remote reads that arrived in frames")                   \
  X(puts_applied, "messages", "remote writes checked and applied to this process's memory")        \
  X(put_bytes_applied, "bytes", "bytes in them")                                                   \
  X(atomics_applied, "messages", "remote atomic operations on this process's memory")              \
  X(gets_served, "messages", "remote reads of this process's memory answered in frames")           \
  X(get_bytes_served, "bytes", "bytes in them")                                                    \
  X(digests_served, "messages", "digests of this process's memory sent to peers")                  \
  X(digest_bytes, "bytes", "bytes hashed for them")                                                \
  X(digest_bytes_shared, "bytes", "those of them that UCX_VERITY_THREADS hashed")                  \
  X(rma_refused, "messages", "accesses of peers to memory that is not theirs or not readable")     \
  X(types_checked, "messages", "messages whose MPI datatypes were compared")                       \
  X(types_mismatched, "messages", "messages and collective calls whose MPI datatypes do not fit")  \
  X(types_unchecked, "messages", "messages whose MPI datatypes could not be compared")             \
  X(timed_frames, "frames", "received frames whose check was timed, one in 1024")                  \
  X(timed_bytes, "bytes", "payload bytes in them")                                                 \
  X(timed_ns, "nanoseconds", "time that their checks took")                                        \
  X(links_opened, "links", "links opened")                                                         \
  X(links_failed, "links", "links that failed: their messages did not arrive")

// Plain numbers: one interface, and so one thread at a time, increments one of these. The
// datatypes' are the process's: several threads may count them, atomically.
struct Counters {
#define VERITY_FIELD(name, unit, help) std::uint64_t name = 0;
  VERITY_COUNTERS(VERITY_FIELD)
#undef VERITY_FIELD

  // What a fault-free frame costs: see the case count-10-frames of test/perf_counts.
  void count_sent(std::uint32_t length) noexcept {
    frames_sent++;
    bytes_sent += length;
  }
  void count_verified(std::uint32_t length) noexcept {
    frames_verified++;
    bytes_verified += length;
  }

  Counters& operator+=(const Counters& other) noexcept {
#define VERITY_ADD(name, unit, help) name += other.name;
    VERITY_COUNTERS(VERITY_ADD)
#undef VERITY_ADD
    return *this;
  }
};

// Describes one counter: for listings, documentation and exporters.
struct CounterInfo {
  std::string_view name;
  std::string_view unit;
  std::string_view help;
  std::uint64_t Counters::*field;
};

inline constexpr std::array kCounterInfo = {
#define VERITY_INFO(name, unit, help) CounterInfo{#name, unit, help, &Counters::name},
    VERITY_COUNTERS(VERITY_INFO)
#undef VERITY_INFO
};

}  // namespace verity::health

#endif
