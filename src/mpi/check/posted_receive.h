// SPDX-License-Identifier: BSD-3-Clause
// A receive of the program, from its MPI call until its message is there and has been compared.
#ifndef VERITY_MPI_CHECK_POSTED_RECEIVE_H
#define VERITY_MPI_CHECK_POSTED_RECEIVE_H

#include <optional>

#include "mpi/handles/comms.h"
#include "mpi/handles/types.h"
#include "mpi/matching/message.h"
#include "mpi/process/thread.h"

namespace verity::mpi {

// Where a receive wants its message from, as the program said it.
struct Envelope {
  int source;
  int tag;
};

// One receive. From a pool; gives itself back when it is resolved or dropped.
class PostedReceive final : public Receive {
 public:
  // nullptr: no memory.
  [[nodiscard]] static PostedReceive* make(TypeInfo* type, MPI_Count count, CommInfo* comm,
                                           Envelope envelope, uint64_t site,
                                           const char* call) noexcept;
  [[gnu::always_inline]] void begin(TypeInfo* type, MPI_Count count, CommInfo* comm,
                                    Envelope envelope, uint64_t site, const char* call) noexcept {
    facts_.type.set(type);
    facts_.comm.set(comm);
    facts_.count = static_cast<uint64_t>(count);
    facts_.envelope = envelope;
    facts_.site = site;
    facts_.call = call;
  }
  // The first one of this thread's list is in use from now on.
  static void take_first() noexcept {
    thread.free_receives.first = thread.free_receives.first->next_;
    ++thread.free_receives.room;
  }
  // Its data are to be digested when they are in the buffer at `address`.
  void want_data(const void* address) noexcept;
  void lands_at(const void* packed) noexcept override { packed_ = packed; }
  void landed(size_t received) noexcept override;
  void resolved(const uint8_t* signature, size_t length, size_t received) noexcept override;
  void dropped() noexcept override;

  // What a report says about it. Of one that is not in use, type and communicator are none.
  struct Facts {
    TypeRef type;
    CommRef comm;
    uint64_t count = 0;
    Envelope envelope{};
    uint64_t site = 0;
    const char* call = "";
  };

 private:
  friend class ReceivePool;
  void end() noexcept;
  void resolved_slow_path(const uint8_t* signature, size_t length, size_t received) noexcept;
  [[nodiscard]] bool has_same_record(const uint8_t* signature, size_t length) noexcept;
  void check(const uint8_t* signature, size_t length, size_t received) noexcept;
  [[nodiscard]] bool agrees(const uint8_t* signature, size_t length, size_t received) noexcept;
  void check_data(const uint8_t* signature, size_t length, size_t received) noexcept;

  Facts facts_;
  const void* address_ = nullptr;
  const void* packed_ = nullptr;    // where UCP puts the data, in one piece
  std::optional<uint64_t> digest_;  // of what landed
  PostedReceive* next_ = nullptr;
};

}  // namespace verity::mpi

#endif
