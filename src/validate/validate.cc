// SPDX-License-Identifier: BSD-3-Clause
//
// The C interface: arguments are checked and exceptions end here.
#include <sched.h>

#include <new>

#include "merkle/geometry.h"
#include "validate/collective.h"
#include "validate/p2p.h"

// After handle.h, which leaves the C++ bindings of mpi.h out.
#include "ucx-verity/validate.h"

#define EXPORTED extern "C" __attribute__((visibility("default")))

using namespace verity::validate;
using verity::typelib::check;
using verity::typelib::MpiError;

struct verity_validate_request {
  std::unique_ptr<Operation> operation;
  uint64_t bytes = 0;
  verity_validation* result = nullptr;
};

namespace {

constexpr uint32_t kDefaultSegment = 8192;
// More digests do not fit one message: larger buffers get larger segments.
constexpr uint64_t kMostLeaves = uint64_t{1} << 26;

struct Options {
  uint32_t segment_size = kDefaultSegment;
  Limits limits;
};

// Errors of MPI's kind for arguments that are wrong.
Options options_of(const verity_validate_options* given) {
  Options options;
  if (given == nullptr) return options;
  if (given->segment_size != 0) options.segment_size = given->segment_size;
  if (given->max_rounds != 0) options.limits.max_rounds = given->max_rounds;
  if (!verity::merkle::is_valid_segment_size(options.segment_size)) throw MpiError{MPI_ERR_ARG};
  return options;
}

uint32_t fitting_segment(uint32_t segment_size, uint64_t bytes) {
  while (bytes / segment_size >= kMostLeaves && segment_size < verity::merkle::kMaxSegmentSize)
    segment_size *= 2;
  if (bytes / segment_size >= kMostLeaves) throw MpiError{MPI_ERR_COUNT};
  return segment_size;
}

void check_data(MPI_Count count, MPI_Datatype datatype) {
  if (count < 0) throw MpiError{MPI_ERR_COUNT};
  if (datatype == MPI_DATATYPE_NULL) throw MpiError{MPI_ERR_TYPE};
}

void check_peer(int peer, int tag, MPI_Comm comm) {
  if (comm == MPI_COMM_NULL) throw MpiError{MPI_ERR_COMM};
  if (tag < 0) throw MpiError{MPI_ERR_TAG};
  int size = 0, rank = 0, is_inter = 0;
  check(MPI_Comm_test_inter(comm, &is_inter));
  check(is_inter != 0 ? MPI_Comm_remote_size(comm, &size) : MPI_Comm_size(comm, &size));
  check(MPI_Comm_rank(comm, &rank));
  if (peer < 0 || peer >= size || (is_inter == 0 && peer == rank)) throw MpiError{MPI_ERR_RANK};
}

// Returns the number of ranks. Sessions are between the ranks of one group: an intercommunicator
// has two.
int check_collective(MPI_Comm comm) {
  if (comm == MPI_COMM_NULL) throw MpiError{MPI_ERR_COMM};
  int ranks = 0, is_inter = 0;
  check(MPI_Comm_test_inter(comm, &is_inter));
  if (is_inter != 0) throw MpiError{MPI_ERR_COMM};
  check(MPI_Comm_size(comm, &ranks));
  return ranks;
}

template <typename Body>
int guarded(Body&& body) noexcept {
  try {
    return body();
  } catch (const MpiError& error) { return error.code; } catch (const std::bad_alloc&) {
    return MPI_ERR_NO_MEM;
  } catch (...) { return MPI_ERR_INTERN; }
}

int code_of(Outcome outcome) noexcept {
  switch (outcome) {
    case Outcome::kUnequalLength: return MPI_ERR_TRUNCATE;
    case Outcome::kGivenUp: return MPI_ERR_OTHER;
    default: return MPI_SUCCESS;
  }
}

void fill(verity_validation* result, const Result& r, uint64_t bytes) noexcept {
  if (result != nullptr) *result = {bytes, r.segments, r.damaged, r.bytes_sent_again, r.rounds, 0};
}

struct P2p {
  void* buf;
  MPI_Count count;
  MPI_Datatype datatype;
  Place place;
  const verity_validate_options* options;
  verity_validation* result;
  bool sends;
};

int start(const P2p& p, verity_validate_request** request) {
  if (request == nullptr) return MPI_ERR_ARG;
  *request = nullptr;
  return guarded([&] {
    const Options options = options_of(p.options);
    if (p.place.peer == MPI_PROC_NULL) {
      fill(p.result, {}, 0);
      return MPI_SUCCESS;
    }
    check_data(p.count, p.datatype);
    check_peer(p.place.peer, p.place.tag, p.place.comm);
    auto data = std::make_unique<Typed>(p.buf, p.count, p.datatype, p.place.comm);
    auto made = std::make_unique<verity_validate_request>();
    made->bytes = data->buffer().length();
    made->result = p.result;
    const uint32_t segment_size = fitting_segment(options.segment_size, made->bytes);
    made->operation = p.sends
                          ? Operation::send(std::move(data), p.place, segment_size, options.limits)
                          : Operation::receive(std::move(data), p.place, options.limits);
    *request = made.release();
    return MPI_SUCCESS;
  });
}

// True: it has ended, and is freed.
bool advance(verity_validate_request** request, int* code) {
  if (*request == nullptr) return true;
  bool is_ended = false;
  *code = guarded([&] {
    is_ended = (*request)->operation->test();
    return is_ended ? code_of((*request)->operation->outcome()) : MPI_SUCCESS;
  });
  if (!is_ended && *code == MPI_SUCCESS) return false;
  fill((*request)->result, (*request)->operation->result(), (*request)->bytes);
  delete *request;
  *request = nullptr;
  return true;
}

int run(const P2p& p) {
  verity_validate_request* request = nullptr;
  const int code = start(p, &request);
  return code != MPI_SUCCESS ? code : verity_validate_wait(&request);
}

P2p sending(const void* buf, MPI_Count count, MPI_Datatype datatype, const Place& place,
            const verity_validate_options* options, verity_validation* result) {
  return {const_cast<void*>(buf), count, datatype, place, options, result, true};
}

}  // namespace

EXPORTED int verity_validate_isend(const void* buf, MPI_Count count, MPI_Datatype datatype,
                                   int dest, int tag, MPI_Comm comm,
                                   const verity_validate_options* options,
                                   verity_validation* result, verity_validate_request** request) {
  return start(sending(buf, count, datatype, {dest, tag, comm}, options, result), request);
}

EXPORTED int verity_validate_irecv(void* buf, MPI_Count count, MPI_Datatype datatype, int source,
                                   int tag, MPI_Comm comm, const verity_validate_options* options,
                                   verity_validation* result, verity_validate_request** request) {
  return start({buf, count, datatype, {source, tag, comm}, options, result, false}, request);
}

EXPORTED int verity_validate_send(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest,
                                  int tag, MPI_Comm comm, const verity_validate_options* options,
                                  verity_validation* result) {
  return run(sending(buf, count, datatype, {dest, tag, comm}, options, result));
}

EXPORTED int verity_validate_recv(void* buf, MPI_Count count, MPI_Datatype datatype, int source,
                                  int tag, MPI_Comm comm, const verity_validate_options* options,
                                  verity_validation* result) {
  return run({buf, count, datatype, {source, tag, comm}, options, result, false});
}

EXPORTED int verity_validate_test(verity_validate_request** request, int* flag) {
  if (request == nullptr || flag == nullptr) return MPI_ERR_ARG;
  int code = MPI_SUCCESS;
  *flag = advance(request, &code);
  return code;
}

EXPORTED int verity_validate_wait(verity_validate_request** request) {
  return verity_validate_waitall(1, request);
}

EXPORTED int verity_validate_waitall(int count, verity_validate_request* requests[]) {
  if (count < 0 || (count > 0 && requests == nullptr)) return MPI_ERR_ARG;
  int first_error = MPI_SUCCESS;
  for (bool all = false; !all; sched_yield()) {
    all = true;
    for (int i = 0; i < count; ++i) {
      int code = MPI_SUCCESS;
      all = advance(&requests[i], &code) && all;
      if (first_error == MPI_SUCCESS) first_error = code;
    }
  }
  return first_error;
}

EXPORTED int verity_validate_bcast(void* buf, MPI_Count count, MPI_Datatype datatype, int root,
                                   MPI_Comm comm, const verity_validate_options* given,
                                   verity_validation* result) {
  return guarded([&] {
    const Options options = options_of(given);
    check_data(count, datatype);
    const int ranks = check_collective(comm);
    if (root < 0 || root >= ranks) throw MpiError{MPI_ERR_ROOT};
    const Typed block(buf, count, datatype, comm);
    const uint64_t bytes = block.buffer().length();
    const CollectiveResult all = validate_bcast(
        block, root, comm, fitting_segment(options.segment_size, bytes), options.limits);
    fill(result, all.own, bytes);
    return code_of(all.outcome);
  });
}

EXPORTED int verity_validate_allgather(void* recvbuf, MPI_Count count, MPI_Datatype datatype,
                                       MPI_Comm comm, const verity_validate_options* given,
                                       verity_validation* result) {
  return guarded([&] {
    const Options options = options_of(given);
    check_data(count, datatype);
    const int ranks = check_collective(comm);
    const MPI_Aint extent = verity::typelib::extent_of(datatype).extent;
    std::vector<std::unique_ptr<Typed>> blocks;
    uint64_t bytes = 0;
    for (int i = 0; i < ranks; ++i) {
      blocks.push_back(std::make_unique<Typed>(static_cast<char*>(recvbuf) + i * count * extent,
                                               count, datatype, comm));
      bytes += blocks.back()->buffer().length();
    }
    const uint32_t segment_size =
        fitting_segment(options.segment_size, blocks[0]->buffer().length());
    const CollectiveResult all = validate_allgather(blocks, comm, segment_size, options.limits);
    fill(result, all.own, bytes);
    return code_of(all.outcome);
  });
}
