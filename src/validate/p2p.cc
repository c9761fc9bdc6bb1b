// SPDX-License-Identifier: BSD-3-Clause
#include "validate/p2p.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <tuple>
#include <vector>

namespace verity::validate {

using typelib::check;
using typelib::MpiError;

// What a communicator's operations share. Locked by `mutex` in every call.
class Channel {
 public:
  static std::recursive_mutex mutex;

  static Channel& of(MPI_Comm comm) {
    static const int keyval = make_keyval();
    void* found = nullptr;
    int is_set = 0;
    check(MPI_Comm_get_attr(comm, keyval, &found, &is_set));
    if (is_set != 0) return *static_cast<Channel*>(found);
    auto made = std::make_unique<Channel>();
    check(MPI_Comm_set_attr(comm, keyval, made.get()));
    return *made.release();
  }

  void start(Operation& operation, bool owner) {
    operation.serial_ = ++started_[{operation.place_.peer, operation.place_.tag, owner}];
  }

  void add(Operation& operation) {
    active_.push_back(&operation);
    const std::vector<Waiting> all = std::exchange(waiting_, {});
    for (const Waiting& one : all) dispatch(one.place, one.bytes);
  }

  // Of one that an error ended, MPI still reads what it has not sent.
  void remove(Operation& operation) {
    std::erase(active_, &operation);
    unsent_.splice(unsent_.end(), operation.outgoing_);
  }

  void progress() {
    std::erase_if(unsent_, [](Operation::Outgoing& out) { return out.is_sent(); });
    const std::vector<Operation*> now = active_;
    for (const Operation* operation : now) {
      if (std::find(active_.begin(), active_.end(), operation) != active_.end())
        receive(operation->place_);
    }
  }

 private:
  struct Waiting {
    Place place;
    Bytes bytes;
  };

  static int make_keyval() {
    int keyval = MPI_KEYVAL_INVALID;
    check(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, destroy, &keyval, nullptr));
    return keyval;
  }
  static int destroy(MPI_Comm /*comm*/, int /*keyval*/, void* value, void* /*extra*/) {
    auto* channel = static_cast<Channel*>(value);
    if (channel->unsent_.empty()) delete channel;
    return MPI_SUCCESS;
  }

  void receive(const Place& place) {
    for (;;) {
      int is_there = 0;
      MPI_Message handle;
      MPI_Status status;
      check(MPI_Improbe(place.peer, place.tag, place.comm, &is_there, &handle, &status));
      if (is_there == 0) return;
      int size = 0;
      check(MPI_Get_count(&status, MPI_BYTE, &size));
      Bytes bytes(static_cast<size_t>(std::max(size, 0)));
      check(MPI_Mrecv(bytes.data(), size, MPI_BYTE, &handle, MPI_STATUS_IGNORE));
      dispatch(place, bytes);
    }
  }

  void dispatch(const Place& place, const Bytes& bytes) {
    Message message;
    const Reading reading = read(bytes, &message);
    const bool known = reading == Reading::kGood || reading == Reading::kBadBody;
    const bool for_owner = message.header.sender == 1;
    bool taken = false;
    const std::vector<Operation*> now = active_;
    for (Operation* operation : now) {
      if (operation->place_.peer != place.peer || operation->place_.tag != place.tag) continue;
      if (known &&
          (operation->is_owner() != for_owner || operation->serial_ != message.header.serial))
        continue;
      if (reading == Reading::kForeign)
        operation->error_ = MPI_ERR_TAG;  // the program's own message
      // An error of this operation is told by its own test, which may not be the caller.
      try {
        operation->receive(reading, message);
      } catch (const MpiError& error) {
        operation->error_ = error.code;
      } catch (const std::bad_alloc&) { operation->error_ = MPI_ERR_NO_MEM; }
      taken = true;
    }
    if (taken || !known) return;
    const uint32_t started = started_[{place.peer, place.tag, for_owner}];
    if (static_cast<int32_t>(message.header.serial - started) > 0)
      waiting_.push_back({place, bytes});
  }

  std::vector<Operation*> active_;
  std::vector<Waiting> waiting_;
  std::list<Operation::Outgoing> unsent_;
  std::map<std::tuple<int, int, bool>, uint32_t> started_;
};

std::recursive_mutex Channel::mutex;

std::unique_ptr<Operation> Operation::send(std::unique_ptr<Typed> data, const Place& place,
                                           uint32_t segment_size, const Limits& limits) {
  std::unique_ptr<Operation> made(new Operation(std::move(data), place));
  made->tree_ = std::make_unique<merkle::Tree>(hash_buffer(made->data_->buffer(), segment_size));
  const std::lock_guard lock(Channel::mutex);
  Channel& channel = Channel::of(place.comm);
  channel.start(*made, true);
  made->session_.emplace<Owner>(made->data_->buffer(), *made->tree_, made->serial_, limits);
  channel.add(*made);
  made->post(std::get<Owner>(made->session_).start());
  return made;
}

std::unique_ptr<Operation> Operation::receive(std::unique_ptr<Typed> data, const Place& place,
                                              const Limits& limits) {
  std::unique_ptr<Operation> made(new Operation(std::move(data), place));
  const std::lock_guard lock(Channel::mutex);
  Channel& channel = Channel::of(place.comm);
  channel.start(*made, false);
  made->session_.emplace<Holder>(made->data_->buffer(), made->serial_, limits);
  channel.add(*made);
  return made;
}

Operation::~Operation() {
  const std::lock_guard lock(Channel::mutex);
  try {
    Channel::of(place_.comm).remove(*this);
  } catch (...) {  // the communicator has no state: nothing refers to this operation
  }
}

void Operation::receive(Reading reading, const Message& message) {
  if (error_ != MPI_SUCCESS) return;
  if (auto* owner = std::get_if<Owner>(&session_)) {
    post(owner->receive(reading, message));
  } else {
    post(std::get<Holder>(session_).receive(reading, message));
  }
}

void Operation::post(Bytes bytes) {
  if (bytes.empty()) return;
  if (bytes.size() > INT32_MAX) throw MpiError{MPI_ERR_COUNT};
  Outgoing& out = outgoing_.emplace_back();
  out.bytes = std::move(bytes);
  check(MPI_Isend(out.bytes.data(), static_cast<int>(out.bytes.size()), MPI_BYTE, place_.peer,
                  place_.tag, place_.comm, &out.request));
}

bool Operation::Outgoing::is_sent() {
  int is_sent = 0;
  check(MPI_Test(&request, &is_sent, MPI_STATUS_IGNORE));
  return is_sent != 0;
}

bool Operation::all_sent() {
  while (!outgoing_.empty()) {
    if (!outgoing_.front().is_sent()) return false;
    outgoing_.pop_front();
  }
  return true;
}

bool Operation::test() {
  const std::lock_guard lock(Channel::mutex);
  Channel::of(place_.comm).progress();
  if (error_ != MPI_SUCCESS) throw MpiError{error_};
  if (!all_sent() || outcome() == Outcome::kRunning) return false;
  if (!is_owner() && result().bytes_sent_again != 0) data_->store();
  return true;
}

Outcome Operation::outcome() const noexcept {
  if (const auto* owner = std::get_if<Owner>(&session_)) return owner->outcome();
  return std::get<Holder>(session_).outcome();
}

const Result& Operation::result() const noexcept {
  if (const auto* owner = std::get_if<Owner>(&session_)) return owner->result();
  return std::get<Holder>(session_).result();
}

}  // namespace verity::validate
