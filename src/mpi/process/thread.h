// SPDX-License-Identifier: BSD-3-Clause
// What one thread has: the call of the program that it is in, its cache of call sites, and the
// memory that it reuses. Each message needs all of it, so it is in one object of the thread. (The
// attachments that are pending are the UCP side's: ucp/attach.h. The cache of handles is in
// handles/handle_table.h.)
#ifndef VERITY_MPI_PROCESS_THREAD_H
#define VERITY_MPI_PROCESS_THREAD_H

#include <cstddef>
#include <cstdint>

#include "mpi/ucp/attach.h"

namespace verity::mpi {

struct Site {
  uint64_t id = 0;       // sites/sites.h
  bool library = false;  // in the MPI library or one of its components
};

// A communicator and a datatype, by their handles, and what is known of them as long as no handle
// is freed (handles/handle_table.h).
struct CachedHandles {
  uint64_t generation;  // 0: none
  uint64_t comm_handle, type_handle;
  void *comm, *type;
};
// The attachment of a send of so many copies.
struct CachedSend {
  CachedHandles about;
  uint64_t copies;
  SendAttachment attachment;
};

// A thread's cache of return addresses. All zeros: an empty entry.
struct KnownSite {
  const void* plain;    // the address, where the program's own code is
  const void* address;  // always
  Site site;
  int frame;  // of a call out of a binding: bytes from the end of the called function's frame to
              // the end of the caller's; else 0
  // What the call from there was about, the last time.
  CachedHandles received;
  CachedSend sent;
};
inline constexpr size_t kKnownSites = 64;
extern KnownSite none_known[kKnownSites] __attribute__((visibility("hidden")));

// A send's attachment that no known site keeps.
struct OtherSend {
  LateAttachment attachment;
  uint8_t bytes[kMaxSignature];  // its signature, where there is a digest, or the type is ending
  // What is digested, where that is to come.
  void* type;
  const void* address;
  uint64_t copies;
  uint8_t family;
};

class PostedReceive;
// Receives that are not in use (check/posted_receive.h).
struct FreeReceives {
  PostedReceive* first = nullptr;
  unsigned room = 0;  // for so many more
  bool watched = false;
};

struct Thread {
  // Of the program's outermost call that is under way.
  int depth = 0;                  // calls entered
  const void* outer = nullptr;    // end of the outermost one's frame
  const void* returns = nullptr;  // where that one returns to
  uint64_t site = 0;
  const char* name = "";

  KnownSite* known_sites = none_known;  // its own once it looks up a site; not in here, as this is
                                        // part of the thread's stack
  FreeReceives free_receives;
  OtherSend other_send = {};
};
extern thread_local constinit Thread thread
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

}  // namespace verity::mpi

#endif
