// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/collectives/collecting.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <set>
#include <string>
#include <utility>

#include "mpi/check/findings.h"
#include "mpi/collectives/ledger.h"
#include "mpi/collectives/reduction.h"
#include "mpi/collectives/requests.h"
#include "mpi/process/library.h"
#include "mpi/process/this_process.h"

namespace verity::mpi {

namespace {

constexpr size_t kMostEarly = 16384;  // messages of calls that this process has not made yet
constexpr size_t kMostComms = 4096;

using Early = std::pair<uint64_t, uint32_t>;  // communicator, number of the call

std::mutex mutex;
std::vector<std::unique_ptr<Ledger>>&
ledgers() noexcept {  // never destroyed: messages may arrive while the process ends
  static auto& made = *new std::vector<std::unique_ptr<Ledger>>;
  return made;
}
std::multimap<Early, std::vector<uint8_t>>& early() noexcept {
  static auto& made = *new std::multimap<Early, std::vector<uint8_t>>;
  return made;
}

std::vector<MPI_Comm>& uncounted() noexcept {
  static auto& made = *new std::vector<MPI_Comm>;
  return made;
}

// Communicators that were freed with calls that may have been under way, or whose calls were not
// all counted, by their tags: what comes later of these calls would be taken for the next
// communicator's of the same tags.
std::set<uint64_t>& tainted() noexcept {
  static auto& made = *new std::set<uint64_t>;
  return made;
}

Ledger* ledger_of(uint64_t communicator) noexcept {
  for (const auto& ledger : ledgers()) {
    if (ledger->filter.value == communicator) return ledger.get();
  }
  return nullptr;
}

// ---- calls of this process
// ----------------------------------------------------------------------------------------------------

// `diverged`: calls were not counted from the first on, or cannot be, so that the numbers are not
// those of other ranks.
struct Facts {
  bool diverged = false;
  int rank = -1, ranks = 0;
  std::set<uint32_t> sources;
};

Facts facts_of(MPI_Comm comm, const CommInfo& info) {
  Facts facts;
#ifndef OPEN_MPI  // whose two groups know an intercommunicator by different tags
  facts.diverged = info.two_groups;
#endif
  library().Comm_rank(comm, &facts.rank);
  library().Comm_size(comm, &facts.ranks);
  if (info.two_groups) {
    ++facts.ranks;  // one of the other at least
  } else {
    facts.sources = sources_of(comm, facts.rank);
  }
  return facts;
}

// No MPI call under the lock: the other way round it is taken inside of MPI's progress.
Ledger* make_ledger(MPI_Comm comm, CommInfo& info, Facts&& facts) {
  if (ledgers().size() >= kMostComms) {  // should there be room later, its numbers would begin late
    tainted().insert(info.filter.value);
    return nullptr;
  }
  auto made = std::make_unique<Ledger>();
  made->filter = info.filter;
  made->comm.set(&info);
  made->diverged = facts.diverged || tainted().contains(info.filter.value) ||
                   std::find(uncounted().begin(), uncounted().end(), comm) != uncounted().end();
  made->two_groups = info.two_groups;
  made->sources = std::move(facts.sources);
  made->rank = facts.rank;
  made->ranks = facts.ranks;
  ledgers().push_back(std::move(made));
  return ledgers().back().get();
}

// What came before this process's own call.
void compare_early(Ledger& ledger) {
  const uint64_t communicator = ledger.filter.value;
  for (auto it = early().lower_bound({communicator, 0});
       it != early().end() && it->first.first == communicator &&
       (it->first.second <= ledger.calls || ledger.diverged);) {
    const bool done = compare_arrived(ledger, it->second.data(), it->second.size());
    it = done ? early().erase(it) : std::next(it);
  }
}

size_t write_call(const Own& own, TypeInfo* type, const Ledger& ledger, uint8_t* out) noexcept {
  const CollectiveCall& call = own.call;
  size_t length = 0;
  if (type != nullptr) {
    length = write_signature(*type, call.gives->count, own.site, kCollectiveFamily, out,
                             kMaxSignature - sizeof(CollectiveTail));
  }
  if (length ==
      0) {  // an operation without data, or of data that are not known: who calls, and where
    signature::Record record;
    record.site = own.site;
    record.epoch = static_cast<uint32_t>(process_number());
    record.flags = signature::kHasOpaque;
    record.count = 2;  // of unknown elements
    signature::set_family(&record, kCollectiveFamily);
    length = signature::write_record(record, {}, out, kMaxSignature - sizeof(CollectiveTail));
  }
  constexpr uint8_t kForms[] = {0, kNonblocking, kPersistent};
  const CollectiveTail tail{own.number,
                            call.root,
                            static_cast<uint32_t>(ledger.rank),
                            call.operation,
                            call.reduction,
                            static_cast<uint8_t>(kForms[static_cast<size_t>(call.form)] |
                                                 (call.by_element ? kByElement : 0) |
                                                 (is_same_both_ways(call) ? kSameBothWays : 0)),
                            0,
                            ledger.filter.value};
  std::memcpy(out + length, &tail, sizeof(tail));
  return length + sizeof(tail);
}

// MPI has accepted the call of this attachment: it is compared from now on.
void begin(const CollectiveAttachment& attachment) noexcept {
  try {
    const std::lock_guard lock(mutex);
    Ledger* ledger = ledger_of(attachment.filter.value);
    if (ledger == nullptr) return;
    note_begun(*ledger, attachment);
    if (!early().empty()) compare_early(*ledger);
  } catch (const std::bad_alloc&) {  // it goes unchecked
  }
}

// A call that could not be counted: this rank's numbers are not those of the others any more.
constinit std::atomic<bool> miscounted{false};
bool has_miscounted() noexcept {
  return miscounted.load(std::memory_order_relaxed) || lost_a_comm();
}

// A call on a communicator whose messages cannot be distinguished from others': should that change,
// its numbers would begin late.
void leave_uncounted(MPI_Comm comm) {
  const std::lock_guard lock(mutex);
  if (std::find(uncounted().begin(), uncounted().end(), comm) == uncounted().end())
    uncounted().push_back(comm);
}

// A call in a communicator that is ending, or has the handle of one that another thread ends. It is
// not counted, though other ranks may count it: what comes of it would be taken for a call of the
// next communicator of the same tags, and the next call in this one for its first.
void leave_call_uncounted(MPI_Comm comm) {
  if (!is_comm(comm)) return;
  const TagFilter filter = probe_tags(comm);
  if (filter.mask == 0) return leave_uncounted(comm);
  const std::lock_guard lock(mutex);
  tainted().insert(filter.value);
}

}  // namespace

void never_compare(MPI_Comm comm) noexcept {
  try {
    leave_uncounted(comm);
  } catch (const std::bad_alloc&) { never_compare_any(); }
}

void never_compare_any() noexcept { miscounted.store(true, std::memory_order_relaxed); }

Collecting::Collecting(CollectiveCall&& call, MPI_Comm comm, const int& rc,
                       const MPI_Request* request)
    : rc_(rc), request_(request), form_(call.form) {
  attach(std::move(call), comm);
}

Collecting::~Collecting() {
  const CollectiveAttachment attachment = std::exchange(attachments.collective, {});
  if (attachment.length == 0) return;
  if (rc_ != MPI_SUCCESS) take_back(attachment);
  if (rc_ == MPI_SUCCESS && !attachment.begun) begin(attachment);
  if (rc_ != MPI_SUCCESS || request_ == nullptr) return;
  try {
    keep_request(attachment);
  } catch (const std::bad_alloc&) {  // its starts go unchecked, or its end is not seen
  }
}

void Collecting::keep_request(const CollectiveAttachment& attachment) const {
  Incomplete incomplete;
  {
    const std::lock_guard lock(mutex);
    if (const Ledger* ledger = ledger_of(attachment.filter.value)) incomplete = ledger->incomplete;
  }
  if (incomplete == nullptr) return;
  if (form_ == Form::kPersistent) {
    ++incomplete->persistent;
    keep_collective(*request_, attachment, incomplete);
  } else {
    ++incomplete->nonblocking;
    await_collective(*request_, incomplete);
  }
}

// MPI refused the call: it is none, unless it had begun, as where a rank gets more of a broadcast
// than it has room for: then the others count it.
void Collecting::take_back(const CollectiveAttachment& attachment) noexcept {
  const std::lock_guard lock(mutex);
  Ledger* ledger = ledger_of(attachment.filter.value);
  if (ledger == nullptr) return;
  if (!attachment.has_begun()) return uncount(*ledger, attachment);
  ledger->diverged = true;
}

void abandon_collective(const CollectiveAttachment& attachment) noexcept {
  const std::lock_guard lock(mutex);
  if (Ledger* ledger = ledger_of(attachment.filter.value)) ledger->diverged = true;
}

namespace {

// Between two groups only some of the arguments count, and the others may be anything: datatypes,
// too.
void forget_data(CollectiveCall& call) noexcept {
  call.gives.reset();
  call.expects.reset();
  call.lengths.clear();
  call.types.clear();
}

constexpr bool has_root(Collective operation) noexcept {
  switch (operation) {
    case Collective::kBcast:
    case Collective::kReduce:
    case Collective::kGather:
    case Collective::kGatherv:
    case Collective::kScatter:
    case Collective::kScatterv: return true;
    default: return false;
  }
}

// MPI will return an error.
bool is_refused(const CollectiveCall& call, const Ledger& ledger) noexcept {
  if ((call.gives && call.gives->count < 0) || (call.expects && call.expects->count < 0))
    return true;
  return has_root(call.operation) && !ledger.two_groups &&
         (call.root < 0 || call.root >= ledger.ranks);
}

}  // namespace

void Collecting::attach(CollectiveCall&& call, MPI_Comm comm) {
  if (!mpi_runs() || has_miscounted() || comm == handles().comm_null) return;
  CommInfo* info = find_comm(comm);
  try {
    if (info == nullptr) return leave_call_uncounted(comm);
    if (info->filter.mask == 0) {
      leave_uncounted(comm);
      return;
    }
    if (call.operation == Collective::kNone) throw std::bad_alloc();
    if (info->two_groups) forget_data(call);
    TypeInfo* expected = call.expects ? find_type(call.expects->datatype) : nullptr;
    std::vector<TypeRef> types;
    for (MPI_Datatype type : call.types) {
      TypeInfo* of_rank = type != handles().type_null ? find_type(type) : nullptr;
      types.push_back(of_rank != nullptr ? TypeRef(of_rank) : TypeRef());
    }
    TypeInfo* given = call.gives ? find_type(call.gives->datatype) : nullptr;
    std::unique_lock lock(mutex);
    Ledger* ledger = ledger_of(info->filter.value);
    if (ledger == nullptr) {
      lock.unlock();
      Facts facts = facts_of(comm, *info);
      lock.lock();
      ledger = ledger_of(info->filter.value);
      if (ledger == nullptr) ledger = make_ledger(comm, *info, std::move(facts));
    }
    if (ledger == nullptr || ledger->diverged || ledger->ranks < 2 || is_refused(call, *ledger))
      return;
    uncount_around(*ledger);
    // Further numbers would be those of old calls.
    ledger->diverged = ledger->diverged || ledger->calls == UINT32_MAX;
    if (ledger->diverged) return;
    ledger->name = name_of(*info);
    Own own{++ledger->calls, std::move(call), expected != nullptr ? TypeRef(expected) : TypeRef(),
            std::move(types), thread.site};
    attachments.collective = {info->of_collectives, bytes_,
                              write_call(own, given, *ledger, bytes_)};
    keep_call(*ledger, std::move(own));
  } catch (const std::bad_alloc&) {
    miscounted.store(true, std::memory_order_relaxed);
    attachments.collective = {};
  }
}

void collective_begins() noexcept { begin(attachments.collective); }

void collective_arrived(const uint8_t* bytes, size_t length) noexcept {
  CollectiveTail tail;
  size_t record_length;
  if (!read_tail(bytes, length, &tail, &record_length) || has_miscounted()) return;
  try {
    const std::lock_guard lock(mutex);
    Ledger* ledger = ledger_of(tail.communicator);
    if (ledger != nullptr && compare_arrived(*ledger, bytes, length)) return;
    if (early().size() >= kMostEarly) return count_unchecked(Unchecked::kEarly);
    early().emplace(Early{tail.communicator, tail.number},
                    std::vector<uint8_t>{bytes, bytes + length});
  } catch (const std::bad_alloc&) {  // it goes unchecked
  }
}

namespace {

bool any_early() noexcept {
  const std::lock_guard lock(mutex);
  return !early().empty();
}

}  // namespace

// One that was never seen is not probed now, when it ends, for nothing.
void forget_collectives(MPI_Comm comm) {
  if (!mpi_runs()) return;
  {
    const std::lock_guard lock(mutex);
    std::erase(uncounted(), comm);
  }
  const CommInfo* info = CommTable::known(comm);
  if (info == nullptr && (comm == handles().comm_null || !any_early())) return;
  const TagFilter filter = info != nullptr ? info->filter : probe_tags(comm);
  if (filter.mask == 0) return;  // nothing was counted, and the value is none
  const uint64_t communicator = filter.value;
  const std::lock_guard lock(mutex);
  const Ledger* freed = ledger_of(communicator);
  try {
    if (freed != nullptr &&
        (freed->incomplete->nonblocking != 0 || freed->incomplete->persistent != 0))
      tainted().insert(communicator);
  } catch (const std::bad_alloc&) { miscounted.store(true, std::memory_order_relaxed); }
  std::erase_if(ledgers(),
                [&](const auto& ledger) { return ledger->filter.value == communicator; });
  early().erase(early().lower_bound({communicator, 0}),
                early().upper_bound({communicator, UINT32_MAX}));
}

void forget_all_collectives() noexcept {
  forget_all_collective_requests();
  const std::lock_guard lock(mutex);
  ledgers().clear();
  early().clear();
  uncounted().clear();
  tainted().clear();
}

}  // namespace verity::mpi
