// SPDX-License-Identifier: BSD-3-Clause
// What an MPI call receives: armed while the call lasts, compared when the message is there.
#pragma once

#include <optional>

#include "mpi/ucp/attach.h"
#include "mpi/handles/comms.h"
#include "mpi/pmpi/sending.h"
#include "mpi/process/state.h"
#include "mpi/handles/types.h"

namespace verity::mpi {

class PostedReceive;

// Where a receive wants its message from, as the program said it.
struct Envelope {
  int source;
  int tag;
};

// Receives that are not in use, of this thread.
struct ReceiveList {
  PostedReceive* first = nullptr;
  unsigned room = 0;  // for so many more
  bool watched = false;
};
extern constinit thread_local ReceiveList own_receives __attribute__((tls_model("initial-exec"), visibility("hidden")));

// One receive. From a pool; gives itself back when it is told how it ended.
class PostedReceive final : public Receive {
 public:
  // nullptr: no memory.
  [[nodiscard]] static PostedReceive* make(TypeInfo* type, MPI_Count count, CommInfo* comm, Envelope envelope, uint64_t site,
                                           const char* call) noexcept;
  [[gnu::always_inline]] void begin(TypeInfo* type, MPI_Count count, CommInfo* comm, Envelope envelope, uint64_t site,
                                    const char* call) noexcept {
    facts_.type.set(type);
    facts_.comm.set(comm);
    facts_.count = static_cast<uint64_t>(count);
    facts_.envelope = envelope;
    facts_.site = site;
    facts_.call = call;
  }
  // The first one of this thread's list is in use from now on.
  static void take_first() noexcept {
    own_receives.first = own_receives.first->next_;
    ++own_receives.room;
  }
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

// Arms a receive for the time of the call that posts it; nothing where its messages are not looked at. This is for one that is not like the
// last one from there.
[[gnu::noinline]] void arm_other_receive(KnownSite* known, const void* address, MPI_Count count, MPI_Datatype datatype, Envelope envelope,
                                         MPI_Comm comm) noexcept;

// (In the wrapper itself, whose arguments so stay in their registers.)
[[gnu::always_inline]] inline void arm_receive(KnownSite* known, const void* address, MPI_Count count, MPI_Datatype datatype, int source,
                                               int tag, MPI_Comm comm) noexcept {
  PostedReceive* receive = own_receives.first;
  if (known == nullptr || differs(known->received, comm, datatype) != 0 || receive == nullptr || source == MPI_PROC_NULL ||
      count < 0) [[unlikely]] {
    return arm_other_receive(known, address, count, datatype, {source, tag}, comm);
  }
  const About about = about_of(known->received);
  PostedReceive::take_first();
  receive->begin(about.type, count, about.comm, {source, tag}, thread.site, thread.name);
  armed.receive.filter = &about.comm->filter;
  armed.receive.receive = receive;
}

class Receiving {
 public:
  [[gnu::always_inline]] Receiving(const Call& call, const void* address, MPI_Count count, MPI_Datatype datatype, int source, int tag,
                                   MPI_Comm comm) noexcept {
    arm_receive(call.known(), address, count, datatype, source, tag, comm);
  }
  // Of a request made earlier.
  Receiving(TypeInfo* type, Data data, CommInfo* comm, Envelope envelope, uint64_t site, const char* call) noexcept;
  // Nobody took it: the call failed, or had nothing to receive from.
  ~Receiving() {
    if (armed.receive.receive != nullptr) [[unlikely]] give_up();
  }
  Receiving(const Receiving&) = delete;
  Receiving& operator=(const Receiving&) = delete;

 private:
  [[gnu::cold]] static void give_up() noexcept;
};

}  // namespace verity::mpi
