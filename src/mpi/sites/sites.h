// SPDX-License-Identifier: BSD-3-Clause
// Call sites: a return address as 8 bytes that another process of the same program understands, and back, into words.
//
//   63          48 47                                    0
//   +-------------+--------------------------------------+
//   |  module id  |  offset of the address in the module  |
//   +-------------+--------------------------------------+
//
// The module id is a hash of its build id, or of its file name where it has none. 0: not known.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "mpi/ucp/attach.h"

namespace verity::mpi {

struct Site {
  uint64_t id = 0;
  bool library = false;  // in the MPI library or one of its components
};

// A communicator and a datatype, by their handles, and what is known of them as long as no handle is freed (handle_table.h).
struct Remembered {
  uint64_t generation;  // 0: none
  uint64_t comm_handle, type_handle;
  void *comm, *type;
};
// What a send of so many copies is armed with.
struct RememberedSend {
  Remembered about;
  uint64_t copies;
  SendArm arm;
};

// What a thread remembers of return addresses. All zeros: nothing.
struct KnownSite {
  const void* plain;    // the address, where the program's own code is
  const void* address;  // always
  Site site;
  int frame;  // of a call out of a binding: bytes from the end of the called function's frame to the end of the caller's; else 0
  // For the caller's use: what the call from there was about, the last time.
  Remembered received;
  RememberedSend sent;
};
inline constexpr size_t kKnownSites = 64;
// Of this thread: none_known until it asks for a site. (Not in the thread's own memory, which is part of its stack.)
extern constinit thread_local KnownSite* known_sites __attribute__((tls_model("initial-exec"), visibility("hidden")));
extern KnownSite none_known[kKnownSites] __attribute__((visibility("hidden")));
[[nodiscard]] inline KnownSite& known_site(const void* address) noexcept {
  const auto at = reinterpret_cast<uintptr_t>(address);
  return known_sites[(at ^ at >> 7) % kKnownSites];
}

// Of the call that returns to `address`, made by the frame whose end (canonical frame address of the called function) is `frame_end`.
// Remembered by the thread, but not in place of `in_use`, the site of a call under way (0: there is none). A call out of another
// language's binding stands for the call into that.
[[nodiscard]] Site site_of(const void* address, const void* frame_end, uint64_t in_use = 0) noexcept;

// "exchange (solver.c:214)" where there is debug information, else what is known: a function's name, a module and an offset. Reads
// files and allocates: only for reports.
[[nodiscard]] std::string site_in_words(uint64_t id);

}  // namespace verity::mpi
