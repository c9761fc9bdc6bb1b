// SPDX-License-Identifier: BSD-3-Clause
#include "autolink/mpi_requests.h"

#include <algorithm>
#include <mutex>

using Request = verity_autolink_request;

namespace {

// A test costs no more than this when very many requests are under way.
constexpr size_t kOthersAtOnce = 8;

// Of the line and all in it. Recursive, as MPI may call on_free() in any of its calls: a
// communicator that was freed lives until its last message has left.
std::recursive_mutex& line_mutex() {
  static auto& mutex = *new std::recursive_mutex;
  return mutex;
}

}  // namespace

// Never destroyed: MPI may be finalized by a destructor that runs later.
std::vector<Request*>& Request::line() {
  static auto& all = *new std::vector<Request*>;
  return all;
}

void Request::enter() {
  const std::lock_guard lock(line_mutex());
  is_freed_ = watch(comm_);
  line().push_back(this);
  is_in_line_ = true;
}

void Request::leave() noexcept {
  const std::lock_guard lock(line_mutex());
  if (is_in_line_) std::erase(line(), this);
  is_in_line_ = false;
}

void Request::fail(int code) noexcept {
  code_ = code;
  leave();
}

void Request::progress() noexcept {
  if (!is_in_line_) return;
  const int code = *is_freed_ ? MPI_ERR_COMM : verity::autolink::guarded([this] { advance(); });
  if (code != MPI_SUCCESS) fail(code);
}

bool Request::test() {
  static size_t turn = 0;
  const std::lock_guard lock(line_mutex());
  progress();
  const size_t others = std::min(line().size(), kOthersAtOnce);
  for (size_t i = 0; i < others && !line().empty(); ++i) {
    Request* other = line()[++turn % line().size()];
    if (other != this) other->progress();
  }
  if (is_in_line_) return false;
  if (code_ == MPI_SUCCESS) return finish();
  explain();
  throw verity::autolink::MpiError{code_};
}

// Its communicator cannot be named any more after it was freed, or names another one: the requests
// that are left end then.
Request::Freed Request::watch(MPI_Comm comm) {
  using verity::autolink::check;
  static const int keyval = [] {
    int made = MPI_KEYVAL_INVALID;
    check(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_free, &made, nullptr));
    return made;
  }();
  void* value = nullptr;
  int is_watched = 0;
  check(MPI_Comm_get_attr(comm, keyval, static_cast<void*>(&value), &is_watched));
  if (is_watched != 0) return *static_cast<Freed*>(value);
  auto made = std::make_unique<Freed>(std::make_shared<std::atomic<bool>>(false));
  check(MPI_Comm_set_attr(comm, keyval, made.get()));
  return *made.release();
}

// Takes no lock: MPI may hold its own, which another thread waits for with ours.
int Request::on_free(MPI_Comm /*comm*/, int /*keyval*/, void* value, void* /*extra*/) {
  const std::unique_ptr<Freed> freed(static_cast<Freed*>(value));
  **freed = true;
  return MPI_SUCCESS;
}

namespace verity::autolink {

Sending::Sending(Source source, int dest, int tag, MPI_Comm comm)
    : verity_autolink_request(Side::kSending, dest, tag, comm), source_(std::move(source)) {
  if (dest == MPI_PROC_NULL) {
    check(MPI_Send(nullptr, 0, MPI_BYTE, dest, tag, comm));
  } else {
    enter();
  }
}

// After an error: the buffers are MPI's until their sends have ended.
Sending::~Sending() {
  leave();
  for (Packet& packet : packets_) MPI_Wait(&packet.request, MPI_STATUS_IGNORE);
}

void Sending::advance() {
  if (!is_next()) return;
  release_sent();
  while (is_in_line() && packets_.size() < kInFlight) send_next();
}

bool Sending::is_next() {
  const auto is_of_place = [this](const Request& one) {
    const auto& other = static_cast<const Sending&>(one);
    return other.peer_ == peer_ && other.tag_ == tag_;
  };
  for (;;) {
    auto* first = static_cast<Sending*>(first_that(is_of_place));
    if (first == this || first == nullptr) return is_in_line();
    first->progress();
    if (first->is_in_line()) return false;
  }
}

bool Sending::finish() {
  release_sent();
  return packets_.empty();
}

void Sending::release_sent() {
  while (!packets_.empty()) {
    int is_sent = 0;
    check(MPI_Test(&packets_.front().request, &is_sent, MPI_STATUS_IGNORE));
    if (is_sent == 0) break;
    packets_.pop_front();
  }
}

void Sending::send_next() {
  const void* data = nullptr;
  size_t size = 0;
  check_link(verity_autolink_next(source_.get(), &data, &size));
  if (data == nullptr) return leave();
  if (size > INT_MAX) throw MpiError{MPI_ERR_COUNT};
  Packet& packet = packets_.emplace_back();
  packet.bytes.assign(static_cast<const char*>(data), static_cast<const char*>(data) + size);
  check(MPI_Isend(packet.bytes.data(), static_cast<int>(size), MPI_BYTE, peer_, tag_, comm_,
                  &packet.request));
}

Receiving::Receiving(Sink sink, int source, int tag, MPI_Comm comm,
                     verity_autolink_structure** structure)
    : verity_autolink_request(Side::kReceiving, source, tag, comm),
      sink_(std::move(sink)),
      structure_(structure) {
  if (source == MPI_PROC_NULL) {
    check(MPI_Recv(nullptr, 0, MPI_BYTE, source, tag, comm, &status_));
  } else {
    enter();
  }
}

bool Receiving::matches(int source, int tag) const noexcept {
  return (peer_ == source || peer_ == MPI_ANY_SOURCE) && (tag_ == tag || tag_ == MPI_ANY_TAG);
}

bool Receiving::overlaps(const Receiving& other) const noexcept {
  const auto meet = [](int a, int b, int any) { return a == b || a == any || b == any; };
  return meet(peer_, other.peer_, MPI_ANY_SOURCE) && meet(tag_, other.tag_, MPI_ANY_TAG);
}

void Receiving::advance() {
  while (is_in_line()) {
    int source = peer_, tag = tag_;
    Receiving* receiver = find_receiver(&source, &tag);
    if (receiver == nullptr) return;
    bool has_received = false;
    const int code = guarded([&] { has_received = receiver->receive(source, tag); });
    if (code != MPI_SUCCESS) {
      receiver->fail(code);
    } else if (!has_received) {
      return;
    }
  }
}

// After an error: the buffer is MPI's until the message is there.
Receiving::~Receiving() {
  leave();
  if (request_ != MPI_REQUEST_NULL) MPI_Wait(&request_, MPI_STATUS_IGNORE);
}

// Returns the receive that gets the next message that this one matches, and where that message
// comes from; nullptr: there is none yet.
Receiving* Receiving::find_receiver(int* source_p, int* tag_p) {
  if (request_ != MPI_REQUEST_NULL) return this;  // it is under way
  const Request* first = first_that(
      [this](const Request& one) { return overlaps(static_cast<const Receiving&>(one)); });
  if (first == this) return this;  // whatever comes
  for (Receiving* receiver = this;;) {
    int is_there = 0;
    MPI_Status status;
    check(MPI_Iprobe(receiver->peer_, receiver->tag_, comm_, &is_there, &status));
    if (is_there == 0) return nullptr;
    *source_p = status.MPI_SOURCE;
    *tag_p = status.MPI_TAG;
    auto* earliest = static_cast<Receiving*>(first_that([&](const Request& one) {
      return static_cast<const Receiving&>(one).matches(status.MPI_SOURCE, status.MPI_TAG);
    }));
    if (earliest == receiver || earliest == nullptr) return receiver;
    // Which gets what was sent first of all that it matches, and that may be another message.
    receiver = earliest;
  }
}

// False: the message is not there yet.
bool Receiving::receive(int source, int tag) {
  if (request_ == MPI_REQUEST_NULL && !begin_message(source, tag)) return false;
  int is_there = 0;
  check(MPI_Test(&request_, &is_there, &status_));
  if (is_there == 0) return false;
  is_refused_ = true;
  check_link(verity_autolink_feed(sink_.get(), bytes_.data(), bytes_.size(), &is_complete_));
  is_refused_ = false;
  if (is_complete_ != 0) leave();
  return true;
}

bool Receiving::begin_message(int source, int tag) {
  int is_there = 0, size = 0;
  MPI_Message message;
  check(MPI_Improbe(source, tag, comm_, &is_there, &message, &status_));
  if (is_there == 0) return false;
  check(MPI_Get_count(&status_, MPI_BYTE, &size));
  // The rest comes from where the first message came from.
  peer_ = status_.MPI_SOURCE;
  tag_ = status_.MPI_TAG;
  bytes_.resize(static_cast<size_t>(size));
  check(MPI_Imrecv(bytes_.data(), size, MPI_BYTE, &message, &request_));
  return true;
}

bool Receiving::finish() {
  *structure_ = peer_ == MPI_PROC_NULL ? nullptr : take(sink_.get());
  return true;
}

// A message that was refused is so again.
void Receiving::explain() noexcept {
  int is_complete = 0;
  if (is_refused_)
    (void)verity_autolink_feed(sink_.get(), bytes_.data(), bytes_.size(), &is_complete);
}

}  // namespace verity::autolink
