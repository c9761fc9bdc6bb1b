// SPDX-License-Identifier: BSD-3-Clause
#include "tools/bench/pair.h"

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <ucp/api/ucp.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <optional>
#include <stdexcept>

#include "policy/policy_file.h"
#include "tools/bench/clock.h"
#include "tools/bench/cpus.h"
#include "tools/env/environment.h"
#include "tools/env/install.h"
#include "tools/env/site.h"
#include "tools/env/transports.h"
#include "tools/hex.h"
#include "tools/lines.h"
#include "tools/subprocess.h"

namespace verity::tools::bench {

namespace {

using Json = nlohmann::json;

// A batch takes far less. Past it one side waits for what will not come.
constexpr timeval kPatience = {60, 0};

// Null when the other end is closed, or silent for too long.
Json read_json(LineReader* reader) {
  const auto line = reader->read_line();
  const Json json = line ? Json::parse(*line, nullptr, false) : Json();
  return json.is_object() ? json : Json();
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
      write_line(answers_, answer.dump());
    }
  }

 private:
  Json next_order() {
    while (spins_ && !orders_.ready()) {
      for (int i = 0; i < 100; ++i) stack_->progress();
    }
    return read_json(&orders_);
  }

  void follow(const Json& order, Json* answer) {
    const std::string what = order["order"];
    if (what == "open") {
      open(order, answer);
    } else if (what == "connect") {
      stack_->connect(from_hex(order["peer"].get<std::string>()), order["send"], order["loopback"]);
    } else if (what == "lead" || what == "follow") {
      const std::uint64_t before = preemptions();
      if (what == "lead") {
        std::vector<std::uint64_t> intervals = lead(order["warm_up"], order["count"]);
        // The counter of another host has another rate.
        if (scale_) {
          for (std::uint64_t& interval : intervals)
            interval = static_cast<std::uint64_t>(scale_->ns(interval) + .5);
        }
        (*answer)["ticks"] = intervals;
      }
      if (what == "follow") receive(order["warm_up"], order["count"]);
      (*answer)["disturbed"] = preemptions() != before;
    } else if (what == "close") {
      stack_->disconnect();
    }
    spins_ = what == "lead" || what == "follow" || what == "close";
  }

  void open(const Json& order, Json* answer) {
    test_ = order["test"];
    if (order["remote"]) scale_.emplace();
    stack_ = (order["level"] == Level::kUct ? open_uct_stack : open_ucp_stack)(
        name_here(order["transport"]), order["size"]);
    const Capability can = stack_->capability();
    (*answer)["address"] = to_hex(stack_->address());
    (*answer)["can"] = {can.max_short, can.max_bcopy, can.max_zcopy};
  }

  // This host may lock UCX's own names, unlike the one that gives the orders.
  static std::string name_here(const std::string& transport) {
    const char* folder = std::getenv(plugin_variable(parse_version(ucp_get_version_string())));
    if (folder == nullptr || !transport.starts_with('v')) return transport;
    const std::string first = std::string(folder).substr(0, std::string_view(folder).find(':'));
    return locks_own_names(policy::read_site(first)) ? transport.substr(1) : transport;
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

  const int answers_ = take_stdout();
  LineReader orders_{STDIN_FILENO};
  Test test_ = Test::kLatency;
  std::optional<TickScale> scale_;
  std::unique_ptr<Stack> stack_;
  bool spins_ = false;
};

}  // namespace

const std::vector<int>& pair_cpus() {
  static const std::vector<int> all = [] {
    std::vector<int> allowed;
    cpu_set_t set;
    CPU_ZERO(&set);
    (void)sched_getaffinity(0, sizeof(set), &set);
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &set)) allowed.push_back(cpu);
    }
    return choose_pair(allowed, [](int cpu) {
      std::ifstream file("/sys/devices/system/cpu/cpu" + std::to_string(cpu) +
                         "/topology/thread_siblings_list");
      std::string list;
      std::getline(file, list);
      return list;
    });
  }();
  return all;
}

std::string Variant::transport(const std::string& lower) const {
  return wrapped && !own_names ? wrapper_of(lower) : lower;
}

std::vector<std::string> worker_command(const Variant& variant, const std::string& start) {
  std::vector<std::string> command = {own_path(), "bench", "--worker"};
  if (start.empty()) return command;
  // As typed in a shell; what it starts on its host gets the variant's environment there.
  std::vector<std::string> words = {"/bin/sh", "-c", "exec " + start + " \"$@\"", "sh", "env"};
  for (const std::string& name : variant.unset) words.insert(words.end(), {"-u", name});
  for (const Variable& variable : variant.set)
    words.push_back(variable.name + "=" + variable.value);
  words.insert(words.end(), command.begin(), command.end());
  return words;
}

class Pair::Process {
 public:
  // `start`: the command that starts it on another host; empty: on this one.
  Process(const Variant& variant, std::size_t index, const std::string& start) {
    int sockets[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0 || (id_ = fork()) < 0) {
      throw std::runtime_error("cannot start a process");
    }
    if (id_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      dup2(sockets[1], STDIN_FILENO);
      dup2(sockets[1], STDOUT_FILENO);
      const bool local = start.empty();
      if (local) bind(index);
      const std::vector<std::string> no_names;
      become(worker_command(variant, start), local ? variant.set : std::vector<Variable>{},
             local ? variant.unset : no_names);
    }
    ::close(sockets[1]);
    socket_ = sockets[0];
    answers_ = LineReader(socket_);
    (void)setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof(kPatience));
  }
  // A remote one ends with its input.
  ~Process() {
    if (!closed_) kill(id_, SIGKILL);
    ::close(socket_);
    waitpid(id_, nullptr, 0);
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  void order(const Json& json) const { write_line(socket_, json.dump()); }
  [[nodiscard]] Json answer() {
    const Json json = read_json(&answers_);
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
  LineReader answers_{-1};
  bool closed_ = false;
};

Pair::Pair(const Variant& variant, const Traffic& traffic, const std::vector<std::string>& starts)
    : traffic_(traffic), remote_(!starts.empty()) {
  for (std::size_t i = 0; i < (traffic.loopback() ? 1U : 2U); ++i) {
    processes_.push_back(std::make_unique<Process>(variant, i, remote_ ? starts.at(i) : ""));
  }
  const Json order = {{"order", "open"},
                      {"level", traffic.level},
                      {"transport", variant.transport(traffic.transport)},
                      {"test", traffic.test},
                      {"remote", remote_},
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
  Timing timing{
      .ticks = answers[0]["ticks"], .in_ns = remote_, .disturbed = answers[0]["disturbed"]};
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
