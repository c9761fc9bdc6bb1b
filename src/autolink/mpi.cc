// SPDX-License-Identifier: BSD-3-Clause
//
// Structures over MPI, by the C interface of autolink.h alone.
#include <sched.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <list>
#include <memory>
#include <new>
#include <vector>

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include "ucx-verity/autolink_mpi.h"

#define EXPORTED extern "C" __attribute__((visibility("default")))

namespace {

struct MpiError {
  int code;
};
void check(int code) {
  if (code != MPI_SUCCESS) throw MpiError{code};
}
// Of autolink.h's functions.
void check_link(int code) {
  if (code == ENOMEM) throw std::bad_alloc();
  if (code != 0) throw MpiError{MPI_ERR_TRUNCATE};
}

template <typename Body>
int guarded(Body&& body) noexcept {
  try {
    body();
    return MPI_SUCCESS;
  } catch (const MpiError& error) {
    return error.code;
  } catch (const std::bad_alloc&) {
    return MPI_ERR_NO_MEM;
  } catch (...) {
    return MPI_ERR_INTERN;
  }
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

void check_type(const verity_autolink_type* type) {
  if (type == nullptr || type->schema == nullptr) throw MpiError{MPI_ERR_ARG};
}

Source aggregate(const verity_autolink_type& type, const void* root, uint64_t count) {
  verity_autolink_source* source = nullptr;
  check_link(verity_autolink_aggregate(type.schema, type.type, root, root == nullptr ? 0 : count, type.options, &source));
  return Source(source);
}
Sink expand(const verity_autolink_type& type) {
  verity_autolink_sink* sink = nullptr;
  check_link(verity_autolink_expand(type.schema, type.type, type.options, &sink));
  return Sink(sink);
}
verity_autolink_structure* take(verity_autolink_sink* sink) {
  verity_autolink_structure* structure = nullptr;
  check_link(verity_autolink_take(sink, &structure));
  return structure;
}

int size_of(MPI_Comm comm) {
  int size = 0;
  check(MPI_Comm_size(comm, &size));
  return size;
}
int rank_of(MPI_Comm comm) {
  int rank = 0;
  check(MPI_Comm_rank(comm, &rank));
  return rank;
}

}  // namespace

// Either side of a message under way.
struct verity_autolink_request {
  virtual ~verity_autolink_request() = default;
  // True: it has ended.
  virtual bool advance() = 0;
};

namespace {

constexpr size_t kInFlight = 4;  // packets of one structure

class Sending : public verity_autolink_request {
 public:
  Sending(Source source, int dest, int tag, MPI_Comm comm) : source_(std::move(source)), dest_(dest), tag_(tag), comm_(comm) {}
  Sending(const Sending&) = delete;
  Sending& operator=(const Sending&) = delete;
  // After an error: the buffers are MPI's until their sends have ended.
  ~Sending() override {
    for (Packet& packet : packets_) MPI_Wait(&packet.request, MPI_STATUS_IGNORE);
  }

  bool advance() override {
    while (!packets_.empty()) {
      int is_sent = 0;
      check(MPI_Test(&packets_.front().request, &is_sent, MPI_STATUS_IGNORE));
      if (is_sent == 0) break;
      packets_.pop_front();
    }
    while (!at_end_ && packets_.size() < kInFlight) send_next();
    return at_end_ && packets_.empty();
  }

 private:
  struct Packet {
    std::vector<char> bytes;
    MPI_Request request = MPI_REQUEST_NULL;
  };

  void send_next() {
    const void* data = nullptr;
    size_t size = 0;
    check_link(verity_autolink_next(source_.get(), &data, &size));
    at_end_ = data == nullptr;
    if (at_end_) return;
    if (size > INT_MAX) throw MpiError{MPI_ERR_COUNT};
    Packet& packet = packets_.emplace_back();
    packet.bytes.assign(static_cast<const char*>(data), static_cast<const char*>(data) + size);
    check(MPI_Isend(packet.bytes.data(), static_cast<int>(size), MPI_BYTE, dest_, tag_, comm_, &packet.request));
  }

  Source source_;
  int dest_, tag_;
  MPI_Comm comm_;
  std::list<Packet> packets_;
  bool at_end_ = false;
};

class Receiving : public verity_autolink_request {
 public:
  Receiving(Sink sink, int source, int tag, MPI_Comm comm, verity_autolink_structure** structure)
      : sink_(std::move(sink)), source_(source), tag_(tag), comm_(comm), structure_(structure) {}

  bool advance() override {
    for (;;) {
      int is_there = 0;
      MPI_Message message;
      check(MPI_Improbe(source_, tag_, comm_, &is_there, &message, &status_));
      if (is_there == 0) return false;
      receive(&message);
      if (!is_complete_) continue;
      *structure_ = take(sink_.get());
      return true;
    }
  }
  [[nodiscard]] const MPI_Status& status() const noexcept { return status_; }

 private:
  void receive(MPI_Message* message) {
    int size = 0;
    check(MPI_Get_count(&status_, MPI_BYTE, &size));
    bytes_.resize(static_cast<size_t>(size));
    check(MPI_Mrecv(bytes_.data(), size, MPI_BYTE, message, &status_));
    // The rest comes from where the first message came from.
    source_ = status_.MPI_SOURCE;
    tag_ = status_.MPI_TAG;
    check_link(verity_autolink_feed(sink_.get(), bytes_.data(), bytes_.size(), &is_complete_));
  }

  Sink sink_;
  int source_, tag_;
  MPI_Comm comm_;
  verity_autolink_structure** structure_;
  std::vector<char> bytes_;
  MPI_Status status_{};
  int is_complete_ = 0;
};

void finish(verity_autolink_request& request) {
  while (!request.advance()) sched_yield();
}

Block pack(const verity_autolink_type& type, const void* root, uint64_t count, size_t* size_p) {
  void* data = nullptr;
  check_link(verity_autolink_pack(type.schema, type.type, root, root == nullptr ? 0 : count, type.options, &data, size_p));
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

EXPORTED int verity_autolink_send(const verity_autolink_type* type, const void* root, uint64_t count, int dest, int tag, MPI_Comm comm) {
  return guarded([&] {
    check_type(type);
    Sending sending(aggregate(*type, root, count), dest, tag, comm);
    finish(sending);
  });
}

EXPORTED int verity_autolink_recv(const verity_autolink_type* type, int source, int tag, MPI_Comm comm, MPI_Status* status,
                                  verity_autolink_structure** structure) {
  return guarded([&] {
    check_type(type);
    Receiving receiving(expand(*type), source, tag, comm, structure);
    finish(receiving);
    if (status != MPI_STATUS_IGNORE) *status = receiving.status();
  });
}

EXPORTED int verity_autolink_isend(const verity_autolink_type* type, const void* root, uint64_t count, int dest, int tag, MPI_Comm comm,
                                   verity_autolink_request** request) {
  return guarded([&] {
    check_type(type);
    auto made = std::make_unique<Sending>(aggregate(*type, root, count), dest, tag, comm);
    (void)made->advance();
    *request = made.release();
  });
}

EXPORTED int verity_autolink_irecv(const verity_autolink_type* type, int source, int tag, MPI_Comm comm,
                                   verity_autolink_structure** structure, verity_autolink_request** request) {
  return guarded([&] {
    check_type(type);
    *request = std::make_unique<Receiving>(expand(*type), source, tag, comm, structure).release();
  });
}

EXPORTED int verity_autolink_test(verity_autolink_request** request, int* flag) {
  bool has_ended = *request == nullptr;
  const int code = has_ended ? MPI_SUCCESS : guarded([&] { has_ended = (*request)->advance(); });
  *flag = has_ended || code != MPI_SUCCESS;
  if (*flag != 0) {
    delete *request;
    *request = nullptr;
  }
  return code;
}

EXPORTED int verity_autolink_wait(verity_autolink_request** request) {
  int has_ended = 0;
  for (;; sched_yield()) {
    const int code = verity_autolink_test(request, &has_ended);
    if (has_ended != 0) return code;
  }
}

EXPORTED int verity_autolink_bcast(const verity_autolink_type* type, const void* root, uint64_t count, int from, MPI_Comm comm,
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
      check(MPI_Bcast(static_cast<char*>(block.get()) + at, static_cast<int>(part), MPI_BYTE, from, comm));
    }
    if (!is_root) *structure = unpack(*type, block.get(), length);
  });
}

EXPORTED int verity_autolink_scatter(const verity_autolink_type* type, const void* const roots[], const uint64_t counts[], int from,
                                     MPI_Comm comm, verity_autolink_structure** structure) {
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
      for (size_t i = 0; i < blocks.size(); ++i) std::memcpy(all.bytes.data() + all.places[i], blocks[i].get(), lengths[i]);
    });
    int size = 0;
    check(MPI_Scatter(all.sizes.data(), 1, MPI_INT, &size, 1, MPI_INT, from, comm));
    std::vector<char> own(static_cast<size_t>(size));
    check(MPI_Scatterv(all.bytes.data(), all.sizes.data(), all.places.data(), MPI_BYTE, own.data(), size, MPI_BYTE, from, comm));
    *structure = unpack(*type, own.data(), own.size());
  });
}

namespace {

// To one rank, or to all where `to` is negative.
void gather(const verity_autolink_type* type, const void* root, uint64_t count, int to, MPI_Comm comm,
            verity_autolink_structure* structures[]) {
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
    check(MPI_Allgatherv(block.get(), own, MPI_BYTE, all.bytes.data(), all.sizes.data(), all.places.data(), MPI_BYTE, comm));
  } else {
    check(MPI_Gatherv(block.get(), own, MPI_BYTE, all.bytes.data(), all.sizes.data(), all.places.data(), MPI_BYTE, to, comm));
  }
  if (!receives) return;
  std::vector<std::unique_ptr<verity_autolink_structure, Free>> made;
  for (size_t i = 0; i < ranks; ++i) made.emplace_back(unpack(*type, all.bytes.data() + all.places[i], lengths[i]));
  for (size_t i = 0; i < ranks; ++i) structures[i] = made[i].release();
}

}  // namespace

EXPORTED int verity_autolink_gather(const verity_autolink_type* type, const void* root, uint64_t count, int to, MPI_Comm comm,
                                    verity_autolink_structure* structures[]) {
  return guarded([&] {
    if (to < 0) throw MpiError{MPI_ERR_ROOT};
    gather(type, root, count, to, comm, structures);
  });
}

EXPORTED int verity_autolink_allgather(const verity_autolink_type* type, const void* root, uint64_t count, MPI_Comm comm,
                                       verity_autolink_structure* structures[]) {
  return guarded([&] { gather(type, root, count, -1, comm, structures); });
}

// A binomial tree over the ranks in their order: what a rank merges is always of the ranks behind its own. The result moves from rank 0.
EXPORTED int verity_autolink_reduce(const verity_autolink_type* type, void* root, verity_autolink_merge merge, void* context, int to,
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
