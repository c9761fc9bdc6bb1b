// SPDX-License-Identifier: BSD-3-Clause
//
// What the calls over MPI share: errors and ownership. By the C interface of autolink.h alone.
#ifndef VERITY_AUTOLINK_MPI_MESSAGES_H
#define VERITY_AUTOLINK_MPI_MESSAGES_H

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <memory>
#include <new>

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include "ucx-verity/autolink_mpi.h"

#define EXPORTED extern "C" __attribute__((visibility("default")))

namespace verity::autolink {

struct MpiError {
  int code;
};
inline void check(int code) {
  if (code != MPI_SUCCESS) throw MpiError{code};
}
// Of autolink.h's functions.
inline void check_link(int code) {
  if (code == ENOMEM) throw std::bad_alloc();
  if (code != 0) throw MpiError{MPI_ERR_TRUNCATE};
}

template <typename Body>
int guarded(Body&& body) noexcept {
  try {
    body();
    return MPI_SUCCESS;
  } catch (const MpiError& error) { return error.code; } catch (const std::bad_alloc&) {
    return MPI_ERR_NO_MEM;
  } catch (...) { return MPI_ERR_INTERN; }
}

struct Free {
  void operator()(verity_autolink_source* source) const { verity_autolink_source_free(source); }
  void operator()(verity_autolink_sink* sink) const { verity_autolink_sink_free(sink); }
  void operator()(verity_autolink_structure* structure) const { verity_autolink_free(structure); }
  void operator()(void* memory) const { std::free(memory); }
};
using Source = std::unique_ptr<verity_autolink_source, Free>;
using Sink = std::unique_ptr<verity_autolink_sink, Free>;
using Block = std::unique_ptr<void, Free>;

inline void check_type(const verity_autolink_type* type) {
  if (type == nullptr || type->schema == nullptr) throw MpiError{MPI_ERR_ARG};
}

inline Source aggregate(const verity_autolink_type& type, const void* root, uint64_t count) {
  verity_autolink_source* source = nullptr;
  check_link(verity_autolink_aggregate(type.schema, type.type, root, root == nullptr ? 0 : count,
                                       type.options, &source));
  return Source(source);
}
inline Sink expand(const verity_autolink_type& type) {
  verity_autolink_sink* sink = nullptr;
  check_link(verity_autolink_expand(type.schema, type.type, type.options, &sink));
  return Sink(sink);
}
inline verity_autolink_structure* take(verity_autolink_sink* sink) {
  verity_autolink_structure* structure = nullptr;
  check_link(verity_autolink_take(sink, &structure));
  return structure;
}

inline int size_of(MPI_Comm comm) {
  int size = 0;
  check(MPI_Comm_size(comm, &size));
  return size;
}
inline int rank_of(MPI_Comm comm) {
  int rank = 0;
  check(MPI_Comm_rank(comm, &rank));
  return rank;
}

}  // namespace verity::autolink

#endif
