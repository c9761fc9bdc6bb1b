// SPDX-License-Identifier: BSD-3-Clause
#include "validate/p2p.h"

#include <algorithm>
#include <atomic>
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
    Channel& made = *all().emplace_back(std::make_unique<Channel>());
    made.is_freed_ = true;
    check(MPI_Comm_set_attr(comm, keyval, &made));
    made.is_freed_ = false;
    return made;
  }

  // Of every communicator: a peer may wait for an answer on any of them.
  static void progress_all() {
    std::erase_if(all(), [](const std::unique_ptr<Channel>& c) { return c->is_unused(); });
    for (size_t i = 0; i < all().size(); ++i) all()[i]->progress();
  }

  void start(Operation& operation, bool owner) {
    operation.serial_ = ++started_[{operation.place_.peer, operation.place_.tag, owner}];
  }

  void add(Operation& operation) {
    active_.push_back(&operation);
    const std::vector<Waiting> all = std::exchange(waiting_, {});
    for (const Waiting& one : all) dispatch(one.place, one.bytes);
    if (!operation.is_owner()) request_lost_root(operation);
  }

  // Of one that an error ended, MPI still reads what it has not sent.
  void remove(Operation& operation) {
    std::erase(active_, &operation);
    unsent_.splice(unsent_.end(), operation.outgoing_);
    settle_lost_ends(operation.place_);
  }

 private:
  struct Waiting {
    Place place;
    Bytes bytes;
  };

  // Never destroyed: MPI_Finalize may come after that.
  static std::vector<std::unique_ptr<Channel>>& all() {
    static auto& channels = *new std::vector<std::unique_ptr<Channel>>;
    return channels;
  }

  static int make_keyval() {
    int keyval = MPI_KEYVAL_INVALID;
    check(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_free, &keyval, nullptr));
    return keyval;
  }
  // Takes no lock: MPI may hold its own, which another thread waits for with ours.
  static int on_free(MPI_Comm /*comm*/, int /*keyval*/, void* value, void* /*extra*/) {
    static_cast<Channel*>(value)->is_freed_ = true;
    return MPI_SUCCESS;
  }

  [[nodiscard]] bool is_unused() const { return is_freed_ && active_.empty() && unsent_.empty(); }

  // An error is reported by the operation whose messages it concerns, which may not be the
  // caller's.
  void progress() {
    std::erase_if(unsent_, [](Operation::Outgoing& out) {
      try {
        return out.is_sent();
      } catch (const MpiError&) { return true; }
    });
    const std::vector<Operation*> now = active_;
    for (Operation* operation : now) {
      const bool is_there = std::find(active_.begin(), active_.end(), operation) != active_.end();
      if (!is_there || !operation->is_running()) continue;
      try {
        if (is_freed_) throw MpiError{MPI_ERR_COMM};
        receive(operation->place_);
      } catch (const MpiError& error) {
        operation->error_ = error.code;
      } catch (const std::bad_alloc&) { operation->abandon(MPI_ERR_NO_MEM); }
    }
  }

  static int bytes_of(const MPI_Status& status) {
    int size = 0;
    check(MPI_Get_count(&status, MPI_BYTE, &size));
    return std::max(size, 0);
  }

  // A matched message has to be received: the memory for it is there before. What comes when the
  // last validation of the tag has ended is the program's.
  void receive(const Place& place) {
    while (!running_at(place).empty()) {
      int is_there = 0;
      MPI_Message handle;
      MPI_Status status;
      check(MPI_Iprobe(place.peer, place.tag, place.comm, &is_there, &status));
      if (is_there == 0) return;
      Bytes bytes(static_cast<size_t>(bytes_of(status)));
      check(MPI_Improbe(place.peer, place.tag, place.comm, &is_there, &handle, &status));
      if (is_there == 0) return;
      const int size = bytes_of(status);
      bytes.resize(static_cast<size_t>(size));
      check(MPI_Mrecv(bytes.data(), size, MPI_BYTE, &handle, MPI_STATUS_IGNORE));
      dispatch(place, bytes);
    }
  }

  void dispatch(const Place& place, const Bytes& bytes) {
    Message message;
    const Reading reading = read(bytes, &message);
    if (reading == Reading::kLostEnd) {
      ++lost_ends_[{place.peer, place.tag}];
    } else if (reading == Reading::kGood || reading == Reading::kBadBody) {
      dispatch_known(place, bytes, reading, message);
    } else {
      // It does not say whose it is. A receive that has not been started yet will miss its ROOT,
      // unless one that runs has none either: then it is that one's.
      const std::vector<Operation*> running = running_at(place);
      const bool is_awaited = std::any_of(running.begin(), running.end(), awaits_root);
      if (bytes.size() == kRootSize && !is_awaited) ++lost_roots_[{place.peer, place.tag}];
      for (Operation* operation : running) operation->deliver(reading, message);
    }
    settle_lost_ends(place);
  }

  void dispatch_known(const Place& place, const Bytes& bytes, Reading reading,
                      const Message& message) {
    const bool for_owner = message.header.sender == 1;
    const uint32_t serial = message.header.serial;
    for (Operation* operation : running_at(place)) {
      if (operation->is_owner() == for_owner && operation->serial_ == serial)
        return operation->deliver(reading, message);
    }
    const uint32_t started = started_[{place.peer, place.tag, for_owner}];
    if (static_cast<int32_t>(serial - started) > 0) {
      waiting_.push_back({place, bytes});
    } else if (for_owner && !is_end(message.kind())) {
      answer_for_ended(place, serial);
    }
  }

  static bool awaits_root(const Operation* operation) {
    return !operation->is_owner() && !std::get<Holder>(operation->session_).has_root();
  }

  // ROOTs come in the order of the receives: of those that are not here, the first ones were lost.
  // The owner repeats one that is on its way in vain.
  void request_lost_root(Operation& operation) {
    const auto lost = lost_roots_.find({operation.place_.peer, operation.place_.tag});
    if (lost == lost_roots_.end() || !operation.is_running() ||
        std::get<Holder>(operation.session_).has_root())
      return;
    if (--lost->second == 0) lost_roots_.erase(lost);
    operation.deliver(Reading::kBadHeader, {});
  }

  // A holder's message to an owner that an error has ended: the holder would wait for ever.
  void answer_for_ended(const Place& place, uint32_t serial) {
    Header header;
    header.kind = static_cast<uint8_t>(Kind::kGiveUp);
    header.serial = serial;
    Bytes answer = begin(header);
    seal(answer);
    unsent_.emplace_back().start(std::move(answer), place);
  }

  // Last messages that cannot be read do not say whose they are. When as many owners are left as
  // there were such messages, they are theirs.
  void settle_lost_ends(const Place& place) {
    const auto lost = lost_ends_.find({place.peer, place.tag});
    if (lost == lost_ends_.end()) return;
    std::vector<Operation*> owners = running_at(place);
    std::erase_if(owners, [](const Operation* operation) { return !operation->is_owner(); });
    if (owners.size() > lost->second) return;
    lost_ends_.erase(lost);
    for (Operation* operation : owners) operation->deliver(Reading::kLostEnd, {});
  }

  [[nodiscard]] std::vector<Operation*> running_at(const Place& place) const {
    std::vector<Operation*> found;
    for (Operation* operation : active_) {
      if (operation->place_.peer == place.peer && operation->place_.tag == place.tag &&
          operation->is_running())
        found.push_back(operation);
    }
    return found;
  }

  std::atomic<bool> is_freed_ = false;  // with its communicator
  std::vector<Operation*> active_;
  std::vector<Waiting> waiting_;
  std::list<Operation::Outgoing> unsent_;
  std::map<std::tuple<int, int, bool>, uint32_t> started_;
  std::map<std::pair<int, int>, size_t> lost_ends_, lost_roots_;  // by peer and tag
};

std::recursive_mutex Channel::mutex;

std::unique_ptr<Operation> Operation::send(std::unique_ptr<Typed> data, const Place& place,
                                           uint32_t segment_size, const Limits& limits) {
  std::unique_ptr<Operation> made(new Operation(std::move(data), place));
  made->tree_ = std::make_unique<merkle::Tree>(hash_buffer(made->data_->buffer(), segment_size));
  const std::lock_guard lock(Channel::mutex);
  Channel& channel = Channel::of(place.comm);
  made->channel_ = &channel;
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
  made->channel_ = &channel;
  channel.start(*made, false);
  made->session_.emplace<Holder>(made->data_->buffer(), made->serial_, limits);
  channel.add(*made);
  return made;
}

Operation::~Operation() {
  if (channel_ == nullptr) return;
  const std::lock_guard lock(Channel::mutex);
  try {
    channel_->remove(*this);
  } catch (...) {  // no memory: others of this tag end later
  }
}

void Operation::deliver(Reading reading, const Message& message) noexcept {
  if (reading == Reading::kForeign) return abandon(MPI_ERR_TAG);  // the program's own message
  try {
    if (auto* owner = std::get_if<Owner>(&session_)) {
      post(owner->receive(reading, message));
    } else {
      post(std::get<Holder>(session_).receive(reading, message));
    }
  } catch (const MpiError& error) { error_ = error.code; } catch (const std::bad_alloc&) {
    abandon(MPI_ERR_NO_MEM);
  }
}

void Operation::abandon(int code) noexcept {
  error_ = code;
  try {
    if (auto* owner = std::get_if<Owner>(&session_)) {
      post(owner->give_up());
    } else {
      post(std::get<Holder>(session_).give_up());
    }
  } catch (...) {  // the error that is reported is the first one
  }
}

void Operation::post(Bytes bytes) {
  if (!bytes.empty()) outgoing_.emplace_back().start(std::move(bytes), place_);
}

void Operation::Outgoing::start(Bytes message, const Place& place) {
  if (message.size() > INT32_MAX) throw MpiError{MPI_ERR_COUNT};
  bytes = std::move(message);
  check(MPI_Isend(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, place.peer, place.tag,
                  place.comm, &request));
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
  Channel::progress_all();
  if (error_ != MPI_SUCCESS) throw MpiError{error_};
  if (outcome() == Outcome::kRunning) return false;
  // The holder has ended: what an owner has not sent yet is an answer too many, which the peer may
  // never receive.
  if (!is_owner() && !all_sent()) return false;
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
