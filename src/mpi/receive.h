// SPDX-License-Identifier: BSD-3-Clause
// What an MPI call receives: armed while the call lasts, compared when the message is there.
#pragma once

#include <optional>

#include "mpi/arm.h"
#include "mpi/comms.h"
#include "mpi/send.h"
#include "mpi/types.h"

namespace verity::mpi {

// Where a receive wants its message from, as the program said it.
struct Envelope {
  int source;
  int tag;
};

// One receive. From a pool; gives itself back when it is told how it ended.
class PostedReceive final : public Receive {
 public:
  // nullptr: no memory.
  [[nodiscard]] static PostedReceive* make(TypeInfo* type, MPI_Count count, CommInfo* comm, Envelope envelope, uint64_t site,
                                           const char* call) noexcept;
  void begin(TypeInfo* type, MPI_Count count, CommInfo* comm, Envelope envelope, uint64_t site, const char* call) noexcept;
  // Its data are to be digested when they are in the buffer at `address`.
  void want_data(const void* address) noexcept;
  void landed(size_t received) noexcept override;
  void resolved(const uint8_t* signature, size_t length, size_t received) noexcept override;
  void dropped() noexcept override;

  // What a report tells about it. Of one that is not in use, type and communicator are none.
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
  void resolved_otherwise(const uint8_t* signature, size_t length, size_t received) noexcept;
  [[nodiscard]] bool says_the_same(const uint8_t* signature, size_t length) noexcept;
  void check(const uint8_t* signature, size_t length, size_t received) noexcept;
  [[nodiscard]] bool agrees(const uint8_t* signature, size_t length, size_t received) noexcept;
  void check_data(const uint8_t* signature, size_t length, size_t received) noexcept;

  Facts facts_;
  const void* address_ = nullptr;
  std::optional<uint64_t> digest_;  // of what landed
  PostedReceive* next_ = nullptr;
};

// Arms a receive for the time of the call that posts it; nothing where its messages are not looked at. (In the order of the arguments of
// MPI's own functions, in whose registers they are.)
void arm_receive(const void* address, MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm) noexcept;

class Receiving {
 public:
  Receiving(const void* address, MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm) noexcept {
    arm_receive(address, count, datatype, source, tag, comm);
  }
  // Of a request made earlier.
  Receiving(TypeInfo* type, Data data, CommInfo* comm, Envelope envelope, uint64_t site) noexcept;
  // Nobody took it: the call failed, or had nothing to receive from.
  ~Receiving() {
    if (armed.receive.receive != nullptr) [[unlikely]] give_up();
  }
  Receiving(const Receiving&) = delete;
  Receiving& operator=(const Receiving&) = delete;

 private:
  static void give_up() noexcept;
};

}  // namespace verity::mpi
