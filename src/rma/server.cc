// SPDX-License-Identifier: BSD-3-Clause
#include "rma/server_job.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <new>
#include <type_traits>

namespace verity::rma {

namespace {

RmaKind answer_to(uint8_t kind) noexcept {
  return kind == static_cast<uint8_t>(RmaKind::kHash) ? RmaKind::kHashed : RmaKind::kGot;
}

Peer& peer_of(util::ListNode& node) noexcept {
  return static_cast<Peer&>(static_cast<Refusal&>(node));
}

// With the CPU's own instructions: the owner's threads, and other interfaces, may be at the same
// word. What was there before.
template <typename Word>
uint64_t apply(const wire::RmaAtomic& a) noexcept {
  const std::atomic_ref<Word> word(*reinterpret_cast<Word*>(a.address));
  const auto value = static_cast<Word>(a.value);
  switch (static_cast<wire::AtomicOp>(a.header.what & ~wire::kAtomicFetch)) {
    case wire::AtomicOp::kAdd: return word.fetch_add(value);
    case wire::AtomicOp::kAnd: return word.fetch_and(value);
    case wire::AtomicOp::kOr: return word.fetch_or(value);
    case wire::AtomicOp::kXor: return word.fetch_xor(value);
    case wire::AtomicOp::kSwap: return word.exchange(value);
    case wire::AtomicOp::kCompareSwap: {
      auto expected = static_cast<Word>(a.compare);
      (void)word.compare_exchange_strong(expected, value);
      return expected;
    }
  }
  return 0;
}

}  // namespace

Server::~Server() {
  while (jobs_.linked()) end(*static_cast<Job*>(jobs_.next));
  while (refusals_.linked()) refusals_.next->unlink();
}

void Server::end(Job& job) noexcept {
  job.unlink();
  take_back(job);
  Peer& peer = *job.peer;
  --peer.requests;
  peer.answers = static_cast<uint16_t>(peer.answers - job.in_turn());
  if (job.copy != nullptr) peer.copied -= job.request.length;
  delete &job;
}

void Server::put(Peer& peer, const uint8_t* message, size_t length) noexcept {
  wire::RmaPut put{};
  RmaStatus status = RmaStatus::kRefused;
  if (wire::read_message(message, length, &put)) {
    const size_t bytes = length - sizeof(put);
    status = memory_.with(put.token, put.address, bytes, kWrite, [&] {
      return access(put.address, bytes, [&] {
        if (bytes != 0)
          std::memcpy(reinterpret_cast<void*>(put.address), message + sizeof(put), bytes);
      });
    });
    counts(peer).puts_applied += status == RmaStatus::kOk;
    counts(peer).put_bytes_applied += status == RmaStatus::kOk ? bytes : 0;
  }
  if (status != RmaStatus::kOk) refuse_write(peer, put.token, status);
}

// Done at once, since what comes behind it may count on it; only the answer may wait.
void Server::atomic(Peer& peer, const uint8_t* message, size_t length) noexcept {
  wire::RmaAtomic a{};
  const bool good = wire::read_message(message, length, &a) && wire::is_valid_atomic(a);
  const bool fetches = (a.header.what & wire::kAtomicFetch) != 0;
  const wire::RmaRequest request{a.header, a.token, a.address, good ? 1u << a.header.segment : 0,
                                 0};
  const auto refuse_it = [&](RmaStatus status) {  // one that fetches nothing as a put is
    fetches ? refuse(peer, request, status) : refuse_write(peer, a.token, status);
  };
  if (!good) return refuse_it(RmaStatus::kRefused);
  std::unique_ptr<Job> job(fetches && peer.requests < kMaxJobs ? new (std::nothrow) Job : nullptr);
  if (fetches && job == nullptr) return refuse(peer, request, RmaStatus::kBusy);
  uint64_t old = 0;
  const RmaStatus status = memory_.with(a.token, a.address, request.length, kReadWrite, [&] {
    return access(a.address, request.length, [&] {
      old = request.length == sizeof(uint32_t) ? apply<uint32_t>(a) : apply<uint64_t>(a);
    });
  });
  if (status != RmaStatus::kOk) return refuse_it(status);
  counts(peer).atomics_applied++;
  if (job == nullptr) return;
  job->old = old;
  keep(peer, *job.release(), request, RmaStatus::kOk);
}

// Without room the peer's part of this object waits, as there may be no memory either: the peer
// takes its put for applied otherwise. What fails the link stands for what does not.
void Server::refuse_write(Peer& peer, uint64_t token, RmaStatus status) noexcept {
  counts(peer).rma_refused++;
  if (status == RmaStatus::kRefused && regions_.was_revoked(token)) status = RmaStatus::kRevoked;
  Refusal& refusal = peer.refusal();
  if (refusal.linked() && refusal.why != RmaStatus::kRevoked) return;
  refusal.why = status;
  if (!refusal.linked()) refusals_.push_back(refusal);
  (void)send_refusals();
}

unsigned Server::send_refusals() noexcept {
  util::ListNode waiting;
  while (refusals_.linked()) {
    util::ListNode* node = refusals_.next;
    node->unlink();
    waiting.push_back(*node);
  }
  unsigned count = 0;
  while (waiting.linked()) {
    Peer& peer = peer_of(*waiting.next);
    Refusal& refusal = peer.refusal();
    refusal.unlink();  // sending may bring the next put, on the self transport
    if (answer(peer, {RmaKind::kRefused, refusal.why, 0})) {
      ++count;
    } else if (!refusal.linked()) {
      refusals_.push_back(refusal);
    }
  }
  return count;
}

// Without room the answer waits as a job, as the peer waits for it.
void Server::refuse(Peer& peer, const wire::RmaRequest& request, RmaStatus status) noexcept {
  const bool wait = !answer(peer, {answer_to(request.header.kind), status, request.header.id}) &&
                    peer.requests < 2 * kMaxJobs;
  auto* job = wait ? new (std::nothrow) Job : nullptr;
  if (job != nullptr) return keep(peer, *job, request, status);
  counts(peer).rma_refused++;
}

void Server::keep(Peer& peer, Job& job, const wire::RmaRequest& request,
                  RmaStatus status) noexcept {
  job.peer = &peer;
  job.request = request;
  job.status = status;
  ++peer.requests;
  peer.answers = static_cast<uint16_t>(peer.answers + job.in_turn());
  if (job.copy != nullptr) peer.copied += request.length;
  jobs_.push_back(job);
}

void Server::request(Peer& peer, const uint8_t* message, size_t length) noexcept {
  wire::RmaRequest request;
  if (!wire::read_message(message, length, &request)) {
    counts(peer).rma_refused++;
    return;
  }
  if (request.header.kind == static_cast<uint8_t>(RmaKind::kGet)) return get(peer, request);
  auto* job = peer.requests < kMaxJobs ? new (std::nothrow) Job : nullptr;
  if (job == nullptr) return refuse(peer, request, RmaStatus::kBusy);
  const bool good =
      request.header.kind == static_cast<uint8_t>(RmaKind::kHash) && wire::is_valid_hash(request);
  keep(peer, *job, request, good ? RmaStatus::kOk : RmaStatus::kRefused);
}

// The memory is read now: a put to the same place may come right behind.
void Server::get(Peer& peer, const wire::RmaRequest& request) noexcept {
  if (needs_parts(request) && request.length > kMaxGet)
    return refuse(peer, request, RmaStatus::kRefused);
  if (!needs_parts(request) && peer.answers == 0 && answer_get(peer, request, nullptr)) return;
  const bool room =
      peer.copied == 0 || request.length <= kMaxCopied - std::min(peer.copied, kMaxCopied);
  std::unique_ptr<Job> job(room && peer.requests < kMaxJobs ? new (std::nothrow) Job : nullptr);
  if (job != nullptr)
    job->copy.reset(new (std::nothrow) uint8_t[std::max<size_t>(1, request.length)]);
  if (job == nullptr || job->copy == nullptr) return refuse(peer, request, RmaStatus::kBusy);
  const RmaStatus status = read(request, job->copy.get());
  if (status != RmaStatus::kOk) return refuse(peer, request, status);
  keep(peer, *job.release(), request, RmaStatus::kOk);
}

RmaStatus Server::read(const wire::RmaRequest& r, uint8_t* out) noexcept {
  return memory_.with(r.token, r.address, r.length, kRead, [&] {
    if (r.length == 0) return RmaStatus::kOk;
    return access(r.address, r.length,
                  [&] { std::memcpy(out, reinterpret_cast<const void*>(r.address), r.length); });
  });
}

// A job whose link has no room now stays where it is, and those of other links go on.
unsigned Server::poll() noexcept {
  ++polls_;
  unsigned done = send_refusals();
  size_t budget = kSlice;
  for (util::ListNode* node = jobs_.next; node != &jobs_ && budget != 0;) {
    Job& job = *static_cast<Job*>(node);
    node = node->next;
    done += serve(job, &budget);
  }
  return done;
}

bool Server::must_poll() const noexcept {
  for (util::ListNode* node = jobs_.next; node != &jobs_; node = node->next) {
    const Job& job = *static_cast<Job*>(node);
    const bool hashes = job.status == RmaStatus::kOk && job.is_hash() && !job.ready;
    if (hashes || port_.has_room(*job.peer)) return true;
  }
  for (util::ListNode* node = refusals_.next; node != &refusals_; node = node->next) {
    if (port_.has_room(peer_of(*node))) return true;
  }
  return false;
}

unsigned Server::serve(Job& job, size_t* budget) noexcept {
  if (job.status == RmaStatus::kOk && job.is_hash() && !job.ready && !hash(job, budget)) return 0;
  if (job.peer->no_room == polls_) return 0;  // what is shorter must not overtake what found none
  if (!reply(job)) {
    job.peer->no_room = polls_;
    return 0;
  }
  counts(*job.peer).rma_refused += job.status != RmaStatus::kOk;
  end(job);
  return 1;
}

bool Server::reply(Job& job) noexcept {
  if (job.is_hash()) return answer_hash(job);
  if (job.status != RmaStatus::kOk)
    return answer(*job.peer,
                  {answer_to(job.request.header.kind), job.status, job.request.header.id});
  if (job.copy != nullptr && needs_parts(job.request)) return answer_in_parts(job);
  return job.copy != nullptr ? answer_get(*job.peer, job.request, job.copy.get())
                             : answer_atomic(job);
}

// False, here and below, and for digests: the link has no room now. `copy`: what was there when the
// get came; nullptr: it came just now.
bool Server::answer_get(Peer& peer, const wire::RmaRequest& r, const uint8_t* copy) noexcept {
  const size_t length = sizeof(wire::RmaHeader) + r.length;
  uint8_t* out = port_.open_message(peer, length);
  if (out == nullptr) return false;
  uint8_t* bytes = out + sizeof(wire::RmaHeader);
  RmaStatus status = RmaStatus::kOk;
  if (copy == nullptr) {
    status = read(r, bytes);
  } else if (r.length != 0) {
    std::memcpy(bytes, copy, r.length);
  }
  const wire::RmaHeader header{static_cast<uint8_t>(RmaKind::kGot), static_cast<uint8_t>(status), 0,
                               0, r.header.id};
  std::memcpy(out, &header, sizeof(header));
  const bool good = status == RmaStatus::kOk;
  port_.send_message(peer, good ? length : sizeof(header));
  counts(peer).gets_served += good;
  counts(peer).get_bytes_served += good ? r.length : 0;
  counts(peer).rma_refused += !good;
  return true;
}

bool Server::answer_in_parts(Job& job) noexcept {
  const wire::RmaRequest& r = job.request;
  const auto most = static_cast<uint32_t>(port_.max_message() - sizeof(wire::RmaPart));
  while (job.answered < r.length) {
    const uint32_t n = std::min(most, r.length - job.answered);
    uint8_t* out = port_.open_message(*job.peer, sizeof(wire::RmaPart) + n);
    if (out == nullptr) return false;
    const wire::RmaPart part{{static_cast<uint8_t>(RmaKind::kGot), 0, wire::kPart, 0, r.header.id},
                             job.answered};
    std::memcpy(out, &part, sizeof(part));
    std::memcpy(out + sizeof(part), job.copy.get() + job.answered, n);
    port_.send_message(*job.peer, sizeof(part) + n);
    job.answered += n;
  }
  counts(*job.peer).gets_served++;
  counts(*job.peer).get_bytes_served += r.length;
  return true;
}

bool Server::answer_atomic(Job& job) noexcept {
  const wire::RmaHeader header{static_cast<uint8_t>(RmaKind::kGot), 0, 0, 0, job.request.header.id};
  const size_t length = sizeof(header) + job.request.length;
  uint8_t* out = port_.open_message(*job.peer, length);
  if (out == nullptr) return false;
  std::memcpy(out, &header, sizeof(header));
  std::memcpy(out + sizeof(header), &job.old,
              job.request.length);  // little endian, as all of the wire format
  port_.send_message(*job.peer, length);
  return true;
}

bool Server::answer(Peer& peer, const Answer& a) noexcept {
  const wire::RmaHeader header{static_cast<uint8_t>(a.kind), static_cast<uint8_t>(a.status), 0, 0,
                               a.id};
  uint8_t* out = a.kind == RmaKind::kRefused ? port_.open_refusal(peer, sizeof(header))
                                             : port_.open_message(peer, sizeof(header));
  if (out == nullptr) return false;
  std::memcpy(out, &header, sizeof(header));
  port_.send_message(peer, sizeof(header));
  return true;
}

void Server::forget(Peer& peer) noexcept {
  peer.refusal().unlink();
  for (util::ListNode* node = jobs_.next; node != &jobs_;) {
    Job& job = *static_cast<Job*>(node);
    node = node->next;
    if (job.peer == &peer) end(job);
  }
}

}  // namespace verity::rma
