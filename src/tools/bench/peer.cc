// SPDX-License-Identifier: BSD-3-Clause
#include "tools/bench/peer.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <stdexcept>

namespace verity::tools::bench {

namespace {

// A batch takes far less. Past it one side waits for what will not come.
constexpr unsigned kBatchSeconds = 60;

enum class Order : std::uint32_t { kOpen, kClose, kRun, kPreemptions };

struct Message {
  Order order = Order::kClose;
  Level level = Level::kUct;
  int index = 0;
  Batch batch;
  char names[2][32] = {};
};

void write_all(int socket, const void* data, std::size_t size) {
  if (::send(socket, data, size, MSG_NOSIGNAL) != static_cast<ssize_t>(size)) {
    throw std::runtime_error("the other process of the benchmark ended");
  }
}

void read_all(int socket, void* data, std::size_t size) {
  if (::recv(socket, data, size, MSG_WAITALL) != static_cast<ssize_t>(size)) {
    throw std::runtime_error("the other process of the benchmark ended");
  }
}

void write_text(int socket, const std::string& text) {
  const std::uint64_t size = text.size();
  write_all(socket, &size, sizeof(size));
  write_all(socket, text.data(), text.size());
}

std::string read_text(int socket) {
  std::uint64_t size = 0;
  read_all(socket, &size, sizeof(size));
  std::string text(size, '\0');
  if (size > 0) read_all(socket, text.data(), size);
  return text;
}

// Both sides, at once: opens, swaps addresses, connects. Errors of one side reach both.
std::vector<std::unique_ptr<Stack>> open_pair(int socket, const Message& order, bool loops_back) {
  std::vector<std::unique_ptr<Stack>> stacks;
  for (const char* name : order.names) {
    std::string problem;
    std::string address;
    try {
      stacks.push_back(order.level == Level::kUct ? open_uct_stack(name) : open_ucp_stack(name));
      address = stacks.back()->address();
    } catch (const std::exception& error) { problem = error.what(); }
    write_text(socket, problem);
    write_text(socket, address);
    const std::string peer_problem = read_text(socket);
    const std::string peer_address = read_text(socket);
    if (!problem.empty() || !peer_problem.empty()) {
      throw std::runtime_error(problem.empty() ? peer_problem : problem);
    }
    stacks.back()->connect(loops_back ? address : peer_address);
  }
  return stacks;
}

// Closing needs both sides to make progress on the same stack at the same time.
void close_pair(int socket, std::vector<std::unique_ptr<Stack>>* stacks) {
  char mark = 'c';
  for (auto& stack : *stacks) {
    stack->disconnect();
    write_all(socket, &mark, 1);
    read_all(socket, &mark, 1);
    stack.reset();
  }
  stacks->clear();
}

// The next order, false when there will be none. Until it comes `last`, the stack of the last
// batch, makes progress: a transport may keep what was sent until the sender calls again.
bool next_order(int socket, Stack* last, Message* message) {
  char first = 0;
  while (last != nullptr) {
    if (::recv(socket, &first, 1, MSG_PEEK | MSG_DONTWAIT) >= 0) break;
    if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) return false;
    for (int i = 0; i < 100; ++i) last->idle();
  }
  return ::recv(socket, message, sizeof(*message), MSG_WAITALL) == sizeof(*message);
}

std::uint64_t own_preemptions() {
  rusage usage{};
  (void)getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_nivcsw);
}

void die_of_silence(int) {
  static const char kText[] = "ucx-verity bench: a batch did not end; giving up\n";
  (void)!::write(STDERR_FILENO, kText, sizeof(kText) - 1);
  _exit(2);
}

void bind_to(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  (void)sched_setaffinity(0, sizeof(set), &set);
}

std::vector<int> allowed_cpus(cpu_set_t* set) {
  std::vector<int> cpus;
  CPU_ZERO(set);
  if (sched_getaffinity(0, sizeof(*set), set) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, set)) cpus.push_back(cpu);
  }
  return cpus;
}

}  // namespace

PeerProcess::PeerProcess() {
  int sockets[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) {
    throw std::runtime_error(std::string("socketpair: ") + std::strerror(errno));
  }
  const std::vector<int> cpus = allowed_cpus(&allowed_);
  const bool bind = cpus.size() >= 2;
  std::fflush(nullptr);
  child_ = fork();
  if (child_ < 0) throw std::runtime_error(std::string("fork: ") + std::strerror(errno));
  if (child_ == 0) {
    ::close(sockets[0]);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (bind) bind_to(cpus[1]);
    follow_orders(sockets[1]);
  }
  ::close(sockets[1]);
  socket_ = sockets[0];
  if (bind) bind_to(cpus[0]);
  cpus_ = bind ? std::to_string(cpus[0]) + "," + std::to_string(cpus[1]) : "only one";
  signal(SIGALRM, die_of_silence);
}

PeerProcess::~PeerProcess() {
  // After an error the two may be out of step: then the child is killed.
  if (!stacks_.empty()) kill(child_, SIGKILL);
  ::close(socket_);
  waitpid(child_, nullptr, 0);
  // What comes later, MPI jobs for one, is free to use every CPU again.
  (void)sched_setaffinity(0, sizeof(allowed_), &allowed_);
}

void PeerProcess::open(Level level, const std::string& first, const std::string& second) {
  close();
  Message message;
  message.order = Order::kOpen;
  message.level = level;
  std::snprintf(message.names[0], sizeof(message.names[0]), "%s", first.c_str());
  std::snprintf(message.names[1], sizeof(message.names[1]), "%s", second.c_str());
  loops_back_ = first == "self";
  write_all(socket_, &message, sizeof(message));
  alarm(kBatchSeconds);
  stacks_ = open_pair(socket_, message, loops_back_);
  alarm(0);
}

void PeerProcess::close() {
  if (stacks_.empty()) return;
  Message message;
  message.order = Order::kClose;
  write_all(socket_, &message, sizeof(message));
  alarm(kBatchSeconds);
  close_pair(socket_, &stacks_);
  alarm(0);
}

void PeerProcess::run(int index, const Batch& batch, std::vector<std::uint64_t>* ticks_out) {
  ticks_out->clear();
  ticks_out->reserve(batch.count);
  Stack& stack = *stacks_.at(static_cast<std::size_t>(index));
  alarm(kBatchSeconds);
  if (loops_back_) {
    stack.loop_back(batch, ticks_out);
  } else {
    Message message;
    message.order = Order::kRun;
    message.index = index;
    message.batch = batch;
    write_all(socket_, &message, sizeof(message));
    char mark = 0;
    read_all(socket_, &mark, 1);
    stack.lead(batch, ticks_out);
  }
  alarm(0);
}

std::uint64_t PeerProcess::preemptions() {
  Message message;
  message.order = Order::kPreemptions;
  write_all(socket_, &message, sizeof(message));
  std::uint64_t peer_count = 0;
  read_all(socket_, &peer_count, sizeof(peer_count));
  return own_preemptions() + peer_count;
}

Capability PeerProcess::capability(int index) const {
  return stacks_.at(static_cast<std::size_t>(index))->capability();
}

void PeerProcess::follow_orders(int socket) {
  std::vector<std::unique_ptr<Stack>> stacks;
  int status = 0;
  try {
    Message message;
    Stack* last = nullptr;
    while (next_order(socket, last, &message)) {
      if (message.order == Order::kPreemptions) {
        const std::uint64_t count = own_preemptions();
        write_all(socket, &count, sizeof(count));
        continue;
      }
      last = nullptr;
      if (message.order == Order::kOpen) {
        try {
          stacks = open_pair(socket, message, std::strcmp(message.names[0], "self") == 0);
        } catch (const std::exception&) {
          stacks.clear();  // the leader reports it
        }
      } else if (message.order == Order::kClose) {
        close_pair(socket, &stacks);
      } else {
        const char mark = 'r';
        write_all(socket, &mark, 1);
        last = stacks.at(static_cast<std::size_t>(message.index)).get();
        last->follow(message.batch);
      }
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "ucx-verity bench (peer): %s\n", error.what());
    status = 2;
  }
  // Not exit(): what the parent registered to run at its end is the parent's.
  std::fflush(nullptr);
  _exit(status);
}

}  // namespace verity::tools::bench
