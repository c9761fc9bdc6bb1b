// SPDX-License-Identifier: BSD-3-Clause
#include "tools/bench/pair.h"

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>

#include "tools/bench/clock.h"
#include "tools/env/install.h"
#include "tools/env/transports.h"
#include "tools/subprocess.h"

namespace verity::tools::bench {

namespace {

using Json = nlohmann::json;

// A batch takes far less. Past it one side waits for what will not come.
constexpr timeval kPatience = {60, 0};

void write_json(int socket, const Json& json) {
  const std::vector<std::uint8_t> bytes = Json::to_cbor(json);
  const std::uint64_t size = bytes.size();
  (void)!::send(socket, &size, sizeof(size), MSG_NOSIGNAL);
  (void)!::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
}

// Null when the other end is closed, or silent for too long.
Json read_json(int socket) {
  std::uint64_t size = 0;
  if (::recv(socket, &size, sizeof(size), MSG_WAITALL) != sizeof(size)) return nullptr;
  std::vector<std::uint8_t> bytes(size);
  if (::recv(socket, bytes.data(), size, MSG_WAITALL) != static_cast<ssize_t>(size)) return nullptr;
  return Json::from_cbor(bytes);
}

std::string text_of(const Json& bytes) {
  return {bytes.get_binary().begin(), bytes.get_binary().end()};
}

Json bytes_of(const std::string& text) {
  return Json::binary(std::vector<std::uint8_t>(text.begin(), text.end()));
}

// One of the two processes.
class Worker {
 public:
  // Answers each order. After a batch both sides make progress until the order to stop, as what
  // they sent last may need it to arrive; then they sleep.
  void run() {
    for (Json order; !(order = next_order()).is_null();) {
      Json answer = Json::object();
      try {
        follow(order, &answer);
      } catch (const std::exception& error) { answer["problem"] = error.what(); }
      write_json(STDIN_FILENO, answer);
    }
  }

 private:
  Json next_order() {
    pollfd input = {STDIN_FILENO, POLLIN, 0};
    while (spins_ && poll(&input, 1, 0) == 0) {
      for (int i = 0; i < 100; ++i) stack_->progress();
    }
    return read_json(STDIN_FILENO);
  }

  void follow(const Json& order, Json* answer) {
    const std::string what = order["order"];
    if (what == "open") {
      open(order, answer);
    } else if (what == "connect") {
      stack_->connect(text_of(order["peer"]), order["send"], order["loopback"]);
    } else if (what == "lead" || what == "follow") {
      const std::uint64_t before = preemptions();
      if (what == "lead") (*answer)["ticks"] = lead(order["warm_up"], order["count"]);
      if (what == "follow") receive(order["warm_up"], order["count"]);
      (*answer)["disturbed"] = preemptions() != before;
    } else if (what == "close") {
      stack_->disconnect();
    }
    spins_ = what == "lead" || what == "follow" || what == "close";
  }

  void open(const Json& order, Json* answer) {
    test_ = order["test"];
    stack_ = (order["level"] == Level::kUct ? open_uct_stack : open_ucp_stack)(order["transport"],
                                                                               order["size"]);
    const Capability can = stack_->capability();
    (*answer)["address"] = bytes_of(stack_->address());
    (*answer)["can"] = {can.max_short, can.max_bcopy, can.max_zcopy};
  }

  std::vector<std::uint64_t> lead(unsigned warm_up, unsigned count) {
    std::vector<std::uint64_t> intervals;
    if (test_ == Test::kRate) {
      if (warm_up > 0) stack_->send_all(warm_up);
      const std::uint64_t start = ticks();
      stack_->send_all(count);
      return {ticks() - start};
    }
    intervals.reserve(count);
    for (unsigned i = 0; i < warm_up; ++i) stack_->ping();
    std::uint64_t last = ticks();
    for (unsigned i = 0; i < count; ++i) {
      stack_->ping();
      const std::uint64_t now = ticks();
      intervals.push_back(now - last);
      last = now;
    }
    return intervals;
  }

  void receive(unsigned warm_up, unsigned count) {
    if (test_ == Test::kRate) {
      if (warm_up > 0) stack_->receive_all(warm_up);
      stack_->receive_all(count);
      return;
    }
    for (unsigned i = 0; i < warm_up + count; ++i) stack_->pong();
  }

  // How often the system took the CPU from this process so far.
  static std::uint64_t preemptions() {
    rusage usage{};
    (void)getrusage(RUSAGE_SELF, &usage);
    return static_cast<std::uint64_t>(usage.ru_nivcsw);
  }

  Test test_ = Test::kLatency;
  std::unique_ptr<Stack> stack_;
  bool spins_ = false;
};

}  // namespace

const std::vector<int>& pair_cpus() {
  static const std::vector<int> all = [] {
    std::vector<int> cpus;
    cpu_set_t set;
    CPU_ZERO(&set);
    (void)sched_getaffinity(0, sizeof(set), &set);
    for (int cpu = 0; cpu < CPU_SETSIZE && cpus.size() < 2; ++cpu) {
      if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
    }
    return cpus.size() == 2 ? cpus : std::vector<int>{};
  }();
  return all;
}

std::string Variant::transport(const std::string& lower) const {
  return wrapped ? wrapper_of(lower) : lower;
}

class Pair::Process {
 public:
  Process(const Variant& variant, std::size_t index) {
    int sockets[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0 || (id_ = fork()) < 0) {
      throw std::runtime_error("cannot start a process");
    }
    if (id_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      dup2(sockets[1], STDIN_FILENO);
      dup2(STDERR_FILENO, STDOUT_FILENO);  // UCX logs there
      bind(index);
      become({own_path(), "bench", "--worker"}, variant.set, variant.unset);
    }
    ::close(sockets[1]);
    socket_ = sockets[0];
    (void)setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof(kPatience));
  }
  ~Process() {
    if (!closed_) kill(id_, SIGKILL);
    ::close(socket_);
    waitpid(id_, nullptr, 0);
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  void order(const Json& json) const { write_json(socket_, json); }
  [[nodiscard]] Json answer() const {
    const Json json = read_json(socket_);
    if (json.is_null()) throw std::runtime_error("a process of the benchmark ended, or hangs");
    if (json.contains("problem")) throw std::runtime_error(json["problem"]);
    return json;
  }
  void closed() { closed_ = true; }

 private:
  static void bind(std::size_t index) {
    if (pair_cpus().empty()) return;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(pair_cpus()[index], &set);
    (void)sched_setaffinity(0, sizeof(set), &set);
  }

  pid_t id_ = -1;
  int socket_ = -1;
  bool closed_ = false;
};

Pair::Pair(const Variant& variant, const Traffic& traffic) : traffic_(traffic) {
  for (std::size_t i = 0; i < (traffic.loopback() ? 1U : 2U); ++i) {
    processes_.push_back(std::make_unique<Process>(variant, i));
  }
  const Json order = {{"order", "open"},
                      {"level", traffic.level},
                      {"transport", variant.transport(traffic.transport)},
                      {"test", traffic.test},
                      {"size", traffic.size}};
  opened_ = exchange({order, order});
}

Pair::~Pair() = default;

std::vector<Json> Pair::exchange(const std::vector<Json>& orders) {
  std::vector<Json> answers;
  for (std::size_t i = 0; i < processes_.size(); ++i) processes_[i]->order(orders[i]);
  for (const auto& process : processes_) answers.push_back(process->answer());
  return answers;
}

Capability Pair::capability() const {
  const Json& can = opened_.front()["can"];
  return {.max_short = can[0], .max_bcopy = can[1], .max_zcopy = can[2]};
}

void Pair::connect(Send how) {
  Json order = {{"order", "connect"}, {"send", how}, {"loopback", traffic_.loopback()}};
  std::vector<Json> orders;
  for (const Json& peer : {opened_.back(), opened_.front()}) {
    order["peer"] = peer["address"];
    orders.push_back(order);
  }
  (void)exchange(orders);
}

Timing Pair::run(const Batch& batch) {
  Json follow = {{"order", "follow"}, {"warm_up", batch.warm_up}, {"count", batch.count}};
  Json lead = follow;
  lead["order"] = "lead";
  const std::vector<Json> answers = exchange({lead, follow});
  Timing timing{.ticks = answers[0]["ticks"], .disturbed = answers[0]["disturbed"]};
  timing.disturbed = timing.disturbed || answers.back()["disturbed"];
  lead["order"] = follow["order"] = "stop";
  (void)exchange({lead, follow});
  return timing;
}

void Pair::close() {
  const Json order = {{"order", "close"}};
  (void)exchange({order, order});
  for (const auto& process : processes_) process->closed();
}

int follow_orders() {
  Worker().run();
  return 0;
}

}  // namespace verity::tools::bench
