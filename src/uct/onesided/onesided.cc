// SPDX-License-Identifier: BSD-3-Clause
#include "uct/onesided/onesided.h"

#include "uct/links/patience.h"
#include "uct/memory/verity_md.h"
#include "uct/process/clock.h"

namespace verity::uct {

namespace {

static_assert(rma::Client::kMaxRequests <= rma::Server::kMaxJobs &&
              rma::Client::kMaxFetchBytes <= rma::Server::kMaxGet &&
              rma::Client::kMaxFetching + rma::Client::kMaxChunks * rma::Client::kMaxGetBytes <=
                  rma::Server::kMaxCopied);

rma::ClientConfig client_config(const Options& options) noexcept {
  const link::Config& link = options.link;
  return {.chunk = options.chunk,
          .segment_log2 = link.segment_log2,
          .observe = link.mode == link::Mode::kObserve};
}

// False: more pieces than one read takes.
bool add_pieces(rma::Read& read, const uct_iov_t* iov, size_t count) noexcept {
  for (size_t i = 0; i < count; ++i) {
    const size_t length = iov[i].length * iov[i].count;
    if (length == 0) continue;
    if (read.count == rma::kMaxPieces ||
        (iov[i].count > 1 && iov[i].stride != 0 && iov[i].stride != iov[i].length))
      return false;
    read.handles[read.count] = VerityMd::lower_handle(iov[i].memh);
    read.pieces[read.count++] = {iov[i].buffer, length};
    read.length += length;
  }
  return true;
}

}  // namespace

OneSided::Pool::Pool(unsigned threads) noexcept : opened(threads != 0 ? &hash_pool() : nullptr) {
  if (opened != nullptr) opened->open(threads);
}

// In a child made by fork() the parent's pool is not to be touched.
OneSided::Pool::~Pool() {
  if (opened != nullptr && opened == &hash_pool()) opened->close();
}

OneSided::OneSided(FrameSender& sender)
    : pool_(sender.links().core().options.threads),
      core_(sender.links().core()),
      sender_(sender),
      client_(*this, core_.counters(), client_config(core_.options)),
      server_(*this, regions(), core_.counters()) {
  done_.reserve(64);
}

ucs_status_t OneSided::get_zcopy(const ReadRequest& request) noexcept {
  rma::Read* read = client_.make_read();
  if (read == nullptr) return UCS_ERR_NO_RESOURCE;
  if (!add_pieces(*read, request.iov, request.iovcnt)) {
    client_.release(*read);
    return UCS_ERR_INVALID_PARAM;
  }
  if (read->length == 0) {
    client_.release(*read);
    return UCS_OK;
  }
  const RemoteKey& key = RemoteKey::of(request.rkey);
  read->peer = request.link;
  read->token = key.token;
  read->key = key.bundle.rkey;
  read->address = request.address;
  read->most = request.most;
  read->least = request.least;
  read->path = request.path;
  read->counts = request.counts;
  read->owner = request.owner;
  read->upper = request.comp;
  read->generation = request.owner->start();
  note_work();
  const WorkerGroup::Guard all(core_.group);
  client_.start(*read);
  request.link->in_turn = false;  // be it that nothing was sent yet
  return UCS_INPROGRESS;
}

// nullptr: too many are open.
rma::Fetch* OneSided::new_fetch(const FetchRequest& request) noexcept {
  rma::Fetch* fetch = client_.make_fetch(*request.link);
  if (fetch == nullptr) return nullptr;
  fetch->peer = request.link;
  fetch->token = RemoteKey::of(request.rkey).token;
  fetch->address = request.address;
  fetch->length = static_cast<uint32_t>(request.length);
  fetch->owner = request.owner;
  fetch->unpack = reinterpret_cast<void*>(request.unpack);
  fetch->arg = request.arg;
  fetch->upper = request.comp;
  fetch->generation = request.owner->start();
  note_work();
  return fetch;
}

ucs_status_t OneSided::get_bcopy(const FetchRequest& request) noexcept {
  if (!may_fetch(*request.link, {request.address, request.length})) return UCS_ERR_NO_RESOURCE;
  rma::Fetch* fetch = new_fetch(request);
  if (fetch == nullptr) return UCS_ERR_NO_RESOURCE;
  client_.start(*fetch);
  request.link->in_turn = false;
  return UCS_INPROGRESS;
}

ucs_status_t OneSided::atomic_fetch(const AtomicRequest& request) noexcept {
  if (!may_write(*request.link, {request.address, request.bytes})) return UCS_ERR_NO_RESOURCE;
  const auto unpack = [](void* result, const void* data, size_t length) {
    std::memcpy(result, data, length);
  };
  rma::Fetch* fetch = new_fetch({request.link, request.owner, unpack, request.result, request.bytes,
                                 request.address, request.rkey, request.comp});
  if (fetch == nullptr) return UCS_ERR_NO_RESOURCE;
  fetch->is_atomic = true;
  fetch->op = request.op;
  fetch->value = request.value;
  fetch->compare = request.compare;
  client_.start(*fetch);
  request.link->in_turn = false;
  return UCS_INPROGRESS;
}

bool OneSided::may_write(UctLink& l, const rma::Range& range) noexcept {
  const WorkerGroup::Guard all(core_.group);
  if (client_.may_write(l, range)) return true;
  if (client_.may_put(l)) links().defer(l);  // else the end of what it waits for wakes it
  return false;
}

bool OneSided::may_fetch(UctLink& l, const rma::Range& range) noexcept {
  const WorkerGroup::Guard all(core_.group);
  if (client_.may_fetch(l, range)) return true;
  links().defer(l);
  return false;
}

void OneSided::receive(UctLink& l, const uint8_t* message, size_t length) noexcept {
  wire::RmaHeader header;
  if (!wire::read_message(message, length, &header)) return;
  const auto kind = static_cast<wire::RmaKind>(header.kind);
  note_work();
  switch (kind) {
    case wire::RmaKind::kPut: return server_.put(l, message, length);
    case wire::RmaKind::kAtomic:
    case wire::RmaKind::kGet:
    case wire::RmaKind::kHash: return serve(l, kind, message, length);
    case wire::RmaKind::kGot:
    case wire::RmaKind::kHashed:
    case wire::RmaKind::kRefused: {
      const uint32_t unclaimed = l.unclaimed;
      client_.answer(l, message, length);
      if (l.unclaimed != unclaimed && !l.pending.empty()) links().request_attention(l);
      return;
    }
  }
  l.counters->rma_refused++;
}

// Answered at once when nothing else waits: the next progress may be far away.
void OneSided::serve(UctLink& l, wire::RmaKind kind, const uint8_t* message,
                     size_t length) noexcept {
  const bool at_once = !server_.busy() && !sending_;  // see open_message()
  kind == wire::RmaKind::kAtomic ? server_.atomic(l, message, length)
                                 : server_.request(l, message, length);
  if (at_once && server_.busy()) (void)server_.poll();
}

bool OneSided::serve() noexcept {
  const uint64_t hashed = server_.hashed();
  return server_.busy() &&
         (server_.poll() != 0 || server_.hashed() != hashed || server_.awaits_hasher());
}

unsigned OneSided::progress() noexcept {
  unsigned count = 0;
  {
    const AsyncGuard guard(core_.threads);
    const WorkerGroup::Guard all(core_.group);
    if (client_.busy()) count += client_.poll();
    if (server_.busy()) count += server_.poll();
    work_.store(client_.busy() || server_.busy(), std::memory_order_relaxed);
  }
  return count + complete_all();
}

// One after the other: a callback may end other operations, destroy endpoints, or progress the
// worker again. An owner is busy until then.
unsigned OneSided::complete_all() noexcept {
  unsigned count = 0;
  for (Done done{}; next_done(&done, nullptr); ++count) invoke_completion(done.comp, done.status);
  return count;
}

void OneSided::complete_of(const ReadOwner& owner) noexcept {
  for (Done done{}; next_done(&done, &owner);) invoke_completion(done.comp, done.status);
}

// The oldest one, or the oldest of that owner.
bool OneSided::next_done(Done* done, const ReadOwner* owner) noexcept {
  const AsyncGuard guard(core_.threads);
  if (has_completed_all()) {
    done_.clear();
    completed_ = 0;
    return false;
  }
  size_t at = completed_;
  while (owner != nullptr && at < done_.size() && done_[at].owner != owner) ++at;
  if (at == done_.size()) return false;
  *done = done_[at];
  if (at == completed_) {
    ++completed_;
  } else {
    done_.erase(done_.begin() + static_cast<ptrdiff_t>(at));
  }
  done->owner->end(done->generation);
  return true;
}

void OneSided::abort(UctLink& l, const ReadOwner* owner) noexcept { client_.abort(l, owner); }

void OneSided::end_all() noexcept {
  const auto any = [this] {
    const AsyncGuard guard(core_.threads);
    return client_.any_read(&gone_);
  };
  {
    const AsyncGuard guard(core_.threads);
    client_.abort_owner(nullptr);
  }
  const uint64_t until = monotonic_ns() + kBusyPatience;
  while (const rma::Read* read = any()) {
    if (monotonic_ns() >= until) return;
    (void)uct_iface_progress(static_cast<uct_ep_h>(read->path)->iface);
  }
}

void OneSided::disown(ReadOwner& owner) noexcept {
  const unsigned count = client_.disown(&owner, &gone_);
  gone_.open += count;
  owner.open -= count;
}

}  // namespace verity::uct
