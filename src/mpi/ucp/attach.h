// SPDX-License-Identifier: BSD-3-Clause
//
// Between the MPI calls of a program and the UCP calls that the MPI library makes of them.
//
//   MPI_Isend attaches -> ucp_tag_send_nbx consumes the attachment -> the transport requests the
//   trailer MPI_Irecv attaches -> ucp_tag_recv_nbx consumes the attachment -> ... ->
//   Receive::resolved()
//
// The MPI side (calls, datatypes, reports) attaches, and is called back; the UCP side
// (ucp/worker_calls.cc and what is below it) consumes, and calls back. Neither knows the other's
// library.
#ifndef VERITY_MPI_UCP_ATTACH_H
#define VERITY_MPI_UCP_ATTACH_H

#include <cstddef>
#include <cstdint>

#include "mpi/matching/message.h"

namespace verity::mpi {

// The tags of a communicator's user-level messages, as MPI_Iprobe(ANY, ANY, comm) showed them: a
// message belongs to it when
// ((tag ^ value) & mask) == 0. A mask of 0 stands for "not known": then nothing is attached.
struct TagFilter {
  uint64_t value = 0;
  uint64_t mask = 0;
  [[nodiscard]] bool matches(uint64_t tag) const noexcept {
    return mask != 0 && ((tag ^ value) & mask) == 0;
  }
};

// A send that an MPI call is about to make. Its signature is a signature::Record, in words, and
// what follows it (owned by the caller, valid until the call returns, as the attachment itself is);
// the UCP side writes uid and sequence.
struct SendAttachment {
  const TagFilter* filter = nullptr;
  uint64_t head[6] = {};
  const uint8_t* tail = nullptr;
  size_t length = 0;  // of both, in bytes; 0: the message carries none
  Caller caller;
};

// The same where the signature is completed when the message is about to be sent, so that MPI has
// not refused the call. `filter`, which is read first, then matches nothing.
struct LateAttachment : SendAttachment {
  const TagFilter* tags = nullptr;  // nullptr: it is complete
  // No MPI or UCP call from there.
  void (*begins)(LateAttachment& self) noexcept = nullptr;
};

struct ReceiveAttachment {
  const TagFilter* filter = nullptr;
  Receive* receive = nullptr;
};

// A collective operation that an MPI call is about to make: the messages that the call itself sends
// carry this. They differ from user-level messages of the communicator by the bits that say what
// the library uses a message for (Open MPI: the sign of the tag; MPICH: the low four bits of the
// context id), or not at all (Open MPI's neighbourhood collectives): a thread that is in a
// collective operation sends no messages of the program's. But the library may send another
// communicator's from there, with tags as of user-level messages: those of Open MPI's
// MPI_Comm_create_group, which another thread is in. Owned by the caller, valid until the call
// returns; for as many messages as the call sends.
struct CollectiveAttachment {
  TagFilter filter;  // without these bits
  uint8_t* signature = nullptr;
  size_t length = 0;
  bool consumed = false;  // by a message
  bool begun = false;     // the call has sent or made progress: MPI did not refuse it
  [[nodiscard]] bool has_begun() const noexcept { return consumed || begun; }
  [[nodiscard]] bool matches(uint64_t tag) const noexcept {
    return length != 0 && filter.matches(tag);
  }
};

// A signature for the next active message of UCP that the MPI library sends in the call. Owned by
// the caller, valid until the call returns. No other active message may have that one's bytes but
// those of calls that attach too: with a length of 0 where they have no signature.
struct ActiveAttachment {
  const uint8_t* signature = nullptr;
  size_t length = 0;
  bool pending = false;
  void* owner = nullptr;  // the caller's own
  // The message is about to be sent: MPI did not refuse the call. It may complete the signature,
  // and returns its length. No MPI or UCP call from there.
  size_t (*begins)(void* owner) noexcept = nullptr;
};

// What the outermost MPI call of this thread attaches. An attachment is consumed once, which resets
// `send` or `receive.receive` to nullptr; else (MPI_PROC_NULL, an error) the caller disposes of it
// afterwards.
struct Attachments {
  const SendAttachment* send = nullptr;
  LateAttachment* late = nullptr;  // what `send` points to, where it is one
  ReceiveAttachment receive;
  CollectiveAttachment collective;
  ActiveAttachment active;
  // Those of the call around this one, which a tool may be handing on; nullptr: there is none.
  Attachments* around = nullptr;
};

// The pending attachments of this thread. Initial-exec TLS: the interposer is preloaded.
extern constinit thread_local Attachments attachments __attribute__((tls_model("initial-exec")));

// --- by the UCP side
// ---------------------------------------------------------------------------------------------------------

// From now on the wrapped UCP calls do something: to be called once, before MPI is initialised
// (UCX_VERITY_TYPECHECK other than off). `several_threads`: MPI_THREAD_MULTIPLE was requested,
// or may be in use. Again: only to say so of more threads than before.
void enable_ucp_calls(bool several_threads = true) noexcept;

// Who else uses UCP in this process has workers of its own, which nothing is kept of: workers that
// the MPI library makes are known by their caller, or because `in_mpi_call` says that this thread
// is in an MPI call. Before enable_ucp_calls(); else all workers are MPI's.
void know_mpi_calls(bool (*in_mpi_call)() noexcept) noexcept;

// Called for each signature of `least` bytes or more that arrives, before its message is matched.
// No MPI or UCP call from there.
void on_arrival(void (*arrived)(const uint8_t* signature, size_t length) noexcept,
                size_t least = 0) noexcept;

// Called when a call that attaches a collective operation begins, in its thread. No MPI or UCP call
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

// MPI_Mprobe and MPI_Improbe need nothing: MPI_Mrecv and MPI_Imrecv attach as other receives do
// (their filter is not read).

// How often a signature was attached, matched to its receive, not certain: for tests and the
// attestation.
struct Tally {
  uint64_t attached, arrived, resolved, uncertain;
};
[[nodiscard]] Tally tally() noexcept;

}  // namespace verity::mpi

#endif
