// SPDX-License-Identifier: BSD-3-Clause
//
// Partitioned communication of MPICH. MPI_Psend_init sends a message of the library's own, an
// active message of UCP, which finds its MPI_Precv_init: the first one of this source, tag and
// communicator that has no partner yet, as there are no wildcards. The data go later, once for all
// starts to the same partner. So the signature of all partitions goes with that first message, and
// says for itself which one it is of: the how-manieth of this source, tag and communicator.
#include "mpi/pmpi/partitioned.h"

#ifdef VERITY_PARTITIONED

#include <atomic>
#include <cstddef>
#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <tuple>
#include <utility>
#include <vector>

#include "mpi/pmpi/receiving.h"
#include "mpi/pmpi/wrap.h"
#include "mpi/process/library.h"
#include "mpi/process/this_process.h"

namespace verity::mpi {

namespace {

constexpr size_t kMostWaiting = 65536;

// Communicator (its tags), rank of the other process in it, tag.
using Way = std::tuple<uint64_t, uint32_t, int32_t>;
struct Made {
  uint32_t sends = 0, receives = 0;                // so far, of this process
  std::map<uint32_t, PostedReceive*> waiting;      // for the sender's
  std::map<uint32_t, std::vector<uint8_t>> early;  // of the sender's, without their receives
};

std::mutex mutex;
std::map<Way, Made>&
made() noexcept {  // never destroyed: messages may arrive while the process ends
  static auto& all = *new std::map<Way, Made>;
  return all;
}
size_t early_in_all = 0;
// A call could not be counted: this process's numbers are not those of the others any more.
constinit std::atomic<bool> miscounted{false};
bool has_miscounted() noexcept {
  return miscounted.load(std::memory_order_relaxed) || lost_a_comm();
}

// In a communicator of one group whose tags are known: the other group's of an intercommunicator
// are others.
CommInfo* usable(MPI_Comm comm) {
  CommInfo* info = find_comm(comm);
  int between_groups = 0;
  if (info == nullptr && comm != handles().comm_null && is_comm(comm))
    abandon_partitioned();  // it is ending
  if (info == nullptr || info->filter.mask == 0) return nullptr;
  return library().Comm_test_inter(comm, &between_groups) == MPI_SUCCESS && between_groups == 0
             ? info
             : nullptr;
}

// May throw std::bad_alloc.
Made& counts_of(const Way& way) {
  try {
    return made()[way];
  } catch (const std::bad_alloc&) {
    miscounted.store(true, std::memory_order_relaxed);
    throw;
  }
}

void await(Way way, PostedReceive* receive) {
  const std::lock_guard lock(mutex);
  Made& of_way = counts_of(way);
  const uint32_t number = ++of_way.receives;
  const auto it = of_way.early.find(number);
  if (it == of_way.early.end()) {
    if (receive != nullptr) of_way.waiting.emplace(number, receive);
    return;
  }
  if (receive != nullptr) receive->resolved(it->second.data(), it->second.size(), 0);
  of_way.early.erase(it);
  --early_in_all;
}

bool any_made() noexcept {
  const std::lock_guard lock(mutex);
  return !made().empty();
}

}  // namespace

void partition_arrived(const uint8_t* bytes, size_t length) noexcept {
  PartitionedTail tail;
  if (length < sizeof(signature::Record) + sizeof(tail) || has_miscounted()) return;
  length -= sizeof(tail);
  std::memcpy(&tail, bytes + length, sizeof(tail));
  try {
    const std::lock_guard lock(mutex);
    Made& of_way = made()[{tail.communicator, tail.rank, tail.tag}];
    const auto it = of_way.waiting.find(tail.number);
    if (it != of_way.waiting.end()) {
      it->second->resolved(bytes, length, 0);
      of_way.waiting.erase(it);
    } else if (tail.number > of_way.receives && early_in_all < kMostWaiting) {
      early_in_all += of_way.early.try_emplace(tail.number, bytes, bytes + length).second;
    }
  } catch (const std::bad_alloc&) {  // it goes unchecked
  }
}

void abandon_partitioned() noexcept { miscounted.store(true, std::memory_order_relaxed); }

void forget_partitioned(MPI_Comm comm) {
  if (!mpi_runs()) return;
  const CommInfo* info = CommTable::known(comm);
  if (info == nullptr && any_made()) info = find_comm(comm);
  if (info == nullptr || info->filter.mask == 0) return;
  const std::lock_guard lock(mutex);
  const uint64_t communicator = info->filter.value;
  auto it = made().lower_bound({communicator, 0, INT32_MIN});
  while (it != made().end() && std::get<0>(it->first) == communicator) {
    for (const auto& [number, receive] : it->second.waiting) receive->dropped();
    early_in_all -= it->second.early.size();
    it = made().erase(it);
  }
}

void forget_all_partitioned() noexcept {
  const std::lock_guard lock(mutex);
  for (const auto& [way, counts] : made()) {
    for (const auto& [number, receive] : counts.waiting) receive->dropped();
  }
  made().clear();
  early_in_all = 0;
}

namespace {

// The call around this one, if it `sends` or else receives and MPI has not begun it: this one is
// made in its place, as where a tool hands it on (the other rank may be without). It has nothing
// attached any more.
void* take_owner_around(bool sends) noexcept {
  Attachments* const around = attachments.around;
  if (around == nullptr || around->active.pending != sends) return nullptr;
  return std::exchange(around->active, {}).owner;
}

// Counted when its message is sent, under the lock around that: other threads' calls may be refused
// meanwhile, and those that are not are numbered in the order of their messages.
class PartitionedSend {
 public:
  PartitionedSend(const Call& call, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                  MPI_Comm comm)
      : call_(call) {
    // Last, as the library may send active messages of its own before.
    length_ = sign(count, datatype, dest, tag, comm);
    auto* const around = static_cast<PartitionedSend*>(take_owner_around(true));
    if (around != nullptr && around->way_ == way_) around->counts_ = false;
    attachments.active = {bytes_, length_, true, this, begins};
  }
  // Its message may go later, or nowhere.
  ~PartitionedSend() {
    attachments.active = {};
    if (call_.rc == MPI_SUCCESS) static_cast<void>(number());
  }
  PartitionedSend(const PartitionedSend&) = delete;
  PartitionedSend& operator=(const PartitionedSend&) = delete;

 private:
  // 0: there is no signature.
  size_t sign(MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) {
    if (dest == MPI_PROC_NULL || count < 0 || !mpi_runs()) return 0;
    const CommInfo* info = usable(comm);
    if (info == nullptr) return 0;
    int rank = 0;
    library().Comm_rank(comm, &rank);
    way_ = {info->filter.value, static_cast<uint32_t>(dest), tag};
    counts_ = true;
    TypeInfo* type = find_type(datatype);
    if (type == nullptr) return 0;
    const PartitionedTail tail{0, tag, static_cast<uint32_t>(rank), 0, info->filter.value};
    const size_t length = write_signature(*type, count, thread.site, kPsendInit, bytes_,
                                          sizeof(bytes_) - sizeof(tail));
    if (length == 0) return 0;
    std::memcpy(bytes_ + length, &tail, sizeof(tail));
    return length + sizeof(tail);
  }

  // Counts it, once. 0: it does not count, or has been counted.
  uint32_t number() noexcept {
    if (!std::exchange(counts_, false)) return 0;
    try {
      const std::lock_guard lock(mutex);
      return ++counts_of(way_).sends;
    } catch (const std::bad_alloc&) { return 0; }
  }

  static size_t begins(void* owner) noexcept {
    auto& self = *static_cast<PartitionedSend*>(owner);
    const uint32_t number = self.number();
    if (number == 0 || self.length_ == 0 || has_miscounted()) return 0;
    uint8_t* const tail = self.bytes_ + self.length_ - sizeof(PartitionedTail);
    std::memcpy(tail + offsetof(PartitionedTail, number), &number, sizeof(number));
    return self.length_;
  }

  const Call& call_;
  Way way_;
  bool counts_ = false;
  size_t length_ = 0;  // of the signature
  uint8_t bytes_[kMaxSignature];
};

class PartitionedReceive {
 public:
  PartitionedReceive(const Call& call, MPI_Count count, MPI_Datatype datatype, int source, int tag,
                     MPI_Comm comm)
      : call_(call) {
    if (auto* const around = static_cast<PartitionedReceive*>(take_owner_around(false)))
      around->leave_uncounted();
    prepare(count, datatype, source, tag, comm);
    attachments.active.owner = this;  // last, as an error handler may throw
  }
  ~PartitionedReceive() {
    attachments.active = {};
    if (info_ == nullptr) return;
    if (call_.rc != MPI_SUCCESS || has_miscounted()) {
      leave_uncounted();
      return;
    }
    try {
      await(way_, receive_);
    } catch (const std::bad_alloc&) { leave_uncounted(); }
  }
  PartitionedReceive(const PartitionedReceive&) = delete;
  PartitionedReceive& operator=(const PartitionedReceive&) = delete;

 private:
  void prepare(MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm) {
    if (source == MPI_PROC_NULL || count < 0 || !mpi_runs()) return;
    info_ = usable(comm);
    TypeInfo* type = info_ != nullptr ? find_type(datatype) : nullptr;
    if (type != nullptr)
      receive_ = PostedReceive::make(type, count, info_, {source, tag}, thread.site, thread.name);
    if (info_ != nullptr) way_ = {info_->filter.value, static_cast<uint32_t>(source), tag};
  }

  void leave_uncounted() noexcept {
    if (receive_ != nullptr) receive_->dropped();
    receive_ = nullptr;
    info_ = nullptr;
  }

  const Call& call_;
  CommInfo* info_ = nullptr;
  PostedReceive* receive_ = nullptr;
  Way way_;
};

}  // namespace

}  // namespace verity::mpi

using namespace verity::mpi;  // NOLINT: the wrappers are C functions

VERITY_WRAP(Psend_init,
            (const void* buf, int partitions, MPI_Count count, MPI_Datatype type, int dest, int tag,
             MPI_Comm comm, MPI_Info info, MPI_Request* request),
            (buf, partitions, count, type, dest, tag, comm, info, request),
            const PartitionedSend sending(call, partitions* count, type, dest, tag, comm))
VERITY_WRAP(Precv_init,
            (void* buf, int partitions, MPI_Count count, MPI_Datatype type, int source, int tag,
             MPI_Comm comm, MPI_Info info, MPI_Request* request),
            (buf, partitions, count, type, source, tag, comm, info, request),
            const PartitionedReceive receiving(call, partitions* count, type, source, tag, comm))

#endif
