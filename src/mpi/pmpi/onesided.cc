// SPDX-License-Identifier: BSD-3-Clause
// One-sided operations name the datatypes of both sides in one call: they are compared before it is
// made, as MPI libraries may end the process over some. Where mismatches are errors it is not made.
#include <optional>

#include "mpi/check/findings.h"
#include "mpi/handles/buffer.h"
#include "mpi/pmpi/wrap.h"
#include "signature/rules.h"

using namespace verity::mpi;  // NOLINT: the wrappers are C functions

namespace {

namespace signature = verity::signature;

// nullopt: no memory.
std::optional<Finding> finding_of(const signature::Verdict& verdict,
                                  const signature::Record& record, const TypeInfo& from,
                                  TypeInfo* to, MPI_Count count, const Remote& remote) noexcept {
  try {
    Finding finding{.verdict = verdict,
                    .sender = record,
                    .description = {from.description, from.description + from.description_length},
                    .received_bytes = signature::kWhole,
                    .receive = {},
                    .remote = remote};
    finding.sender.site = thread.site;
    finding.receive.type = TypeRef(to);
    finding.receive.count = static_cast<uint64_t>(count);
    finding.receive.site = thread.site;
    finding.receive.call = thread.name;
    return finding;
  } catch (const std::bad_alloc&) { return std::nullopt; }
}

// An error handler may throw.
int add_mismatch(const signature::Verdict& verdict, const signature::Record& record,
                 const TypeInfo& from, TypeInfo* to, MPI_Count count, const Remote& remote) {
  const std::optional<Finding> finding = finding_of(verdict, record, from, to, count, remote);
  return finding ? raise_remote(*finding) : MPI_SUCCESS;  // unreported
}

// Data go from one buffer to the other. Returns MPI_SUCCESS or, where mismatches are errors,
// MPI_ERR_TYPE.
int compare_buffers(Buffer from, Buffer to, const Remote& remote) {
  if (remote.target == MPI_PROC_NULL || from.count < 0 || to.count < 0 || !mpi_runs())
    return MPI_SUCCESS;
  const TypeInfo* sent = find_type(from.datatype);
  TypeInfo* received = sent != nullptr ? find_type(to.datatype) : nullptr;
  if (received == nullptr || !sent->checkable || !received->checkable) {
    count_unchecked(Unchecked::kUndecoded);
    return MPI_SUCCESS;
  }
  const signature::Record record =
      signature::make_record(sent->type, static_cast<uint64_t>(from.count), settings().level);
  const signature::Verdict verdict = signature::compare(
      record, {sent->description, sent->description_length},
      {.type = received->type, .copies = static_cast<uint64_t>(to.count)}, settings().level);
  if (verdict.outcome == signature::Outcome::kNoCheck) {
    count_unchecked(verdict.reason);
    return MPI_SUCCESS;
  }
  count_checked();
  if (verdict.outcome == signature::Outcome::kEqual) return MPI_SUCCESS;
  return add_mismatch(verdict, record, *sent, received, to.count, remote);
}

}  // namespace

#define CHECK(comparison) \
  call.rc = comparison;   \
  if (call.rc != MPI_SUCCESS) return
#define TO_TARGET                                                                       \
  compare_buffers(Buffer{origin_count, origin_type}, Buffer{target_count, target_type}, \
                  Remote{win, target, false})
#define FROM_TARGET                                                                     \
  compare_buffers(Buffer{target_count, target_type}, Buffer{origin_count, origin_type}, \
                  Remote{win, target, true})
#define INTO_RESULT                                                                     \
  compare_buffers(Buffer{target_count, target_type}, Buffer{result_count, result_type}, \
                  Remote{win, target, true})
// MPI_NO_OP sends nothing: its origin says nothing.
#define FETCH                                             \
  CHECK(op == handles().no_op ? MPI_SUCCESS : TO_TARGET); \
  CHECK(INTO_RESULT)
// What a caller may wait for though it was not begun.
#define NO_REQUEST \
  if (request != nullptr) *request = handles().request_null

#define ENDS(Count) int target, MPI_Aint disp, Count target_count, MPI_Datatype target_type
#define ENDS_ARGUMENTS target, disp, target_count, target_type

#define PUT(name, Count)                                                                      \
  VERITY_WRAP(name,                                                                           \
              (const void* origin, Count origin_count, MPI_Datatype origin_type, ENDS(Count), \
               MPI_Win win),                                                                  \
              (origin, origin_count, origin_type, ENDS_ARGUMENTS, win), CHECK(TO_TARGET))
#define RPUT(name, Count)                                                                     \
  VERITY_WRAP(name,                                                                           \
              (const void* origin, Count origin_count, MPI_Datatype origin_type, ENDS(Count), \
               MPI_Win win, MPI_Request* request),                                            \
              (origin, origin_count, origin_type, ENDS_ARGUMENTS, win, request), NO_REQUEST;  \
              CHECK(TO_TARGET))
#define GET(name, Count)                                                                      \
  VERITY_WRAP(                                                                                \
      name,                                                                                   \
      (void* origin, Count origin_count, MPI_Datatype origin_type, ENDS(Count), MPI_Win win), \
      (origin, origin_count, origin_type, ENDS_ARGUMENTS, win), CHECK(FROM_TARGET))
#define RGET(name, Count)                                                                    \
  VERITY_WRAP(name,                                                                          \
              (void* origin, Count origin_count, MPI_Datatype origin_type, ENDS(Count),      \
               MPI_Win win, MPI_Request* request),                                           \
              (origin, origin_count, origin_type, ENDS_ARGUMENTS, win, request), NO_REQUEST; \
              CHECK(FROM_TARGET))
#define ACCUMULATE(name, Count)                                                               \
  VERITY_WRAP(name,                                                                           \
              (const void* origin, Count origin_count, MPI_Datatype origin_type, ENDS(Count), \
               MPI_Op op, MPI_Win win),                                                       \
              (origin, origin_count, origin_type, ENDS_ARGUMENTS, op, win), CHECK(TO_TARGET))
#define RACCUMULATE(name, Count)                                                                 \
  VERITY_WRAP(name,                                                                              \
              (const void* origin, Count origin_count, MPI_Datatype origin_type, ENDS(Count),    \
               MPI_Op op, MPI_Win win, MPI_Request* request),                                    \
              (origin, origin_count, origin_type, ENDS_ARGUMENTS, op, win, request), NO_REQUEST; \
              CHECK(TO_TARGET))
#define GET_ACCUMULATE(name, Count)                                                                \
  VERITY_WRAP(name,                                                                                \
              (const void* origin, Count origin_count, MPI_Datatype origin_type, void* result,     \
               Count result_count, MPI_Datatype result_type, ENDS(Count), MPI_Op op, MPI_Win win), \
              (origin, origin_count, origin_type, result, result_count, result_type,               \
               ENDS_ARGUMENTS, op, win),                                                           \
              FETCH)
#define RGET_ACCUMULATE(name, Count)                                                              \
  VERITY_WRAP(name,                                                                               \
              (const void* origin, Count origin_count, MPI_Datatype origin_type, void* result,    \
               Count result_count, MPI_Datatype result_type, ENDS(Count), MPI_Op op, MPI_Win win, \
               MPI_Request* request),                                                             \
              (origin, origin_count, origin_type, result, result_count, result_type,              \
               ENDS_ARGUMENTS, op, win, request),                                                 \
              NO_REQUEST;                                                                         \
              FETCH)

#ifdef VERITY_MPI4_COUNTS
#define BOTH(SHAPE, name) SHAPE(name, int) SHAPE(name##_c, MPI_Count)
#else
#define BOTH(SHAPE, name) SHAPE(name, int)
#endif

BOTH(PUT, Put)
BOTH(RPUT, Rput)
BOTH(GET, Get)
BOTH(RGET, Rget)
BOTH(ACCUMULATE, Accumulate)
BOTH(RACCUMULATE, Raccumulate)
BOTH(GET_ACCUMULATE, Get_accumulate)
BOTH(RGET_ACCUMULATE, Rget_accumulate)

// Calls that complete such operations, in which messages may arrive too.
VERITY_PASS(Win_fence, 2)
VERITY_PASS(Win_complete, 1)
VERITY_PASS(Win_wait, 1)
VERITY_PASS(Win_unlock, 2)
VERITY_PASS(Win_unlock_all, 1)
VERITY_PASS(Win_flush, 2)
VERITY_PASS(Win_flush_all, 1)
