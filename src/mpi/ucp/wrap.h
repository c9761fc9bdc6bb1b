// SPDX-License-Identifier: BSD-3-Clause
//
// A UCP function, interposed: until messages are checked a load and a jump to UCP's own. Where the
// program uses UCP itself, each call is its caller's: those that the MPI library does not make go
// to UCP's own untouched, as they may come in any thread, whatever MPI's level of threads is.
//
//   VERITY_UCP_WRAP(type of result, function, (parameters), (arguments)) { what is done instead;
//   VERITY_OWN(function) is UCP's own }
#ifndef VERITY_MPI_UCP_WRAP_H
#define VERITY_MPI_UCP_WRAP_H

#include <atomic>

#include "mpi/interpose/callers.h"
#include "mpi/ucp/function.h"

namespace verity::mpi {

// What the calls do: UCP's own; what is theirs; the same if the MPI library makes them.
enum class UcpCalls : uint8_t { kPass, kWrapped, kWrappedForMpi };

class UcpWrapper {
 public:
  // From now on, in all of them. After kWrappedForMpi, kWrapped changes nothing.
  static void enable(UcpCalls calls) noexcept;

 protected:
  constexpr UcpWrapper() noexcept = default;
  ~UcpWrapper() = default;
  // It is called for the first time.
  void enter() noexcept;

 private:
  virtual void choose(UcpCalls calls) noexcept = 0;

  UcpWrapper* next_ = nullptr;  // of those that were called
  bool entered_ = false;
};

template <typename Function>
class UcpEntry final : public UcpWrapper {
 public:
  constexpr UcpEntry(Function first, Function wrapped, Function for_mpi) noexcept
      : now_(first), wrapped_(wrapped), for_mpi_(for_mpi) {}

  [[nodiscard]] Function now() const noexcept { return now_.load(std::memory_order_acquire); }
  // UCP's, known from the first call on; nullptr: there was none.
  [[nodiscard]] Function own() const noexcept { return own_.load(std::memory_order_relaxed); }
  [[nodiscard]] Function begin(Function found) noexcept {
    own_.store(found, std::memory_order_relaxed);
    enter();
    return now();
  }

 private:
  void choose(UcpCalls calls) noexcept override {
    const Function wrapped = calls == UcpCalls::kWrapped ? wrapped_ : for_mpi_;
    now_.store(calls == UcpCalls::kPass ? own() : wrapped, std::memory_order_release);
  }

  std::atomic<Function> now_;
  std::atomic<Function> own_{nullptr};
  Function wrapped_;
  Function for_mpi_;
};

// Whether a call that returns there is none of MPI's: another user of UCP makes it, or UCP within
// such a one's call.
[[nodiscard]] bool is_others_call(const void* return_address) noexcept;
// While UCP's own function is in such a call.
class OthersCall {
 public:
  OthersCall() noexcept { ++depth; }
  ~OthersCall() { --depth; }
  OthersCall(const OthersCall&) = delete;
  OthersCall& operator=(const OthersCall&) = delete;

  // In this thread.
  [[nodiscard]] static bool is_any() noexcept { return depth != 0; }

 private:
  static inline constinit thread_local unsigned depth __attribute__((tls_model("initial-exec"))) =
      0;
};

#define VERITY_UCP_WRAP(Result, function, parameters, arguments) \
  VERITY_UCP_WRAP_FOR_MPI(, Result, function, parameters, arguments)
// One that is on the way of each message.
#define VERITY_UCP_WRAP_HOT(Result, function, parameters, arguments) \
  VERITY_UCP_WRAP_FOR_MPI([[gnu::hot]], Result, function, parameters, arguments)

#define VERITY_UCP_WRAP_FOR_MPI(attribute, Result, function, parameters, arguments)          \
  static Result for_mpi_##function parameters;                                               \
  VERITY_UCP_WRAP_AS(attribute, for_mpi_##function, Result, function, parameters, arguments) \
  Result for_mpi_##function parameters {                                                     \
    if (!::verity::mpi::is_others_call(__builtin_return_address(0)))                         \
      return wrapped_##function arguments;                                                   \
    const ::verity::mpi::OthersCall others;                                                  \
    return entry_##function.own() arguments;                                                 \
  }                                                                                          \
  Result wrapped_##function parameters

// Each hands the call on with a jump (-foptimize-sibling-calls), so that what it returns to is the
// caller's place in all; without it all callers are unknown ones, and the lock is taken.
#define VERITY_UCP_WRAP_AS(attribute, for_mpi, Result, function, parameters, arguments) \
  static Result first_##function parameters;                                            \
  attribute static Result wrapped_##function parameters;                                \
  static constinit ::verity::mpi::UcpEntry<decltype(&::function)> entry_##function(     \
      first_##function, wrapped_##function, for_mpi);                                   \
  Result first_##function parameters {                                                  \
    return entry_##function.begin(VERITY_NEXT(function)) arguments;                     \
  }                                                                                     \
  extern "C" __attribute__((hot, visibility("default"))) Result function parameters {   \
    return entry_##function.now() arguments;                                            \
  }

#define VERITY_OWN(function) entry_##function.own()

}  // namespace verity::mpi

#endif
