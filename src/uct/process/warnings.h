// SPDX-License-Identifier: BSD-3-Clause
//
// What the process warns of, once or a few times: memory that its program changed under a transfer,
// and settings that leave something unchecked. Any thread. Nothing is logged with the lock held: a
// log handler of the program may lead here again.
#ifndef VERITY_UCT_PROCESS_WARNINGS_H
#define VERITY_UCT_PROCESS_WARNINGS_H

#include <array>
#include <mutex>

#include "uct/compat/ucx.h"

namespace verity::uct {

class Warnings {
 public:
  // Bytes that were read from a peer's memory were not what is there, and are right now.
  void read_mismatched(const char* transport, uint64_t peer, uint64_t address, uint64_t length,
                       const char* what, bool by_program) noexcept;
  // Bytes of this process changed while they were sent, or read by the peer: reported by the
  // interposer, if they belong to one of the first `watched` sends that it knew; or here.
  static constexpr uint64_t kAnySend = UINT64_MAX;
  static constexpr uint64_t kNoSend = 0;
  void source_changed(const char* transport, uint64_t peer, const void* data, size_t length,
                      uint64_t watched = kAnySend) noexcept;
  // A one-sided operation between processes of unlike modes; for the caller to return.
  ucs_status_t modes_differ(const char* transport) noexcept;
  // A peer's interposer understands other trailers than ours: datatypes are not checked with it.
  void trailers_differ(unsigned theirs) noexcept;
  // A peer that this side exchanges no messages with, and why: once for the same words, and no more
  // than kMaxRefusals of them.
  void peer_refused(const char* why) noexcept;
  // Reads through that transport have no verified one to the same peer beside them.
  void cannot_verify(const char* transport) noexcept;

 private:
  [[nodiscard]] bool is_first(bool& reported) noexcept;
  [[nodiscard]] bool is_new_refusal(const char* why) noexcept;
  [[nodiscard]] unsigned next_of_changed() noexcept;

  std::mutex mutex_;
  bool reported_modes_ = false;
  bool reported_trailers_ = false;
  bool reported_unverified_ = false;
  static constexpr size_t kMaxRefusals = 8;
  std::array<uint64_t, kMaxRefusals> refusals_{};  // hashes of their words
  size_t refusal_count_ = 0;
  unsigned warned_ = 0;  // of memory that its program changed
};

// Never destroyed: interfaces may close after static destructors ran.
[[nodiscard]] Warnings& warnings() noexcept;

}  // namespace verity::uct

#endif
