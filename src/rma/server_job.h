// SPDX-License-Identifier: BSD-3-Clause
// For the server's own files: what waits at the owner.
#ifndef VERITY_RMA_SERVER_JOB_H
#define VERITY_RMA_SERVER_JOB_H

#include <memory>
#include <vector>

#include "rma/hasher.h"
#include "rma/server.h"

namespace verity::rma {

using wire::RmaKind;
using wire::RmaStatus;

struct Server::Job : util::ListNode {
  Peer* peer = nullptr;
  wire::RmaRequest request{};
  RmaStatus status = RmaStatus::kOk;
  bool ready = false;               // hashed: the answer can go
  uint32_t hashed = 0;              // leaves
  uint32_t answered = 0;            // leaves, or bytes of a get
  uint64_t old = 0;                 // of an atomic operation
  std::unique_ptr<uint8_t[]> copy;  // of a get: what was there when it came
  std::vector<merkle::Digest> leaves;
  std::unique_ptr<HashSlice[]> slices;  // while other threads hash
  uint32_t slice_count = 0;
  uint32_t polls = 0;  // that found them unfinished

  [[nodiscard]] bool is_hash() const noexcept {
    return request.header.kind == static_cast<uint8_t>(RmaKind::kHash);
  }
  // Whether it is answered in turn: a get, or an atomic operation that fetches.
  [[nodiscard]] bool in_turn() const noexcept { return status == RmaStatus::kOk && !is_hash(); }
  [[nodiscard]] merkle::Geometry geometry() const noexcept {
    return {request.length, 1u << (request.header.segment + wire::kMinSegmentLog2)};
  }
};

}  // namespace verity::rma

#endif
