// SPDX-License-Identifier: BSD-3-Clause
// What is fuzzed. Each target takes any bytes; it aborts when a rule is broken. libFuzzer runs them
// (./configure CXX=clang++
// --enable-fuzzers --enable-sanitizers), and so does verity_fuzz for a few seconds in every `make
// check`.
#ifndef VERITY_TEST_FUZZ_TARGETS_H
#define VERITY_TEST_FUZZ_TARGETS_H

#include <cstddef>
#include <cstdint>

namespace verity::fuzz {

// Received bytes: parsing and checking.
void wire_target(const uint8_t* data, size_t size);
// The same for compact frames.
void compact_target(const uint8_t* data, size_t size);
// A script of hostile frames, sealed so that they pass every digest, among sends, polls, timers,
// removals of one Hub.
void hub_target(const uint8_t* data, size_t size);
// A script of hostile requests and answers of remote memory access, among honest ones, reads,
// aborts, revocations.
void rma_target(const uint8_t* data, size_t size);
// A site's policy file of any bytes.
void policy_target(const uint8_t* data, size_t size);
// Lines of files that a report reads.
void report_target(const uint8_t* data, size_t size);
// Bitmaps, geometries and trees of any size.
void shapes_target(const uint8_t* data, size_t size);
// A datatype's description and a record with another, of any bytes: reading, asking, comparing.
void signature_target(const uint8_t* data, size_t size);
// A message with a trailer in front or behind, of any bytes: it is taken apart, and made again.
void trailer_target(const uint8_t* data, size_t size);
// A health file of any bytes.
void health_target(const uint8_t* data, size_t size);
// What people and programs write for the tools: topologies, ledgers, datatypes, directives.
void text_target(const uint8_t* data, size_t size);
// The file of a job's processes, of any bytes, and the report of it.
void job_target(const uint8_t* data, size_t size);

// Messages of a linked structure, changed and sealed again: what is received is walked.
void autolink_target(const uint8_t* data, size_t size);
// Messages of a validation, of any contents, to both of its sides.
void validate_target(const uint8_t* data, size_t size);

// Takes numbers off the input; zeros when it is at its end.
class Input {
 public:
  Input(const uint8_t* data, size_t size) noexcept : data_(data), left_(size) {}
  [[nodiscard]] bool empty() const noexcept { return left_ == 0; }
  [[nodiscard]] size_t left() const noexcept { return left_; }
  uint8_t u8() noexcept { return left_ == 0 ? uint8_t{0} : (--left_, *data_++); }
  uint16_t u16() noexcept { return static_cast<uint16_t>(u8() | u8() << 8); }
  uint32_t u32() noexcept { return u16() | uint32_t{u16()} << 16; }
  uint64_t u64() noexcept { return u32() | uint64_t{u32()} << 32; }

 private:
  const uint8_t* data_;
  size_t left_;
};

// Ends the process with a message that names the broken rule.
void require(bool rule, const char* text) noexcept;

}  // namespace verity::fuzz

#endif
