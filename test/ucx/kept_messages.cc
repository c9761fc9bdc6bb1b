// SPDX-License-Identifier: BSD-3-Clause
//
// What was kept while a worker was idle is handled behind the lower transport's progress: a handler
// that answers a peer which has died meanwhile, whose connection is among those that the same
// progress reports. And ahead of the error that reports the peer's death.
//
//   kept_messages [TURNS]
//
// Prints 'turns N answered N', four in each turn, but for messages behind their sender's error;
// exit status 0, or 128 and the signal that ended the process that answers.
//
//   kept_messages TURNS completions
//
// The same of a send that was acknowledged while its worker was idle, and whose completion sends to
// the peer that has died. With UCX_RNDV_THRESH below 100k.
//
//   kept_messages TURNS atomics
//
// An atomic operation, a fence and a get of the same word, while the target's worker is idle.
//
// Both print 'turns N right N'.
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <ucp/api/ucp.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <utility>

#include "peer.h"

namespace verity::test {
namespace {

constexpr unsigned kId = 1;
constexpr unsigned kPause = 20'000;  // us, in which what was sent arrives

struct Worker {
  ucp_context_h context = nullptr;
  ucp_worker_h handle = nullptr;
  Worker() {
    ucp_config_t* config;
    check(ucp_config_read(nullptr, nullptr, &config), "ucp_config_read");
    ucp_params_t params = {};
    params.field_mask = UCP_PARAM_FIELD_FEATURES;
    params.features = UCP_FEATURE_AM | UCP_FEATURE_TAG | UCP_FEATURE_RMA | UCP_FEATURE_AMO64;
    const ucs_status_t status = ucp_init(&params, config, &context);
    ucp_config_release(config);
    check(status, "ucp_init");
    const ucp_worker_params_t worker_params = {};
    check(ucp_worker_create(context, &worker_params, &handle), "ucp_worker_create");
  }
  void handle_messages(ucp_am_recv_callback_t callback, void* arg) const {
    ucp_am_handler_param_t param = {};
    param.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB |
                       UCP_AM_HANDLER_PARAM_FIELD_ARG;
    param.id = kId;
    param.cb = callback;
    param.arg = arg;
    check(ucp_worker_set_am_recv_handler(handle, &param), "ucp_worker_set_am_recv_handler");
  }
  void ignore_messages() const {
    handle_messages([](void*, const void*, size_t, void*, size_t,
                       const ucp_am_recv_param_t*) { return UCS_OK; },
                    nullptr);
  }
  [[nodiscard]] Bytes address() const {
    ucp_address_t* address;
    size_t length;
    check(ucp_worker_get_address(handle, &address, &length), "ucp_worker_get_address");
    const auto* bytes = reinterpret_cast<const uint8_t*>(address);
    Bytes copy(bytes, bytes + length);
    ucp_worker_release_address(handle, address);
    return copy;
  }
  // `failed_p`: set by the error that reports the peer's death.
  [[nodiscard]] ucp_ep_h connect(const Bytes& address, bool* failed_p = nullptr) const {
    ucp_ep_params_t params = {};
    params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLER |
                        UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE;
    params.address = reinterpret_cast<const ucp_address_t*>(address.data());
    params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
    params.err_handler.cb = [](void* failed, ucp_ep_h, ucs_status_t) {
      if (failed != nullptr) *static_cast<bool*>(failed) = true;
    };
    params.err_handler.arg = failed_p;
    ucp_ep_h ep;
    check(ucp_ep_create(handle, &params, &ep), "ucp_ep_create");
    return ep;
  }
  void progress(unsigned rounds) const {
    while (rounds-- != 0) ucp_worker_progress(handle);
  }
  void finish(void* request) const {
    if (UCS_PTR_IS_ERR(request)) check(UCS_PTR_STATUS(request), "an operation");
    if (request == nullptr) return;
    while (ucp_request_check_status(request) == UCS_INPROGRESS) progress(1);
    check(ucp_request_check_status(request), "an operation");
    ucp_request_free(request);
  }
};

void send(ucp_ep_h ep, const char& payload) {
  const ucp_request_param_t param = {};
  void* request = ucp_am_send_nbx(ep, kId, nullptr, 0, &payload, sizeof(payload), &param);
  if (UCS_PTR_IS_PTR(request)) ucp_request_free(request);
}

// Those that send: index 0 is killed.
struct Sender {
  pid_t pid;
  std::unique_ptr<Channel> channel;
  ucp_ep_h ep = nullptr;
  bool failed = false;
};

[[noreturn]] void run_sender(Channel channel, char index) {
  const Worker worker;
  worker.ignore_messages();
  ucp_ep_h ep = worker.connect(channel.exchange(worker.address()));
  const auto progress = [&] { worker.progress(1); };
  send(ep, index);            // connects
  channel.barrier(progress);  // it has arrived
  channel.barrier({});
  send(ep, index);
  channel.barrier({});
  for (;;) pause();
}

template <typename Run>
Sender start(Run&& run) {
  std::array<int, 2> fds{};
  require(socketpair(AF_UNIX, SOCK_STREAM, 0, fds.data()) == 0, "socketpair");
  const pid_t pid = fork();
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // ends with a process that answers no more
    run(Channel(fds[1]));
  }
  close(fds[1]);
  return {pid, std::make_unique<Channel>(fds[0])};
}

Sender start_sender(char index) {
  return start([index](Channel channel) { run_sender(std::move(channel), index); });
}

void end(const Sender& sender) {
  kill(sender.pid, SIGKILL);
  waitpid(sender.pid, nullptr, 0);
}

struct Answers {
  std::array<Sender, 2> senders;
  int count = 0;
};

int run_turn() {
  Answers all{{start_sender(0), start_sender(1)}};
  const Worker worker;
  const Worker other;  // its progress serves the first one while that is idle
  (void)other.connect(other.address());
  const auto answer = [](void* arg, const void*, size_t, void* data, size_t,
                         const ucp_am_recv_param_t*) {
    auto& answers = *static_cast<Answers*>(arg);
    const Sender& sender = answers.senders[static_cast<size_t>(*static_cast<const char*>(data))];
    answers.count += !sender.failed;
    send(sender.ep, 0);
    return UCS_OK;
  };
  worker.handle_messages(answer, &all);
  for (Sender& s : all.senders)
    s.ep = worker.connect(s.channel->exchange(worker.address()), &s.failed);
  while (all.count < 2) worker.progress(1);
  for (Sender& s : all.senders) s.channel->barrier([&] { worker.progress(1); });
  // What the first one does not read makes its end reset the connection.
  send(all.senders[0].ep, 0);
  worker.progress(100);
  // Its message is read by the other worker's progress, and kept.
  all.senders[0].channel->barrier({});
  all.senders[0].channel->barrier({});
  for (int i = 0; i < 20; ++i) {
    usleep(kPause / 20);
    other.progress(5000);
  }
  // The second one's event comes first.
  all.senders[1].channel->barrier({});
  all.senders[1].channel->barrier({});
  usleep(kPause);
  end(all.senders[0]);
  usleep(kPause);
  for (int i = 0; i < 100; ++i) worker.progress(10);
  end(all.senders[1]);
  return all.count;
}

// --- completions ---

constexpr size_t kLong = 100'000;

[[noreturn]] void run_receiver(Channel channel) {
  const Worker worker;
  worker.ignore_messages();
  (void)worker.connect(channel.exchange(worker.address()));
  Bytes buffer(kLong);
  const ucp_request_param_t plain = {};
  for (int i = 0; i < 2; ++i) {
    worker.finish(ucp_tag_recv_nbx(worker.handle, buffer.data(), kLong, 1, ~uint64_t{0}, &plain));
    worker.progress(2000);
    channel.barrier({});
  }
  for (;;) pause();
}

struct Sent {
  ucp_ep_h ep;
  bool done = false;
};

bool run_completions() {
  Sender receiver = start([](Channel channel) { run_receiver(std::move(channel)); });
  Sender sender = start_sender(1);
  const Worker worker;
  const Worker other;
  (void)other.connect(other.address());
  int count = 0;
  const auto counts = [](void* arg, const void*, size_t, void*, size_t,
                         const ucp_am_recv_param_t*) {
    ++*static_cast<int*>(arg);
    return UCS_OK;
  };
  worker.handle_messages(counts, &count);
  for (Sender* s : {&receiver, &sender})
    s->ep = worker.connect(s->channel->exchange(worker.address()));
  const auto progress = [&] { worker.progress(1); };
  while (count < 1) progress();
  sender.channel->barrier(progress);
  const Bytes buffer(kLong);
  ucp_request_param_t params = {};
  worker.finish(ucp_tag_send_nbx(receiver.ep, buffer.data(), kLong, 1, &params));
  receiver.channel->barrier(progress);
  worker.progress(2000);
  usleep(kPause);  // it waits for the next one
  Sent sent{receiver.ep};
  params.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  params.user_data = &sent;
  params.cb.send = [](void* request, ucs_status_t, void* arg) {
    auto& of = *static_cast<Sent*>(arg);
    of.done = true;
    for (int i = 0; i < 3; ++i) send(of.ep, 0);
    ucp_request_free(request);
  };
  (void)ucp_tag_send_nbx(receiver.ep, buffer.data(), kLong, 1, &params);
  while (ucp_worker_progress(worker.handle) == 0) {}  // until the data leaves
  // It is acknowledged meanwhile.
  receiver.channel->barrier([&] { other.progress(100); });
  for (int i = 0; i < 20; ++i) {
    usleep(kPause / 20);
    other.progress(5000);
  }
  send(receiver.ep, 0);  // not read
  // The sender's event comes first.
  sender.channel->barrier({});
  sender.channel->barrier({});
  usleep(kPause);
  end(receiver);
  usleep(kPause);
  for (int i = 0; i < 100; ++i) worker.progress(10);
  end(sender);
  return sent.done && count == 2;
}

// --- atomic operations ---

constexpr uint64_t kBefore = 1000;
alignas(4096) std::array<uint64_t, 512> words;

[[noreturn]] void run_origin(Channel channel) {
  const Worker worker;
  ucp_ep_h ep = worker.connect(channel.exchange(worker.address()));
  const Bytes packed = channel.exchange({0});
  ucp_rkey_h key;
  check(ucp_ep_rkey_unpack(ep, packed.data(), &key), "ucp_ep_rkey_unpack");
  const auto address = reinterpret_cast<uint64_t>(words.data());  // as the target's, made by fork()
  const ucp_request_param_t plain = {};
  ucp_request_param_t atomic = {};
  atomic.op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE;
  atomic.datatype = ucp_dt_make_contig(sizeof(uint64_t));
  const auto add = [&](const uint64_t& value) {
    return ucp_atomic_op_nbx(ep, UCP_ATOMIC_OP_ADD, &value, 1, address, key, &atomic);
  };
  const uint64_t none = 0;
  const uint64_t one = 1;
  uint64_t got = 0;
  worker.finish(add(none));  // connects
  worker.finish(ucp_get_nbx(ep, &got, sizeof(got), address, key, &plain));
  channel.barrier({});
  usleep(kPause);  // the target is idle
  worker.finish(add(one));
  check(ucp_worker_fence(worker.handle), "ucp_worker_fence");
  void* get = ucp_get_nbx(ep, &got, sizeof(got), address, key, &plain);
  for (int i = 0; i < 20; ++i) {
    usleep(kPause / 20);
    worker.progress(10);
  }
  channel.barrier({});
  worker.finish(get);
  channel.barrier([&] { worker.progress(1); });
  _exit(got == kBefore + 1 ? 0 : 1);
}

// Whether the get brought what was there behind the operation.
bool run_atomics() {
  words[0] = kBefore;
  const Sender origin = start([](Channel its) { run_origin(std::move(its)); });
  Channel& channel = *origin.channel;
  const Worker worker;
  const Worker other;
  (void)other.connect(other.address());
  (void)worker.connect(channel.exchange(worker.address()));
  ucp_mem_map_params_t params = {};
  params.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH;
  params.address = words.data();
  params.length = sizeof(words);
  ucp_mem_h memory;
  check(ucp_mem_map(worker.context, &params, &memory), "ucp_mem_map");
  void* key;
  size_t length;
  check(ucp_rkey_pack(worker.context, memory, &key, &length), "ucp_rkey_pack");
  const auto* bytes = static_cast<const uint8_t*>(key);
  (void)channel.exchange(Bytes(bytes, bytes + length));
  ucp_rkey_buffer_release(key);
  channel.barrier([&] { worker.progress(1); });
  channel.barrier([&] { other.progress(100); });
  channel.barrier([&] { worker.progress(1); });
  int status;
  waitpid(origin.pid, &status, 0);
  return status == 0;
}

}  // namespace
}  // namespace verity::test

int main(int argc, char** argv) {
  const int turns = argc > 1 ? std::atoi(argv[1]) : 3;
  const std::string_view what = argc > 2 ? argv[2] : "messages";
  int answered = 0;
  for (int turn = 0; turn < turns; ++turn) {
    std::fflush(stdout);
    const pid_t pid = fork();
    if (pid == 0) {
      int count = 0;
      try {
        count = what == "atomics"       ? int{verity::test::run_atomics()}
                : what == "completions" ? int{verity::test::run_completions()}
                                        : verity::test::run_turn();
      } catch (const std::exception& failure) { std::printf("%s\n", failure.what()); }
      _exit(count);
    }
    int status;
    waitpid(pid, &status, 0);
    if (WIFSIGNALED(status)) return 128 + WTERMSIG(status);
    answered += WEXITSTATUS(status);
  }
  std::printf("turns %d %s %d\n", turns, what == "messages" ? "answered" : "right", answered);
  return 0;
}
