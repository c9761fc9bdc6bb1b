// SPDX-License-Identifier: BSD-3-Clause
//
// Which send does a leaving active message belong to? The transport sees a tag and, in some calls, a pointer:
//   (a) inside of the ucp_tag_send call: the send of this call, when the tag is its;
//   (b) later (not connected, no room): the pack callback's argument, or the completion, lies in the send's request, or is the
//       address of a struct on the stack whose first word is that request (the v2 protocols' multi-fragment sends);
//   (c) later and without a pointer (am_short): the sends that wait with this tag, if all carry the same signature.
// When in doubt: no signature. Sends to an endpoint with one tag leave in the order of their calls.
//
// One process's sends. Pure; not thread-safe: the caller's lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>

#include "mpi/arm.h"
#include "mpi/stamp.h"

namespace verity::mpi {

class Departures {
 public:
  // `uid`: of this process, random.
  explicit Departures(uint32_t uid);

  // Bytes of a UCP request in front of the address that the user sees; 0: not known, then (b) finds nothing.
  void set_request_size(size_t bytes) noexcept { request_size_ = bytes; }

  // A send call begins: its message, if it leaves before end(), is (a). The signature is stamped and kept until end().
  void begin(const void* endpoint, uint64_t tag, const uint8_t* signature, size_t length) noexcept;
  // A send of which nothing is to be told: it is numbered all the same.
  void pass(const void* endpoint, uint64_t tag) noexcept { (void)number(endpoint, tag); }
  // It returned. `request` is what the user got, or nullptr when the send is complete.
  void end(void* request) noexcept;
  // The request is complete or gone: it will not leave any more.
  void forget(const void* request) noexcept;

  // An active message that begins a message with this tag is about to leave. Copies its signature to `out` and returns its length; 0:
  // none, or not certain.
  [[nodiscard]] size_t departs(uint64_t tag, const void* origin, uint8_t* out, size_t room) noexcept;
  // What departs() told last could not leave after all.
  void stayed() noexcept;

  // Sends that have returned and whose message has not left.
  [[nodiscard]] size_t deferred() const noexcept { return deferred_.size(); }

 private:
  struct Send {
    const void* endpoint = nullptr;
    uint64_t tag = 0;
    size_t length = 0;  // 0: no signature
    bool left = false;
    uint8_t bytes[kMaxSignature];
  };
  // The numbering of a tag to an endpoint. Direct-mapped: what is pushed out begins anew, with another epoch.
  struct Numbering {
    const void* endpoint;
    uint64_t tag;
    uint32_t epoch, next;
  };
  static constexpr size_t kNumberings = 4096;
  using Deferred = std::map<uintptr_t, Send>;

  [[nodiscard]] Stamp number(const void* endpoint, uint64_t tag) noexcept;
  [[nodiscard]] Deferred::iterator find(uint64_t tag, uintptr_t address) noexcept;
  [[nodiscard]] Deferred::iterator find_by_tag(uint64_t tag) noexcept;
  [[nodiscard]] static bool alike(const Send& a, const Send& b) noexcept;
  [[nodiscard]] const Send* choose(uint64_t tag, const void* origin) noexcept;

  uint64_t uid_;
  size_t request_size_ = 0;
  std::unique_ptr<Numbering[]> numberings_;
  uint32_t epoch_ = 0;
  bool in_call_ = false;
  Send call_;
  Deferred deferred_;
  Deferred::iterator chosen_;  // by choose(); end(): the call's
  Send last_;                  // of the last departs(), and its request, 0: the call's
  uintptr_t last_request_ = 0;
};

}  // namespace verity::mpi
