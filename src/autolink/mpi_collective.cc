// SPDX-License-Identifier: BSD-3-Clause
//
// Structures among all ranks of a communicator.
#include <climits>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "autolink/mpi_requests.h"

using namespace verity::autolink;

namespace {

Block pack(const verity_autolink_type& type, const void* root, uint64_t count, size_t* size_p) {
  void* data = nullptr;
  check_link(verity_autolink_pack(type.schema, type.type, root, root == nullptr ? 0 : count,
                                  type.options, &data, size_p));
  return Block(data);
}
verity_autolink_structure* unpack(const verity_autolink_type& type, const void* data, size_t size) {
  verity_autolink_structure* structure = nullptr;
  check_link(verity_autolink_unpack(type.schema, type.type, data, size, type.options, &structure));
  return structure;
}

// An error of one rank before a collective exchange is one of all: none waits for another.
template <typename Prepare>
void prepare_together(MPI_Comm comm, Prepare&& prepare) {
  const int own = guarded(prepare);
  int worst = own != MPI_SUCCESS;
  check(MPI_Allreduce(MPI_IN_PLACE, &worst, 1, MPI_INT, MPI_MAX, comm));
  if (worst != 0) throw MpiError{own != MPI_SUCCESS ? own : MPI_ERR_OTHER};
}

// Blocks of all ranks, one after the other.
struct Blocks {
  std::vector<int> sizes, places;
  std::vector<char> bytes;

  void lay_out(const std::vector<uint64_t>& lengths) {
    uint64_t sum = 0;
    for (const uint64_t length : lengths) {
      places.push_back(static_cast<int>(sum));
      sizes.push_back(static_cast<int>(length));
      sum += length;
      if (sum > INT_MAX) throw MpiError{MPI_ERR_COUNT};
    }
    bytes.resize(sum);
  }
};

}  // namespace

EXPORTED int verity_autolink_bcast(const verity_autolink_type* type, const void* root,
                                   uint64_t count, int from, MPI_Comm comm,
                                   verity_autolink_structure** structure) {
  return guarded([&] {
    *structure = nullptr;
    const bool is_root = rank_of(comm) == from;
    size_t size = 0;
    Block block;
    prepare_together(comm, [&] {
      check_type(type);
      if (is_root) block = pack(*type, root, count, &size);
    });
    uint64_t length = size;
    check(MPI_Bcast(&length, 1, MPI_UINT64_T, from, comm));
    if (!is_root) block.reset(std::malloc(length));
    prepare_together(comm, [&] {
      if (block == nullptr) throw std::bad_alloc();
    });
    constexpr uint64_t kAtOnce = uint64_t{1} << 30;
    for (uint64_t at = 0; at < length; at += kAtOnce) {
      const uint64_t part = length - at < kAtOnce ? length - at : kAtOnce;
      check(MPI_Bcast(static_cast<char*>(block.get()) + at, static_cast<int>(part), MPI_BYTE, from,
                      comm));
    }
    if (!is_root) *structure = unpack(*type, block.get(), length);
  });
}

EXPORTED int verity_autolink_scatter(const verity_autolink_type* type, const void* const roots[],
                                     const uint64_t counts[], int from, MPI_Comm comm,
                                     verity_autolink_structure** structure) {
  return guarded([&] {
    *structure = nullptr;
    const int ranks = size_of(comm);
    const bool is_root = rank_of(comm) == from;
    Blocks all;
    prepare_together(comm, [&] {
      check_type(type);
      if (!is_root) return;
      std::vector<Block> blocks;
      std::vector<uint64_t> lengths;
      for (int i = 0; i < ranks; ++i) {
        size_t size = 0;
        blocks.push_back(pack(*type, roots[i], counts[i], &size));
        lengths.push_back(size);
      }
      all.lay_out(lengths);
      for (size_t i = 0; i < blocks.size(); ++i)
        std::memcpy(all.bytes.data() + all.places[i], blocks[i].get(), lengths[i]);
    });
    int size = 0;
    check(MPI_Scatter(all.sizes.data(), 1, MPI_INT, &size, 1, MPI_INT, from, comm));
    std::vector<char> own(static_cast<size_t>(size));
    check(MPI_Scatterv(all.bytes.data(), all.sizes.data(), all.places.data(), MPI_BYTE, own.data(),
                       size, MPI_BYTE, from, comm));
    *structure = unpack(*type, own.data(), own.size());
  });
}

namespace {

// To one rank, or to all where `to` is negative.
void gather(const verity_autolink_type* type, const void* root, uint64_t count, int to,
            MPI_Comm comm, verity_autolink_structure* structures[]) {
  const auto ranks = static_cast<size_t>(size_of(comm));
  const bool receives = to < 0 || rank_of(comm) == to;
  size_t size = 0;
  Block block;
  prepare_together(comm, [&] {
    check_type(type);
    block = pack(*type, root, count, &size);
    if (size > INT_MAX) throw MpiError{MPI_ERR_COUNT};
  });
  const uint64_t length = size;
  std::vector<uint64_t> lengths(receives ? ranks : 0);
  Blocks all;
  if (to < 0) {
    check(MPI_Allgather(&length, 1, MPI_UINT64_T, lengths.data(), 1, MPI_UINT64_T, comm));
  } else {
    check(MPI_Gather(&length, 1, MPI_UINT64_T, lengths.data(), 1, MPI_UINT64_T, to, comm));
  }
  prepare_together(comm, [&] { all.lay_out(lengths); });
  const int own = static_cast<int>(size);
  if (to < 0) {
    check(MPI_Allgatherv(block.get(), own, MPI_BYTE, all.bytes.data(), all.sizes.data(),
                         all.places.data(), MPI_BYTE, comm));
  } else {
    check(MPI_Gatherv(block.get(), own, MPI_BYTE, all.bytes.data(), all.sizes.data(),
                      all.places.data(), MPI_BYTE, to, comm));
  }
  if (!receives) return;
  std::vector<std::unique_ptr<verity_autolink_structure, Free>> made;
  for (size_t i = 0; i < ranks; ++i)
    made.emplace_back(unpack(*type, all.bytes.data() + all.places[i], lengths[i]));
  for (size_t i = 0; i < ranks; ++i) structures[i] = made[i].release();
}

}  // namespace

EXPORTED int verity_autolink_gather(const verity_autolink_type* type, const void* root,
                                    uint64_t count, int to, MPI_Comm comm,
                                    verity_autolink_structure* structures[]) {
  return guarded([&] {
    if (to < 0) throw MpiError{MPI_ERR_ROOT};
    gather(type, root, count, to, comm, structures);
  });
}

EXPORTED int verity_autolink_allgather(const verity_autolink_type* type, const void* root,
                                       uint64_t count, MPI_Comm comm,
                                       verity_autolink_structure* structures[]) {
  return guarded([&] { gather(type, root, count, -1, comm, structures); });
}

// A binomial tree over the ranks in their order: what a rank merges is always of the ranks behind
// its own. The result moves from rank 0.
EXPORTED int verity_autolink_reduce(const verity_autolink_type* type, void* root,
                                    verity_autolink_merge merge, void* context, int to,
                                    MPI_Comm comm, void** result) {
  constexpr int kTag = 0x7ef;
  return guarded([&] {
    *result = nullptr;
    check_type(type);
    if (merge == nullptr) throw MpiError{MPI_ERR_ARG};
    MPI_Comm own = MPI_COMM_NULL;  // no message of the program has a tag of ours
    check(MPI_Comm_dup(comm, &own));
    struct FreeComm {
      MPI_Comm* comm;
      ~FreeComm() { MPI_Comm_free(comm); }
    } const free_comm{&own};
    const int ranks = size_of(own), rank = rank_of(own);
    // Ranks are counted from `to` on, in a ring, so that the result is made where it is wanted.
    const int place = (rank - to + ranks) % ranks;
    void* mine = root;
    for (int step = 1; step < ranks; step *= 2) {
      if (place % (2 * step) != 0) {
        Sending sending(aggregate(*type, mine, 1), (place - step + to) % ranks, kTag, own);
        finish(sending);
        return;
      }
      if (place + step >= ranks) continue;
      verity_autolink_structure* theirs = nullptr;
      Receiving receiving(expand(*type), (place + step + to) % ranks, kTag, own, &theirs);
      finish(receiving);
      const std::unique_ptr<verity_autolink_structure, Free> owned(theirs);
      mine = merge(mine, verity_autolink_root(theirs), context);
    }
    *result = mine;
  });
}
