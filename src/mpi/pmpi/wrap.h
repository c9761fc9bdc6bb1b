// SPDX-License-Identifier: BSD-3-Clause
// How an MPI function is wrapped: one entry MPI_x and one PMPI_x, each in front of the next
// function of its own name.
//
//   VERITY_WRAP(name, (parameters), (arguments), what to do around the call)
//
// The last part is statements, executed before the call; objects that they define are destroyed
// after it, when call.rc holds what it returned. The exported functions take words as wide as
// registers and hand them on: in a process whose MPI is another one than this interposer's they
// must not cut a handle, and they never read it.
#ifndef VERITY_MPI_PMPI_WRAP_H
#define VERITY_MPI_PMPI_WRAP_H

#include <type_traits>

// Of a file whose functions are on the way of each message: gnu::hot. They lie together then.
#ifndef VERITY_HEAT
#define VERITY_HEAT
#endif

#include "mpi/interpose/next.h"
#include "mpi/pmpi/call.h"
#include "mpi/process/library.h"
#include "mpi/process/mpi_api.h"

namespace verity::mpi {

template <typename T>
[[nodiscard]] inline T from_word(Word word) noexcept {
  if constexpr (std::is_pointer_v<T>) {
    return reinterpret_cast<T>(word);
  } else {
    return static_cast<T>(word);
  }
}

// Calls `typed` with the words as the types of an MPI function's parameters.
template <typename Typed, typename... Parameters>
class Unpack {
 public:
  Unpack(const Typed& typed, int (*)(Parameters...)) noexcept : typed_(typed) {}
  template <typename... Words>
  void operator()(Words... words) const {
    static_assert(sizeof...(Parameters) == sizeof...(Words),
                  "a VERITY_WRAP has another number of arguments than the function");
    typed_(from_word<Parameters>(words)...);
  }

 private:
  const Typed& typed_;
};

#define VERITY_W0
#define VERITY_W1 ::verity::mpi::Word a
#define VERITY_W2 VERITY_W1, ::verity::mpi::Word b
#define VERITY_W3 VERITY_W2, ::verity::mpi::Word c
#define VERITY_W4 VERITY_W3, ::verity::mpi::Word d
#define VERITY_W5 VERITY_W4, ::verity::mpi::Word e
#define VERITY_W6 VERITY_W5, ::verity::mpi::Word f
#define VERITY_W7 VERITY_W6, ::verity::mpi::Word g
#define VERITY_W8 VERITY_W7, ::verity::mpi::Word h
#define VERITY_W9 VERITY_W8, ::verity::mpi::Word i
#define VERITY_W10 VERITY_W9, ::verity::mpi::Word j
#define VERITY_W11 VERITY_W10, ::verity::mpi::Word k
#define VERITY_W12 VERITY_W11, ::verity::mpi::Word l
#define VERITY_W13 VERITY_W12, ::verity::mpi::Word m
#define VERITY_A0
#define VERITY_A1 a
#define VERITY_A2 VERITY_A1, b
#define VERITY_A3 VERITY_A2, c
#define VERITY_A4 VERITY_A3, d
#define VERITY_A5 VERITY_A4, e
#define VERITY_A6 VERITY_A5, f
#define VERITY_A7 VERITY_A6, g
#define VERITY_A8 VERITY_A7, h
#define VERITY_A9 VERITY_A8, i
#define VERITY_A10 VERITY_A9, j
#define VERITY_A11 VERITY_A10, k
#define VERITY_A12 VERITY_A11, l
#define VERITY_A13 VERITY_A12, m

// How many arguments there are, 13 at most; so many words as parameters, and as arguments.
#define VERITY_COUNT(...) \
  VERITY_COUNT_OF(__VA_ARGS__ __VA_OPT__(, ) 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define VERITY_COUNT_OF(a, b, c, d, e, f, g, h, i, j, k, l, m, count, ...) count
#define VERITY_WORDS(count) VERITY_JOIN(VERITY_W, count)
#define VERITY_ARGUMENTS(count) VERITY_JOIN(VERITY_A, count)
#define VERITY_JOIN(a, b) VERITY_JOIN_OF(a, b)
#define VERITY_JOIN_OF(a, b) a##b

#define VERITY_EXPORT __attribute__((visibility("default")))

// A list in front of further ones: may be of no parameters at all. What the program gave stays in
// the registers that it is in.
#define VERITY_THEN(...) VERITY_THEN_OF(__VA_ARGS__)
#define VERITY_THEN_OF(...) __VA_ARGS__ __VA_OPT__(, )

// One exported function, MPI_x or PMPI_x. Where nothing is checked it is a load and a jump: the
// rest, which returns what the call does, is a function of its own, so that no register has to be
// saved before.
#define VERITY_FUNCTION(function, arity, ...)                                                      \
  namespace {                                                                                      \
  constinit ::verity::mpi::Next next_##function(#function);                                        \
  [[gnu::noinline,                                                                                 \
    VERITY_HEAT]] int checked_##function(VERITY_THEN(VERITY_WORDS(arity))                          \
                                             [[maybe_unused]] const void* return_address,          \
                                         [[maybe_unused]] const void* frame_end) {                 \
    using Words = int (*)(VERITY_WORDS(arity));                                                    \
    if (!::verity::mpi::checking() && ::verity::mpi::forwarding()) [[unlikely]]                    \
      return next_##function.forward<Words>()(VERITY_ARGUMENTS(arity));                            \
    __VA_ARGS__                                                                                    \
  }                                                                                                \
  }                                                                                                \
  extern "C"                                                                                       \
      [[VERITY_HEAT]] VERITY_EXPORT int verity_##function(VERITY_WORDS(arity)) __asm__(#function); \
  extern "C" int verity_##function(VERITY_WORDS(arity)) {                                          \
    using Words = int (*)(VERITY_WORDS(arity));                                                    \
    if (const auto next = next_##function.forwarded<Words>()) [[likely]]                           \
      return next(VERITY_ARGUMENTS(arity));                                                        \
    return checked_##function(VERITY_THEN(VERITY_ARGUMENTS(arity)) __builtin_return_address(0),    \
                              __builtin_dwarf_cfa());                                              \
  }

// One that sends or receives; `name` is MPI_x for both.
#define VERITY_ENTRY(function, name, arity, ...)                                        \
  VERITY_ENTRY_FOR_ALL(                                                                 \
      function, name, arity,                                                            \
      if (call.internal()) return next_##function.as<Words>()(VERITY_ARGUMENTS(arity)); \
      __VA_ARGS__)
// Also where the MPI library makes the call for its own ends, or seems to: what a callback of the
// program calls last returns to the library.
#define VERITY_ENTRY_FOR_ALL(function, name, arity, ...)                                         \
  VERITY_FUNCTION(function, arity, ::verity::mpi::Call::Room room;                               \
                  ::verity::mpi::Call call(name, return_address, frame_end, &room); __VA_ARGS__; \
                  return call.leave();)

#define VERITY_TYPED(function, label, parameters, arguments, ...) \
  VERITY_TYPED_BY(VERITY_ENTRY, function, label, parameters, arguments, __VA_ARGS__)
#define VERITY_TYPED_BY(ENTRY, function, label, parameters, arguments, ...)          \
  namespace {                                                                        \
  struct Typed_##function {                                                          \
    ::verity::mpi::Call& call;                                                       \
    void operator() parameters const;                                                \
  };                                                                                 \
  }                                                                                  \
  ENTRY(function, label, VERITY_COUNT arguments, const Typed_##function typed{call}; \
        ::verity::mpi::Unpack(typed, static_cast<decltype(&::function)>(nullptr))(   \
            VERITY_ARGUMENTS(VERITY_COUNT arguments)))                               \
  void Typed_##function::operator() parameters const {                               \
    __VA_ARGS__;                                                                     \
    call.rc = next_##function.as<decltype(&::function)>() arguments;                 \
  }

#define VERITY_WRAP(name, parameters, arguments, ...)                        \
  VERITY_TYPED(MPI_##name, "MPI_" #name, parameters, arguments, __VA_ARGS__) \
  VERITY_TYPED(PMPI_##name, "MPI_" #name, parameters, arguments, __VA_ARGS__)
// One that ends the life of a handle, whoever makes it.
#define VERITY_WRAP_FOR_ALL(name, parameters, arguments, ...)                             \
  VERITY_TYPED_BY(VERITY_ENTRY_FOR_ALL, MPI_##name, "MPI_" #name, parameters, arguments,  \
                  __VA_ARGS__)                                                            \
  VERITY_TYPED_BY(VERITY_ENTRY_FOR_ALL, PMPI_##name, "MPI_" #name, parameters, arguments, \
                  __VA_ARGS__)

// A function around which there is nothing to do, but which may end what others began.
#define VERITY_PASS_ONE(function, arity)                                                           \
  VERITY_FUNCTION(function, arity, const ::verity::mpi::PlainCall call(return_address, frame_end); \
                  return call.leave(next_##function.as<Words>()(VERITY_ARGUMENTS(arity)));)
#define VERITY_PASS(name, arity)     \
  VERITY_PASS_ONE(MPI_##name, arity) \
  VERITY_PASS_ONE(PMPI_##name, arity)

}  // namespace verity::mpi

#endif
