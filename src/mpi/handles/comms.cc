// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/handles/comms.h"

#include <pthread.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <new>
#include <vector>

#include "mpi/process/library.h"
#include "mpi/process/lifetime.h"

namespace verity::mpi {

// Names change while other threads read them.
struct CommNames {
  static inline constinit std::mutex mutex;

  static void set(CommInfo* info, const char* name) noexcept {
    const std::lock_guard lock(mutex);
    std::snprintf(info->name_.data(), info->name_.size(), "%s", name);
  }
  static std::string get(const CommInfo& info) {
    const std::lock_guard lock(mutex);
    return info.name_.data();
  }
};

namespace {

constinit std::atomic<uint32_t> last_serial{0};
constinit std::atomic<bool> lost{false};

// Held while MPI is called with the handle of a communicator that another thread may free: that
// waits in forget_comm(), in front of MPI.
constinit std::mutex in_use;

// The error handlers that threads are in. A handler may do anything, be it to free the communicator
// or never to return, so that no lock is held meanwhile: forget_comm() waits for the others'.
struct Handlers {
  struct Running {
    const CommInfo* info;
    pthread_t thread;
  };
  std::vector<Running> running;  // under in_use
  std::condition_variable ended;
  static Handlers& all() noexcept {  // never destroyed: threads may still run when the process ends
    static Handlers& made = *new Handlers;
    return made;
  }
  [[nodiscard]] bool runs_elsewhere(const CommInfo* info) const noexcept {
    return std::any_of(running.begin(), running.end(), [&](const Running& one) {
      return one.info == info && pthread_equal(one.thread, pthread_self()) == 0;
    });
  }
};
constexpr std::chrono::seconds kHandlerPatience{1};

// The handle for a handler of this thread, which is entered then; MPI_COMM_NULL: it is freed, or
// there is no memory.
MPI_Comm enter_errhandler(const CommInfo& info) noexcept {
  const std::lock_guard lock(in_use);
  const MPI_Comm comm = live_handle(info);
  if (comm == handles().comm_null) return comm;
  try {
    Handlers::all().running.push_back({&info, pthread_self()});
  } catch (const std::bad_alloc&) { return handles().comm_null; }
  return comm;
}

void leave_errhandler(const CommInfo& info) noexcept {
  const std::lock_guard lock(in_use);
  auto& running = Handlers::all().running;
  const auto last = std::find_if(running.rbegin(), running.rend(), [&](const auto& one) {
    return one.info == &info && pthread_equal(one.thread, pthread_self()) != 0;
  });
  if (last != running.rend()) running.erase(std::next(last).base());
  Handlers::all().ended.notify_all();
}

// Leaves it also when the handler throws.
class Entered {
 public:
  explicit Entered(const CommInfo& info) noexcept : info_(info) {}
  ~Entered() { leave_errhandler(info_); }
  Entered(const Entered&) = delete;
  Entered& operator=(const Entered&) = delete;

 private:
  const CommInfo& info_;
};

// Collective operations have a communicator's tags but for the bits that say what the library uses
// a message for.
TagFilter collective_tags(TagFilter tags) noexcept {
#ifdef OPEN_MPI
  constexpr uint64_t kUse = uint64_t{1} << 63;
  tags.mask &= ~kUse;
#else
  constexpr uint64_t kUse = 15;
  const int bits = std::countl_one(tags.mask);
  if (bits != 0) tags.mask &= ~(kUse << (64 - bits));
#endif
  return tags;
}

// Open MPI's intercommunicators have one number for both groups. Each of MPICH's groups has one for
// what it receives, in the highest bits of a tag, and does not show the other's. But the low four
// bits, which say what the library uses a message for, are the same, and of the messages that a
// point-to-point call sends only the program's own have these.
TagFilter sent_tags(const CommInfo& info) noexcept {
  TagFilter sent = info.filter;
#ifndef OPEN_MPI
  constexpr int kUse = 4;
  const int bits = std::countl_one(sent.mask);
  if (info.two_groups && bits > kUse) sent.mask &= ~(~uint64_t{0} << (64 - bits + kUse));
#endif
  return sent;
}

// Ends also when an error handler throws.
class Probe {
 public:
  explicit Probe(TagFilter* tags) noexcept : tags_(tags) { start_probe(); }
  ~Probe() { *tags_ = end_probe(); }
  Probe(const Probe&) = delete;
  Probe& operator=(const Probe&) = delete;

 private:
  TagFilter* tags_;
};

// What was thought to be a communicator is none: nothing may be kept of it, as its handle may come
// again for one.
struct NoComm {};

void fill(CommInfo* info, MPI_Comm comm) {
  int between_groups = 0;
  if (library().Comm_test_inter(comm, &between_groups) != MPI_SUCCESS) throw NoComm();
  info->two_groups = between_groups != 0;
  info->serial.store(++last_serial, std::memory_order_relaxed);
  info->permanent = comm == handles().comm_world;
  char name[MPI_MAX_OBJECT_NAME + 1] = {};
  int length = 0;
  const bool named = library().Comm_get_name(comm, name, &length) == MPI_SUCCESS;
  CommNames::set(info, named ? name : "");
  info->filter = probe_tags(comm);
  info->sent = sent_tags(*info);
  info->of_collectives = collective_tags(info->filter);
}

}  // namespace

bool is_comm(MPI_Comm comm) {
  int between_groups = 0;
  return library().Comm_test_inter(comm, &between_groups) == MPI_SUCCESS;
}

TagFilter probe_tags(MPI_Comm comm) {
  int flag = 0;
  MPI_Status status;
  TagFilter tags;
  {
    const Probe probe(&tags);
    library().Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &flag, &status);
  }
  return tags;
}

CommInfo* first_sight_of_comm(MPI_Comm comm) {
  if (comm == handles().comm_null) return nullptr;
  try {
    return CommTable::find(comm, [comm](CommInfo* info) { fill(info, comm); });
  } catch (const NoComm&) { return nullptr; } catch (const std::bad_alloc&) {
    lost.store(true, std::memory_order_relaxed);
    return nullptr;
  }
}

bool lost_a_comm() noexcept { return lost.load(std::memory_order_relaxed); }

void forget_comm(MPI_Comm comm) noexcept {
  std::unique_lock lock(in_use);
  const CommInfo* info = CommTable::known(comm);
  CommTable::drop(comm);
  Handlers& handlers = Handlers::all();
  if (info == nullptr || !handlers.runs_elsewhere(info)) return;
  handlers.ended.wait_for(lock, kHandlerPatience, [&] { return !handlers.runs_elsewhere(info); });
}

void rename_comm(MPI_Comm comm, const char* name) noexcept {
  CommInfo* info = name != nullptr ? CommTable::known(comm) : nullptr;
  if (info != nullptr) CommNames::set(info, name);
}

std::string name_of(const CommInfo& comm) { return CommNames::get(comm); }

MPI_Comm live_handle(const CommInfo& info) noexcept {
  return info.current() ? info.handle.load(std::memory_order_relaxed) : handles().comm_null;
}

void call_errhandler(const CommInfo& info, int error) {
  const MPI_Comm comm = mpi_runs() ? enter_errhandler(info) : handles().comm_null;
  if (comm != handles().comm_null) {
    const Entered entered(info);
    library().Comm_call_errhandler(comm, error);
    return;
  }
  const MPI_Comm other = world();
  if (other != handles().comm_null && mpi_runs()) library().Comm_call_errhandler(other, error);
}

void leave_errhandlers() noexcept {
  const std::lock_guard lock(in_use);
  const auto is_own = [](const auto& one) {
    return pthread_equal(one.thread, pthread_self()) != 0;
  };
  if (std::erase_if(Handlers::all().running, is_own) != 0) Handlers::all().ended.notify_all();
}

namespace {

// Of a rank of `group`, which is freed.
int translate(MPI_Group group, int rank) noexcept {
  int translated = -1;
  MPI_Group world;
  const MPI_Comm comm = verity::mpi::world();
  if (comm != handles().comm_null && library().Comm_group(comm, &world) == MPI_SUCCESS) {
    const int rc = library().Group_translate_ranks(group, 1, &rank, world, &translated);
    if (rc != MPI_SUCCESS || translated == MPI_UNDEFINED) translated = -1;
    library().Group_free(&world);
  }
  library().Group_free(&group);
  return in_this_world(translated);
}

int rank_to_world(MPI_Comm comm, int rank) noexcept {
  if (comm == handles().comm_world) return in_this_world(rank);
  int between_groups = 0;
  if (library().Comm_test_inter(comm, &between_groups) != MPI_SUCCESS) return -1;
  MPI_Group group;
  const int rc = between_groups != 0 ? library().Comm_remote_group(comm, &group)
                                     : library().Comm_group(comm, &group);
  return rc == MPI_SUCCESS ? translate(group, rank) : -1;
}

}  // namespace

int to_world_rank(const CommInfo& info, uint32_t serial, int rank) noexcept {
  const std::lock_guard lock(in_use);
  const MPI_Comm comm = live_handle(info);  // before the serial, which is older
  const bool same = info.serial.load(std::memory_order_relaxed) == serial;
  return same && comm != handles().comm_null && rank >= 0 ? rank_to_world(comm, rank) : -1;
}

std::set<uint32_t> sources_of(MPI_Comm comm, int rank) {
  std::vector<int> found;
  int kind = MPI_UNDEFINED, count = 0;
  if (library().Topo_test(comm, &kind) != MPI_SUCCESS) return {};
  if (kind == MPI_CART && library().Cartdim_get(comm, &count) == MPI_SUCCESS) {
    for (int dimension = 0; dimension < count; ++dimension) {
      int below = -1, above = -1;
      library().Cart_shift(comm, dimension, 1, &below, &above);
      found.insert(found.end(), {below, above});
    }
  } else if (kind == MPI_GRAPH &&
             library().Graph_neighbors_count(comm, rank, &count) == MPI_SUCCESS) {
    found.resize(static_cast<size_t>(count));
    library().Graph_neighbors(comm, rank, count, found.data());
  } else if (kind == MPI_DIST_GRAPH) {
    int destinations = 0, weighted = 0;
    if (library().Dist_graph_neighbors_count(comm, &count, &destinations, &weighted) != MPI_SUCCESS)
      return {};
    found.resize(static_cast<size_t>(count));
    std::vector<int> unused(found.size() + 2 * static_cast<size_t>(destinations) + 1);
    int* const others = unused.data() + count;
    library().Dist_graph_neighbors(comm, count, found.data(), unused.data(), destinations, others,
                                   others + destinations);
  }
  std::set<uint32_t> sources;
  for (const int source : found) {
    if (source >= 0) sources.insert(static_cast<uint32_t>(source));
  }
  return sources;
}

int window_rank_to_world(MPI_Win window, int rank) noexcept {
  MPI_Group group;
  return rank >= 0 && library().Win_get_group(window, &group) == MPI_SUCCESS
             ? translate(group, rank)
             : -1;
}

}  // namespace verity::mpi
