// SPDX-License-Identifier: BSD-3-Clause
//
// What a run of the association test is asked for, and one receive of it.
#ifndef VERITY_TEST_UCX_ASSOCIATION_H
#define VERITY_TEST_UCX_ASSOCIATION_H

#include <ucp/api/ucp.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <vector>

#include "mpi/ucp/attach.h"

namespace verity::test {

inline constexpr uint64_t kInternal = uint64_t{1} << 63;
inline constexpr uint64_t kExact = ~uint64_t{0};
inline constexpr size_t kMostProcesses = 8;
inline constexpr size_t kLongest = 96 * 1024;
inline constexpr size_t kOutstanding = 24;
inline constexpr size_t kSignature = 48;

// Of 100 each: receives by probes, rounds that cancel, receives that are cancelled then, requests
// that are started again, sends whose request is freed, sends with a request of their own.
struct Mix {
  const char* name;
  unsigned probes, cancelling, cancelled, restarted, freed, own;
  bool exact;  // receives by exact tag too
};
inline constexpr Mix kMixes[] = {
    {"all", 12, 5, 0, 0, 0, 0, true},      {"wildcards", 0, 5, 0, 0, 0, 0, false},
    {"cancels", 6, 50, 40, 0, 0, 0, true}, {"probes", 80, 5, 0, 0, 0, 0, true},
    {"restarts", 2, 5, 0, 90, 0, 0, true}, {"freed", 12, 5, 0, 0, 1, 0, true},
    {"own", 12, 5, 0, 0, 0, 60, true}};

inline const Mix* mix_named(const char* name) {
  const auto* it = std::find_if(std::begin(kMixes), std::end(kMixes),
                                [&](const Mix& mix) { return std::strcmp(mix.name, name) == 0; });
  return it != std::end(kMixes) ? it : nullptr;
}

struct Options {
  const Mix* mix = &kMixes[0];
  const char* raw = nullptr;  // UCX_TLS of every second process
  unsigned processes = 3, threads = 1;
  uint64_t messages = 20000;
  uint64_t seed = 1;
};

struct Totals {
  std::atomic<uint64_t> messages, reported, unreported, wrong;
};

struct Sending {
  std::vector<uint8_t> buffer;
  unsigned peer;
  uint64_t tag;
  void* request = nullptr;
  bool own = false;  // the request
};

// Between the processes.
struct Shared {
  std::atomic<unsigned> arrived[8];
  uint8_t address[kMostProcesses][1024];
  std::atomic<uint64_t> sent[kMostProcesses];  // to that process, by all
  std::atomic<unsigned> done_sending;
  Totals totals;
};

[[noreturn]] inline void die(const char* what, ucs_status_t status) {
  std::fprintf(stderr, "association: %s: %s\n", what, ucs_status_string(status));
  std::exit(2);
}
inline void check(ucs_status_t status, const char* what) {
  if (status != UCS_OK) die(what, status);
}

// One receive: what its buffer said and what was reported.
struct Receiving final : verity::mpi::Receive {
  std::vector<uint8_t> buffer;
  void* request = nullptr;
  ucs_status_t status = UCS_INPROGRESS;
  std::atomic<bool> reported{false};
  uint64_t signed_number = 0;
  uint64_t number = 0;  // from the buffer
  uint64_t tag = 0, mask = 0;
  bool probed = false;
  void begin() {  // once more
    status = UCS_INPROGRESS;
    reported = false;
    signed_number = number = 0;
  }
  void resolved(const uint8_t* signature, size_t length, size_t) noexcept override {
    if (length != 0) std::memcpy(&signed_number, signature, sizeof(signed_number));
    reported.store(true);
  }
  void dropped() noexcept override { reported.store(true); }
};

// The number of a message: who sent it, which it is, whether it is signed.
inline uint64_t number_of(unsigned process, unsigned thread, uint64_t index, bool is_signed) {
  return uint64_t{is_signed} << 60 | uint64_t{process} << 52 | uint64_t{thread} << 44 | (index + 1);
}

}  // namespace verity::test

#endif
