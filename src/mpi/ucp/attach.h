// SPDX-License-Identifier: BSD-3-Clause
//
// Between the MPI calls of a program and the UCP calls that the MPI library makes of them.
//
//   MPI_Isend -> arms the thread -> ucp_tag_send_nbx takes the arm -> the transport asks for the
//   trailer MPI_Irecv -> arms the thread -> ucp_tag_recv_nbx takes the arm -> ... -> resolved()
//   tells what the message carried
//
// The MPI side (calls, datatypes, reports) arms and is told; the UCP side
// (src/mpi/ucp/worker_calls.cc and what is below it) takes and tells. Neither knows the other's
// library.
#ifndef VERITY_MPI_UCP_ATTACH_H
#define VERITY_MPI_UCP_ATTACH_H

#include <cstddef>
#include <cstdint>

#include "mpi/matching/message.h"

namespace verity::mpi {

// The tags of a communicator's user-level messages, as MPI_Iprobe(ANY, ANY, comm) showed them: a
// message belongs to it when
// ((tag ^ value) & mask) == 0. A mask of 0 stands for "not known": then nothing is armed.
struct TagFilter {
  uint64_t value = 0;
  uint64_t mask = 0;
  [[nodiscard]] bool matches(uint64_t tag) const noexcept {
    return mask != 0 && ((tag ^ value) & mask) == 0;
  }
};

// A send that an MPI call is about to make. Its signature is a signature::Record, in words, and
// what follows it (owned by the caller, valid until the call returns, as the arm itself is); the
// UCP side writes uid and sequence.
struct SendArm {
  const TagFilter* filter = nullptr;
  uint64_t head[6] = {};
  const uint8_t* tail = nullptr;
  size_t length = 0;  // of both, in bytes; 0: the message carries none
  Caller caller;
};

struct ReceiveArm {
  const TagFilter* filter = nullptr;
  Receive* receive = nullptr;
};

// A collective operation that an MPI call is about to make: the messages that the call itself sends
// carry this. They are told from user-level messages of the communicator by one bit of the filter's
// mask, or a few beside each other (Open MPI: the sign of the tag; MPICH: the low four bits of the
// context id, which say what the library uses it for), or not at all (Open MPI's neighbourhood
// collectives): a thread that is in a collective operation sends no messages of the program's.
// Owned by the caller, valid until the call returns; for as many messages as the call sends.
struct CollectiveArm {
  TagFilter filter;
  uint8_t* signature = nullptr;
  size_t length = 0;
  bool taken = false;  // by a message
  bool begun = false;  // the call has sent or made progress: MPI did not refuse it
  [[nodiscard]] bool matches(uint64_t tag) const noexcept {
    const uint64_t differing = (tag ^ filter.value) & filter.mask;
    return length != 0 && filter.mask != 0 &&
           (differing == 0 || differing >> __builtin_ctzll(differing) < 16);
  }
};

// A signature for the next active message of UCP that the MPI library sends in the call: it says
// for itself what it belongs to, and may travel with a later one to the same process. Owned by the
// caller, valid until the call returns.
struct ActiveArm {
  const uint8_t* signature = nullptr;
  size_t length = 0;
};
// Active messages have no tag; in place of it, as no tagged message of an MPI library has it.
inline constexpr uint64_t kActiveTag = ~uint64_t{0};

// What the outermost MPI call of this thread arms. An arm is taken once; the caller looks
// afterwards whether it was (`send` or `receive.receive` reset to nullptr) and disposes of it
// otherwise (MPI_PROC_NULL, an error).
struct Armed {
  const SendArm* send = nullptr;
  ReceiveArm receive;
  CollectiveArm collective;
  ActiveArm active;
};

// The arm of this thread; the MPI side fills it. Initial-exec TLS: the companion is preloaded.
extern constinit thread_local Armed armed __attribute__((tls_model("initial-exec")));

// --- by the UCP side
// ---------------------------------------------------------------------------------------------------------

// From now on the wrapped UCP calls do something: to be called once, before MPI is initialised
// (UCX_VERITY_TYPECHECK other than off). `several_threads`: MPI_THREAD_MULTIPLE was asked for.
void enable_ucp_calls(bool several_threads = true) noexcept;

// Called for each signature of `least` bytes or more that arrives, before its message is matched.
// No MPI or UCP call from there.
void on_arrival(void (*arrived)(const uint8_t* signature, size_t length) noexcept,
                size_t least = 0) noexcept;

// Called when a call that arms a collective operation begins, in its thread. No MPI or UCP call
// from there.
void on_collective(void (*begins)() noexcept) noexcept;

// Called when the program wrote to the buffer of a send that is under way. In any thread; no MPI or
// UCP call from there.
struct ChangedSend;
void on_change(void (*changed)(const ChangedSend& send) noexcept) noexcept;

// For the communicator's filter: the tag and mask of the first ucp_tag_probe call that this thread
// makes between start_probe() and end_probe() (around PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG,
// comm)). A mask of 0 when none was made.
void start_probe() noexcept;
[[nodiscard]] TagFilter end_probe() noexcept;

// MPI_Mprobe and MPI_Improbe need nothing: MPI_Mrecv and MPI_Imrecv arm as other receives do (their
// filter is not looked at).

// How often a signature was attached, matched to its receive, not certain: for tests and the
// attestation.
struct Tally {
  uint64_t attached, arrived, resolved, uncertain;
};
[[nodiscard]] Tally tally() noexcept;

}  // namespace verity::mpi

#endif
