// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/collectives/ledger.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "mpi/check/findings.h"
#include "mpi/collectives/report.h"
#include "mpi/process/this_process.h"
#include "signature/rules.h"

namespace verity::mpi {

namespace {

// Whether the operation, its root or its reduction differ: then nothing else can be compared.
const char* call_difference(const Ledger& ledger, const Own& own,
                            const CollectiveTail& theirs) noexcept {
  if (theirs.operation != own.call.operation || form_of(theirs) != own.call.form)
    return "another operation";
  if (!ledger.two_groups && theirs.root != own.call.root) return "another root";
  // Each of two groups has its data reduced by itself, and the standard does not say that both have
  // to name the same reduction.
  if (!ledger.two_groups && theirs.reduction != own.call.reduction)
    return "another reduction operation";
  return nullptr;
}

// What this rank expects of that one; nullptr: nothing that is known.
const TypeInfo* type_from(const Own& own, uint32_t rank) noexcept {
  const TypeRef* type = &own.type;
  if (!own.types.empty()) type = rank < own.types.size() ? &own.types[rank] : nullptr;
  return type != nullptr && *type ? &**type : nullptr;
}

// How long the block is that this rank expects of that one, in copies of its type. Negative: it
// expects none that could be compared.
MPI_Count expected_of(const Own& own, const CollectiveTail& theirs) noexcept {
  const TypeInfo* type = type_from(own, theirs.rank);
  if (!own.call.expects || type == nullptr || !type->checkable) return -1;
  if (own.call.lengths.empty()) return own.call.expects->count;
  return theirs.rank < own.call.lengths.size() ? own.call.lengths[theirs.rank] : -1;
}

// Of blocks whose length is not sent only those of one basic type on both sides can be compared.
bool is_comparable(const Own& own, const TypeInfo& type, const signature::Record& record,
                   MPI_Count copies) noexcept {
  if (!own.call.by_element) return true;
  return copies != 0 && record.homogeneous() && type.type.homogeneous();
}

// While one rank is in the call, messages of its earlier, nonblocking ones leave with what this one
// says, to any rank.
bool is_for_others(const Ledger& ledger, const Own& own, uint32_t rank) noexcept {
  const Collective operation = own.call.operation;
  const bool by_neighbours =
      operation == Collective::kNeighborAllgather || operation == Collective::kNeighborAlltoall;
  return by_neighbours && !ledger.sources.contains(rank);
}

// The tail of the call that this thread is in, when it is this one; nullptr: it has returned.
uint8_t* tail_under_way(const Ledger& ledger, const Own& own) noexcept {
  const CollectiveAttachment& attachment = attachments.collective;
  if (attachment.length < sizeof(CollectiveTail) || attachment.filter.value != ledger.filter.value)
    return nullptr;
  uint8_t* const tail = attachment.signature + attachment.length - sizeof(CollectiveTail);
  CollectiveTail ours;
  std::memcpy(&ours, tail, sizeof(ours));
  return ours.number == own.number ? tail : nullptr;
}

// Two ranks that get each other's messages would both report the same. A message sent after the
// first one's report says so to the second (CollectiveTail::reported). Of two ranks that have sent
// before they received (`both` compare, and neither ends over it) the lower one reports. Among more
// ranks it is not known whom a call has sent to: then both do.
bool other_reports(const Ledger& ledger, const Own& own, const CollectiveTail& theirs,
                   bool both) noexcept {
  const auto rank = static_cast<uint32_t>(ledger.rank);
  if (ledger.two_groups) return false;
  if (theirs.reported == known_rank(rank)) return true;
  return both && ledger.ranks == 2 && theirs.rank < rank && attachments.collective.consumed &&
         tail_under_way(ledger, own) != nullptr;
}

// Messages sent from now on say so.
void note_reported(const Ledger& ledger, const Own& own, const CollectiveTail& theirs) noexcept {
  uint8_t* const tail = tail_under_way(ledger, own);
  if (tail != nullptr) tail[offsetof(CollectiveTail, reported)] = known_rank(theirs.rank);
}

// Whether each rank expects data of each other one, finds that these differ (neither gives what it
// does not expect itself), and goes on over it: they are as long as the ones expected.
bool both_compare(const Own& own, const CollectiveTail& theirs, const signature::Record& record,
                  const signature::Received& expected) noexcept {
  if (settings().check == Check::kError || !record.homogeneous() || !expected.type.homogeneous() ||
      (theirs.flags & kSameBothWays) == 0 || !is_same_both_ways(own.call))
    return false;
  if (record.count * record.basic.size !=
      signature::multiply_counts(expected.type.bytes(), expected.copies))
    return false;
  switch (own.call.operation) {
    case Collective::kAllreduce:
    case Collective::kAllgather:
    case Collective::kAlltoall:
    case Collective::kReduceScatter:
    case Collective::kReduceScatterBlock: return true;
#ifndef OPEN_MPI  // whose lower one gets nothing
    case Collective::kScan:
    case Collective::kExscan: return true;
#endif
    default: return false;
  }
}

void compare_blocks(const Ledger& ledger, const Own& own, const CollectiveTail& theirs,
                    const uint8_t* bytes, size_t length) {
  const MPI_Count copies = expected_of(own, theirs);
  if (copies < 0 || ledger.two_groups || is_for_others(ledger, own, theirs.rank) ||
      ((theirs.flags & kByElement) != 0) != own.call.by_element)
    return;
  signature::Record record;
  std::span<const uint8_t> description;
  if (signature::read_record(bytes, length, &record, &description) != nullptr)
    return count_unchecked(Unchecked::kUnreadable);
  const TypeInfo& type = *type_from(own, theirs.rank);
  if (!is_comparable(own, type, record, copies)) return;
  const signature::Received expected{
      .type = type.type,
      .copies = static_cast<uint64_t>(own.call.by_element ? 1 : copies),
      .length = own.call.by_element ? signature::Length::kAtMost : signature::Length::kExact};
  const signature::Verdict verdict =
      signature::compare(record, description, expected, settings().level);
  if (verdict.outcome == signature::Outcome::kNoCheck) return count_unchecked(verdict.reason);
  count_checked();
  if (verdict.outcome == signature::Outcome::kEqual) return;
  const signature::Explanation words = signature::explain(verdict, record, description, expected);
  const bool known =
      other_reports(ledger, own, theirs, both_compare(own, theirs, record, expected));
  report_collective({.communicator = *ledger.comm,
                     .comm = ledger.name,
                     .number = own.number,
                     .theirs = {static_cast<int>(record.epoch), theirs.operation, form_of(theirs),
                                theirs.root, theirs.reduction, record.site, words.sent},
                     .own = {process_number(), own.call.operation, own.call.form, own.call.root,
                             own.call.reduction, own.site, words.expected},
                     .difference = words.verdict,
                     .known = known});
  if (!known) note_reported(ledger, own, theirs);
}

// The site of the sender and its rank, where the record can be read.
signature::Record record_of(const uint8_t* bytes, size_t length) noexcept {
  signature::Record record;
  std::span<const uint8_t> description;
  (void)signature::read_record(bytes, length, &record, &description);
  return record;
}

void compare(Ledger& ledger, const Own& own, const CollectiveTail& theirs, const uint8_t* bytes,
             size_t length) {
  const char* difference = call_difference(ledger, own, theirs);
  if (difference == nullptr) return compare_blocks(ledger, own, theirs, bytes, length);
  ledger.diverged = true;
  count_checked();
  const signature::Record record = record_of(bytes, length);
  report_collective({.communicator = *ledger.comm,
                     .comm = ledger.name,
                     .number = own.number,
                     .theirs = {static_cast<int>(record.epoch), theirs.operation, form_of(theirs),
                                theirs.root, theirs.reduction, record.site, ""},
                     .own = {process_number(), own.call.operation, own.call.form, own.call.root,
                             own.call.reduction, own.site, ""},
                     .difference = difference,
                     .known = other_reports(ledger, own, theirs, false)});
  note_reported(ledger, own, theirs);
}

const Own* find_own(const std::deque<Own>& calls, uint32_t number) noexcept {
  const auto found = std::lower_bound(calls.begin(), calls.end(), number,
                                      [](const Own& own, uint32_t n) { return own.number < n; });
  return found != calls.end() && found->number == number ? &*found : nullptr;
}

constexpr size_t kKept = 32;  // own calls of a communicator that are complete
// Of the calls that may be under way, and the blocks of all of them.
constexpr size_t kMostKept = 4096;
constexpr size_t kMostBlocks = size_t{1} << 18;

// Persistent calls may be started, and where nonblocking ones are not complete, messages of any of
// the last ones may come.
size_t most_kept(const Ledger& ledger, bool persistent) noexcept {
  if (persistent) return kMostKept;
  if (ledger.incomplete->nonblocking == 0) return kKept;
  return std::clamp(kMostBlocks / static_cast<size_t>(std::max(ledger.ranks, 1)), kKept, kMostKept);
}

}  // namespace

void keep_call(Ledger& ledger, Own&& own) {
  const bool persistent = own.call.form == Form::kPersistent;
  std::deque<Own>& calls = persistent ? ledger.persistent : ledger.own;
  const size_t most = most_kept(ledger, persistent);
  while (calls.size() >= most) calls.pop_front();
  calls.push_back(std::move(own));
}

bool is_same_both_ways(const CollectiveCall& call) noexcept {
  return call.gives && call.expects && call.lengths.empty() &&
         call.gives->count == call.expects->count && call.gives->datatype == call.expects->datatype;
}

bool compare_arrived(Ledger& ledger, const uint8_t* bytes, size_t length) {
  CollectiveTail theirs;
  size_t record_length;
  if (ledger.diverged || !read_tail(bytes, length, &theirs, &record_length)) return true;
  if (theirs.number > ledger.calls) return false;
  const Own* own = find_own(form_of(theirs) == Form::kPersistent ? ledger.persistent : ledger.own,
                            theirs.number);
  if (own == nullptr)
    own = find_own(form_of(theirs) == Form::kPersistent ? ledger.own : ledger.persistent,
                   theirs.number);
  if (own != nullptr && !own->begun) return false;
  if (own != nullptr) compare(ledger, *own, theirs, bytes, record_length);
  return true;
}

namespace {

// Of this process's last call; nullptr: the attachment is an earlier one's, as that of MPI_Start.
Own* last_own(Ledger& ledger, const CollectiveAttachment& attachment) noexcept {
  CollectiveTail tail;
  std::memcpy(&tail, attachment.signature + attachment.length - sizeof(tail), sizeof(tail));
  std::deque<Own>& calls = form_of(tail) == Form::kPersistent ? ledger.persistent : ledger.own;
  const bool is_last =
      ledger.calls == tail.number && !calls.empty() && calls.back().number == tail.number;
  return is_last ? &calls.back() : nullptr;
}

}  // namespace

void note_begun(Ledger& ledger, const CollectiveAttachment& attachment) noexcept {
  if (Own* own = last_own(ledger, attachment)) own->begun = true;
}

void uncount(Ledger& ledger, const CollectiveAttachment& attachment) noexcept {
  const Own* own = last_own(ledger, attachment);
  ledger.diverged = ledger.diverged || own == nullptr;
  if (own == nullptr) return;
  --ledger.calls;
  (own->call.form == Form::kPersistent ? ledger.persistent : ledger.own).pop_back();
}

void uncount_around(Ledger& ledger) noexcept {
  if (attachments.around == nullptr) return;
  CollectiveAttachment& around = attachments.around->collective;
  if (around.length == 0 || around.filter.value != ledger.filter.value) return;
  const Own* own = last_own(ledger, around);
  if (own == nullptr || own->begun) return;
  uncount(ledger, around);
  around.length = 0;
}

}  // namespace verity::mpi
