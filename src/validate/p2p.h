// SPDX-License-Identifier: BSD-3-Clause
//
// Validations between two processes, over the user's communicator and tag.
//
// Messages of several validations between the same two processes, in both directions, share one
// tag: each carries the role of its sender and the number of its validation among those of that
// tag, and is given to the operation that it belongs to. A message whose operation has not been
// started here waits. The state of a communicator is found by an attribute of it.
#ifndef VERITY_VALIDATE_P2P_H
#define VERITY_VALIDATE_P2P_H

#include <list>
#include <memory>
#include <variant>

#include "validate/session.h"
#include "validate/typed.h"

namespace verity::validate {

struct Place {
  int peer;
  int tag;
  MPI_Comm comm;
};

class Channel;

// One side of one validation.
class Operation {
 public:
  // What verity_validate_isend() and _irecv() start. Throw MpiError, std::bad_alloc.
  [[nodiscard]] static std::unique_ptr<Operation> send(std::unique_ptr<Typed> data,
                                                       const Place& place, uint32_t segment_size,
                                                       const Limits& limits);
  [[nodiscard]] static std::unique_ptr<Operation> receive(std::unique_ptr<Typed> data,
                                                          const Place& place, const Limits& limits);
  ~Operation();
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;

  // Makes progress on all operations of all communicators. True: this one has ended. Throws
  // MpiError, std::bad_alloc.
  [[nodiscard]] bool test();
  [[nodiscard]] Outcome outcome() const noexcept;
  [[nodiscard]] const Result& result() const noexcept;

 private:
  friend class Channel;
  struct Outgoing {
    Bytes bytes;
    MPI_Request request = MPI_REQUEST_NULL;

    // Throw MpiError.
    void start(Bytes message, const Place& place);
    [[nodiscard]] bool is_sent();
  };

  Operation(std::unique_ptr<Typed> data, const Place& place)
      : data_(std::move(data)), place_(place) {}
  // An error is kept for test().
  void deliver(Reading reading, const Message& message) noexcept;
  // Ends with an error, and asks the peer to end.
  void abandon(int code) noexcept;
  void post(Bytes bytes);
  [[nodiscard]] bool all_sent();
  [[nodiscard]] bool is_running() const noexcept {
    return error_ == MPI_SUCCESS && outcome() == Outcome::kRunning;
  }
  [[nodiscard]] bool is_owner() const noexcept { return std::holds_alternative<Owner>(session_); }

  std::unique_ptr<Typed> data_;
  Place place_;
  Channel* channel_ = nullptr;
  uint32_t serial_ = 0;
  std::unique_ptr<merkle::Tree> tree_;  // the owner's
  std::variant<std::monostate, Owner, Holder> session_;
  std::list<Outgoing> outgoing_;
  int error_ = MPI_SUCCESS;
};

}  // namespace verity::validate

#endif
