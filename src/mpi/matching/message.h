// SPDX-License-Identifier: BSD-3-Clause
//
// What the matching of messages knows of a message: the bytes of its signature, which call sent it,
// and the receive that is to get it. What the bytes mean is the MPI side's (src/signature).
#ifndef VERITY_MPI_MATCHING_MESSAGE_H
#define VERITY_MPI_MATCHING_MESSAGE_H

#include <cstddef>
#include <cstdint>

namespace verity::mpi {

// Most bytes of a message's signature: record and description.
inline constexpr size_t kMaxSignature = 224;

// Which call of the program sends, for reports about its buffer.
struct Caller {
  const char* call = nullptr;  // its name; nullptr: not known
  uint64_t site = 0;           // where it is (sites/sites.h)
  const void* comm = nullptr;  // the MPI side's
  uint32_t comm_serial = 0;    // the communicator may have been freed since: see handles/comms.h
  int peer = 0;                // rank in it, of the other group where it has two
};

// A receive that the program posted, owned by the MPI side: from the moment the UCP side consumes
// its attachment until it calls resolved() or dropped(), which it does exactly once. It may do so
// inside of UCP's progress: no MPI or UCP call from there, and little time.
class Receive {
 public:
  // The message that this receive got: its signature (record and description), or nullptr and 0
  // when it carried none or when that is not certain. `received`: bytes that arrived, before
  // truncation.
  virtual void resolved(const uint8_t* signature, size_t length, size_t received) noexcept = 0;
  // It was cancelled, or failed.
  virtual void dropped() noexcept = 0;

  // Where wants_data says so, at first where UCP will put the data: `packed` if in one piece, in
  // the order in which MPI packs them (MPICH from 4.2 on has some in memory of its own until the
  // receive's callback); nullptr if into the program's buffer.
  virtual void lands_at(const void* /*packed*/) noexcept {}
  // Then, that all of them are there, and the program does not know yet: before resolved(). Neither
  // for messages that a removing probe took.
  virtual void landed(size_t /*received*/) noexcept {}
  bool wants_data = false;

 protected:
  ~Receive() = default;
};

}  // namespace verity::mpi

#endif
