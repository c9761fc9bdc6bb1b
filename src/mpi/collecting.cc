// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/collecting.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <new>
#include <string>

#include "mpi/collective_report.h"
#include "mpi/findings.h"
#include "mpi/library.h"
#include "mpi/reduction.h"
#include "mpi/state.h"

namespace verity::mpi {

namespace {

constexpr size_t kRemembered = 32;   // own calls of a communicator
constexpr size_t kMostEarly = 1024;  // messages of calls that this process has not made yet
constexpr size_t kMostComms = 4096;

// One's own call, until it is old.
struct Own {
  uint32_t number;
  CollectiveCall call;
  TypeRef type;  // of what is expected
  uint64_t site;
};

// Which collective operations were called on a communicator.
struct Ledger {
  TagFilter filter;
  uint32_t calls = 0;
  int rank = -1, ranks = 0;
  bool apart = false;  // the ranks' calls differ: their numbers mean nothing any more
  std::string name;
  std::deque<Own> own;
};

struct Early {
  uint64_t communicator;
  std::vector<uint8_t> bytes;
};

std::mutex mutex;
std::vector<std::unique_ptr<Ledger>>& ledgers() noexcept {  // never destroyed: messages may arrive while the process ends
  static auto& made = *new std::vector<std::unique_ptr<Ledger>>;
  return made;
}
std::deque<Early>& early() noexcept {
  static auto& made = *new std::deque<Early>;
  return made;
}

std::vector<MPI_Comm>& uncounted() noexcept {
  static auto& made = *new std::vector<MPI_Comm>;
  return made;
}

Ledger* ledger_of(uint64_t communicator) noexcept {
  for (const auto& ledger : ledgers()) {
    if (ledger->filter.value == communicator) return ledger.get();
  }
  return nullptr;
}

// ---- comparing ----------------------------------------------------------------------------------------------------------------

// Whether the operation, its root or its reduction differ: then nothing else can be compared.
const char* call_difference(const Own& own, const CollectiveTail& theirs) noexcept {
  const bool nonblocking = (theirs.flags & kNonblocking) != 0;
  if (theirs.operation != own.call.operation || nonblocking != own.call.nonblocking) return "another operation";
  if (theirs.root != own.call.root) return "another root";
  if (theirs.reduction != own.call.reduction) return "another reduction operation";
  return nullptr;
}

// How long the block is that this rank expects of that one, in copies of its type. Negative: it expects none that could be compared.
MPI_Count expected_of(const Own& own, const CollectiveTail& theirs) noexcept {
  if (!own.call.expects || !own.type || !own.type->checkable) return -1;
  if (own.call.lengths.empty()) return own.call.expects->count;
  return theirs.rank < own.call.lengths.size() ? own.call.lengths[theirs.rank] : -1;
}

// Of blocks whose length is not told only those of one basic type on both sides can be compared.
bool is_comparable(const Own& own, const signature::Record& record, MPI_Count copies) noexcept {
  if (!own.call.by_element) return true;
  return copies != 0 && record.homogeneous() && own.type->type.homogeneous();
}

void compare_blocks(const Ledger& ledger, const Own& own, const CollectiveTail& theirs, const uint8_t* bytes, size_t length) {
  const MPI_Count copies = expected_of(own, theirs);
  if (copies < 0 || ((theirs.flags & kByElement) != 0) != own.call.by_element) return;
  signature::Record record;
  std::span<const uint8_t> description;
  if (signature::read_record(bytes, length, &record, &description) != nullptr) return count_unchecked(Unchecked::kUnreadable);
  if (!is_comparable(own, record, copies)) return;
  const signature::Received expected{.type = own.type->type,
                                     .copies = static_cast<uint64_t>(own.call.by_element ? 1 : copies),
                                     .length = own.call.by_element ? signature::Length::kAtMost : signature::Length::kExact};
  const signature::Verdict verdict = signature::compare(record, description, expected, settings().level);
  if (verdict.outcome == signature::Outcome::kNoCheck) return count_unchecked(verdict.reason);
  count_checked();
  if (verdict.outcome == signature::Outcome::kEqual) return;
  const signature::Explanation words = signature::explain(verdict, record, description, expected);
  report_collective({.comm = ledger.name,
                     .number = own.number,
                     .theirs = {static_cast<int>(record.epoch), theirs.operation, (theirs.flags & kNonblocking) != 0, theirs.root,
                                theirs.reduction, record.site, words.sent},
                     .own = {world_rank(), own.call.operation, own.call.nonblocking, own.call.root, own.call.reduction, own.site,
                             words.expected},
                     .difference = words.verdict});
}

// The site of the sender and its rank, where the record can be read.
signature::Record record_of(const uint8_t* bytes, size_t length) noexcept {
  signature::Record record;
  std::span<const uint8_t> description;
  (void)signature::read_record(bytes, length, &record, &description);
  return record;
}

void compare(Ledger& ledger, const Own& own, const CollectiveTail& theirs, const uint8_t* bytes, size_t length) {
  const char* difference = call_difference(own, theirs);
  if (difference == nullptr) return compare_blocks(ledger, own, theirs, bytes, length);
  ledger.apart = true;
  const signature::Record record = record_of(bytes, length);
  report_collective({.comm = ledger.name,
                     .number = own.number,
                     .theirs = {static_cast<int>(record.epoch), theirs.operation, (theirs.flags & kNonblocking) != 0, theirs.root,
                                theirs.reduction, record.site, ""},
                     .own = {world_rank(), own.call.operation, own.call.nonblocking, own.call.root, own.call.reduction, own.site, ""},
                     .difference = difference});
}

// False: this process has not come to that call yet.
bool settle(Ledger& ledger, const uint8_t* bytes, size_t length) {
  CollectiveTail theirs;
  size_t record_length;
  if (ledger.apart || !read_tail(bytes, length, &theirs, &record_length)) return true;
  if (theirs.number > ledger.calls) return false;
  for (const Own& own : ledger.own) {
    if (own.number != theirs.number) continue;
    compare(ledger, own, theirs, bytes, record_length);
    break;
  }
  return true;
}

// Inside of UCP's progress.
void arrived(const uint8_t* bytes, size_t length) noexcept {
  CollectiveTail tail;
  size_t record_length;
  if (length < sizeof(signature::Record) + sizeof(tail)) [[likely]] return;
  signature::Record head;
  std::memcpy(&head, bytes, sizeof(head));
  if (head.family() != kCollectiveFamily || !read_tail(bytes, length, &tail, &record_length)) return;
  try {
    const std::lock_guard lock(mutex);
    Ledger* ledger = ledger_of(tail.communicator);
    if (ledger != nullptr && settle(*ledger, bytes, length)) return;
    if (early().size() >= kMostEarly) early().pop_front();
    early().push_back({tail.communicator, {bytes, bytes + length}});
  } catch (const std::bad_alloc&) {  // it goes unchecked
  }
}

// ---- calls of this process ----------------------------------------------------------------------------------------------------

// A communicator whose calls were not counted from the first on, or one of two groups: each of these has its own numbers.
struct Facts {
  bool apart = false;
  int rank = -1, ranks = 0;
};

Facts facts_of(MPI_Comm comm) noexcept {
  Facts facts;
  int between_groups = 0;
  facts.apart = library().Comm_test_inter(comm, &between_groups) != MPI_SUCCESS || between_groups != 0;
  library().Comm_rank(comm, &facts.rank);
  library().Comm_size(comm, &facts.ranks);
  return facts;
}

// No MPI call under the lock: the other way round it is taken inside of MPI's progress.
Ledger* make_ledger(MPI_Comm comm, const CommInfo& info, const Facts& facts) {
  // Once there is no room for one, numbers that begin later would not be those of other ranks: no further ones from then on.
  static bool full = false;
  full = full || ledgers().size() >= kMostComms;
  if (full) return nullptr;
  auto made = std::make_unique<Ledger>();
  made->filter = info.filter;
  made->apart = facts.apart || std::find(uncounted().begin(), uncounted().end(), comm) != uncounted().end();
  made->rank = facts.rank;
  made->ranks = facts.ranks;
  ledgers().push_back(std::move(made));
  return ledgers().back().get();
}

// What came before this process's own call.
void settle_early(Ledger& ledger) {
  for (auto it = early().begin(); it != early().end();) {
    const bool done = it->communicator == ledger.filter.value && settle(ledger, it->bytes.data(), it->bytes.size());
    it = done ? early().erase(it) : it + 1;
  }
}

size_t write_call(const Own& own, TypeInfo* type, const Ledger& ledger, uint8_t* out) noexcept {
  const CollectiveCall& call = own.call;
  size_t length = 0;
  if (type != nullptr) {
    length = write_signature(*type, call.gives->count, own.site, kCollectiveFamily, out, kMaxSignature - sizeof(CollectiveTail));
  }
  if (length == 0) {  // an operation without data, or of data that are not known: who calls, and where
    signature::Record record;
    record.site = own.site;
    record.epoch = static_cast<uint32_t>(world_rank());
    record.flags = signature::kHasOpaque;
    signature::set_family(&record, kCollectiveFamily);
    length = signature::write_record(record, {}, out, kMaxSignature - sizeof(CollectiveTail));
  }
  const CollectiveTail tail{own.number, call.root, static_cast<uint32_t>(ledger.rank), call.operation, call.reduction,
                            static_cast<uint8_t>((call.nonblocking ? kNonblocking : 0) | (call.by_element ? kByElement : 0)), 0,
                            ledger.filter.value};
  std::memcpy(out + length, &tail, sizeof(tail));
  return length + sizeof(tail);
}

// A call that could not be counted: this rank's numbers are not those of the others any more.
constinit std::atomic<bool> miscounted{false};

// A call on a communicator whose messages cannot be told from others': should that change, its numbers would begin late.
void leave_uncounted(MPI_Comm comm) {
  const std::lock_guard lock(mutex);
  if (std::find(uncounted().begin(), uncounted().end(), comm) == uncounted().end()) uncounted().push_back(comm);
}

}  // namespace

Collecting::Collecting(CollectiveCall&& call, MPI_Comm comm) noexcept {
  if (!mpi_runs() || miscounted.load(std::memory_order_relaxed)) return;
  const CommInfo* info = find_comm(comm);
  if (info == nullptr) return;
  try {
    if (info->filter.mask == 0) {
      leave_uncounted(comm);
      return;
    }
    if (call.operation == Collective::kNone) throw std::bad_alloc();
    TypeInfo* expected = call.expects ? find_type(call.expects->datatype) : nullptr;
    TypeInfo* given = call.gives ? find_type(call.gives->datatype) : nullptr;
    std::unique_lock lock(mutex);
    Ledger* ledger = ledger_of(info->filter.value);
    if (ledger == nullptr) {
      lock.unlock();
      const Facts facts = facts_of(comm);
      lock.lock();
      ledger = ledger_of(info->filter.value);
      if (ledger == nullptr) ledger = make_ledger(comm, *info, facts);
    }
    if (ledger == nullptr || ledger->apart || ledger->ranks < 2) return;
    ledger->name = info->name.data();
    if (ledger->own.size() >= kRemembered) ledger->own.pop_front();
    ledger->own.push_back({++ledger->calls, std::move(call), expected != nullptr ? TypeRef(expected) : TypeRef(), thread.site});
    armed.collective = {info->filter, bytes_, write_call(ledger->own.back(), given, *ledger, bytes_)};
    if (!early().empty()) settle_early(*ledger);
  } catch (const std::bad_alloc&) {
    miscounted.store(true, std::memory_order_relaxed);
    armed.collective = {};
  }
}

void listen_to_collectives() noexcept { on_arrival(arrived); }

void forget_collectives(MPI_Comm comm) noexcept {
  const CommInfo* info = mpi_runs() ? find_comm(comm) : nullptr;
  if (info == nullptr) return;
  const uint64_t communicator = info->filter.value;
  const std::lock_guard lock(mutex);
  std::erase_if(ledgers(), [&](const auto& ledger) { return ledger->filter.value == communicator; });
  std::erase_if(early(), [&](const Early& message) { return message.communicator == communicator; });
  std::erase(uncounted(), comm);
}

}  // namespace verity::mpi
