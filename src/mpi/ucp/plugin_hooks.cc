// SPDX-License-Identifier: BSD-3-Clause
// What the transport plugin calls (util/interposer.h).
#include "mpi/ucp/abi.h"
#include "mpi/ucp/type_counters.h"
#include "mpi/ucp/worker.h"
#include "mpi/ucp/worker_calls.h"

namespace verity::mpi {

namespace {

int interface_opened(void* uct_worker) noexcept {
  Worker* worker = worker_in_creation();
  if (worker == nullptr) return 0;
  try {
    worker->below.push_back(uct_worker);
  } catch (...) { worker->receives.disable(); }
  return 1;
}

[[gnu::noinline]] size_t outgoing_slow_path(const verity_outgoing* info, const void* message,
                                            size_t length, uint8_t* trailer, size_t room) noexcept {
  Workers& all = workers();
  uint64_t tag;
  size_t size = 0;
  all.sends.forget_match();
  all.actives.forget_match();
  if (info->am_id == abi::kActive) {
    size = all.actives.match(abi::sent_in(message, length), trailer, room);
  } else if (abi::read_tag(info->am_id, message, length, &tag)) {
    size = all.sends.match(
        {info->serial, tag, info->origin, info->data, abi::named_request(info->am_id, message)},
        trailer, room);
  }
  all.attached += size != 0;
  return size;
}

[[gnu::hot]] size_t outgoing(const verity_outgoing* info, const void* message, size_t length,
                             uint8_t* trailer, size_t room) noexcept {
  Workers& all = workers();
  if (!abi::is_whole(info->am_id) || length < sizeof(uint64_t) ||
      !all.sends.is_of_call(abi::tag_of_whole(message))) [[unlikely]] {
    return outgoing_slow_path(info, message, length, trailer, room);
  }
  const size_t size = all.sends.match_call(info->serial, trailer, room);
  all.attached += size != 0;
  return size;
}

void not_sent() noexcept {
  Workers& all = workers();
  all.attached -= all.sends.has_match() ? all.sends.undo_match() : all.actives.undo_match();
}

[[gnu::noinline]] const uint64_t* incoming_slow_path(void* uct_worker, uint8_t am_id,
                                                     const void* message, size_t length,
                                                     const uint8_t* trailer,
                                                     size_t trailer_length) noexcept {
  uint64_t tag = 0;
  if (am_id != abi::kActive && !abi::read_tag(am_id, message, length, &tag)) return nullptr;
  Worker* worker = workers().find_below(uct_worker);
  if (worker == nullptr) return nullptr;
  if (trailer_length != 0) {
    ++workers().arrived;
    const Workers& all = workers();
    if (all.on_arrival != nullptr && trailer_length >= all.least_arrival) [[unlikely]]
      all.on_arrival(trailer, trailer_length);
  }
  if (abi::is_whole(am_id)) return worker->receives.begin_handling(tag, trailer, trailer_length);
  if (am_id != abi::kActive) worker->receives.arrive(tag, trailer, trailer_length);
  return nullptr;
}

[[gnu::hot]] const uint64_t* incoming(void* uct_worker, uint8_t am_id, const void* message,
                                      size_t length, const uint8_t* trailer,
                                      size_t trailer_length) noexcept {
  Workers& all = workers();
  Worker* worker = all.last_below(uct_worker);
  if (!abi::is_whole(am_id) || length < sizeof(uint64_t) || worker == nullptr ||
      trailer_length - kHead >= all.least_arrival - kHead ||
      !worker->receives.is_next(abi::tag_of_whole(message), trailer)) [[unlikely]] {
    return incoming_slow_path(uct_worker, am_id, message, length, trailer, trailer_length);
  }
  ++all.arrived;
  return worker->receives.begin_handling_next(trailer, trailer_length);
}

void handled(void* uct_worker) noexcept {
  Worker* worker = workers().find_below(uct_worker);
  if (worker != nullptr) worker->receives.end_handling();
}

uint64_t watched() noexcept { return workers().open_sends.opened(); }

int changed(const void* address, size_t length, uint64_t opened) noexcept {
  std::optional<ChangedSend> send;
  const bool found = workers().open_sends.changed(address, length, opened, &send);
  if (send && workers().on_change != nullptr) workers().on_change(*send);
  return found;
}

}  // namespace

}  // namespace verity::mpi

namespace verity::mpi {

namespace {

constexpr verity_interposer table(uint32_t am_ids) noexcept {
  return {.version = VERITY_INTERPOSER_VERSION,
          .am_ids = am_ids,
          .interface_opened = interface_opened,
          .outgoing = outgoing,
          .not_sent = not_sent,
          .incoming = incoming,
          .handled = handled,
          .watched = watched,
          .changed = changed,
          .count_into = count_into};
}

}  // namespace

}  // namespace verity::mpi

// Where interposers for several MPI libraries are preloaded, the first one's is everybody's: the
// one that is in use fills all of it.
extern "C" __attribute__((visibility("default"))) verity_interposer verity_interposer;
struct verity_interposer verity_interposer = verity::mpi::table(0);

namespace verity::mpi {

void enable_messages() noexcept {
  ::verity_interposer = table(0);
  // Last: the plugin may be opening an interface in another thread.
  __atomic_store_n(&::verity_interposer.am_ids, abi::kFirstMessages, __ATOMIC_RELEASE);
}

}  // namespace verity::mpi
