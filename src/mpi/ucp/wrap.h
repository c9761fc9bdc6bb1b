// SPDX-License-Identifier: BSD-3-Clause
//
// A UCP function, interposed: until messages are checked a load and a jump to UCP's own.
//
//   VERITY_UCP_WRAP(type of result, function, (parameters), (arguments)) { what is done instead;
//   VERITY_OWN(function) is UCP's own }
#ifndef VERITY_MPI_UCP_WRAP_H
#define VERITY_MPI_UCP_WRAP_H

#include <atomic>

#include "mpi/ucp/function.h"

namespace verity::mpi {

class UcpWrapper {
 public:
  // From now on all of them do what is theirs.
  static void enable_all() noexcept;

 protected:
  constexpr UcpWrapper() noexcept = default;
  ~UcpWrapper() = default;
  // It is called for the first time.
  void enter() noexcept;

 private:
  // What its calls do from now on.
  virtual void choose(bool wrapped) noexcept = 0;

  UcpWrapper* next_ = nullptr;  // of those that were called
  bool entered_ = false;
};

template <typename Function>
class UcpEntry final : public UcpWrapper {
 public:
  constexpr UcpEntry(Function first, Function wrapped) noexcept : now_(first), wrapped_(wrapped) {}

  [[nodiscard]] Function now() const noexcept { return now_.load(std::memory_order_acquire); }
  // UCP's, known from the first call on.
  [[nodiscard]] Function own() const noexcept { return own_.load(std::memory_order_relaxed); }
  [[nodiscard]] Function begin(Function found) noexcept {
    own_.store(found, std::memory_order_relaxed);
    enter();
    return now();
  }

 private:
  void choose(bool wrapped) noexcept override {
    now_.store(wrapped ? wrapped_ : own(), std::memory_order_release);
  }

  std::atomic<Function> now_;
  std::atomic<Function> own_{nullptr};
  Function wrapped_;
};

#define VERITY_UCP_WRAP(Result, function, parameters, arguments) \
  VERITY_UCP_WRAP_AS(, Result, function, parameters, arguments)
// One that is on the way of each message.
#define VERITY_UCP_WRAP_HOT(Result, function, parameters, arguments) \
  VERITY_UCP_WRAP_AS([[gnu::hot]], Result, function, parameters, arguments)

#define VERITY_UCP_WRAP_AS(attribute, Result, function, parameters, arguments)        \
  static Result first_##function parameters;                                          \
  attribute static Result wrapped_##function parameters;                              \
  static constinit ::verity::mpi::UcpEntry<decltype(&::function)> entry_##function(   \
      first_##function, wrapped_##function);                                          \
  Result first_##function parameters {                                                \
    return entry_##function.begin(VERITY_NEXT(function)) arguments;                   \
  }                                                                                   \
  extern "C" __attribute__((hot, visibility("default"))) Result function parameters { \
    return entry_##function.now() arguments;                                          \
  }                                                                                   \
  Result wrapped_##function parameters

#define VERITY_OWN(function) entry_##function.own()

}  // namespace verity::mpi

#endif
