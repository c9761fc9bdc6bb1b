// SPDX-License-Identifier: BSD-3-Clause
//
// Ping-pong of two UCP workers that sleep whenever there is nothing to do, in ucp_worker_wait or on
// the event descriptor. With a transport that loses frames both can be asleep when one is missing:
// they must wake and recover.
//
//   wakeup [-n TURNS] [-s BYTES] [-m wait|fd|late|ticks] [-t SECONDS]
//
// late: on the descriptor, and each message is sent when the sleep has begun, as by another thread.
// ticks: one sends and flushes, in each turn, and the other makes progress now and then, until
// there is nothing to do. Prints 'turns N ticks N'; exit status 1 where that is no tick for a turn.
// Prints 'turns N wrong N slept N longest_ms X'; exit status 0, 1 wrong, 3 no message for SECONDS
// (default 20) although one is due.
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "flow.h"
#include "ucp_peer.h"

namespace verity::test {
namespace {

constexpr int kHang = 3;
// Now and then the other side has to wait for so long that it surely goes to sleep.
constexpr int kPauseEvery = 10;
constexpr useconds_t kPause = 3000;  // us

constexpr useconds_t kTick = 60'000;  // us

struct Arguments {
  int turns = 500;
  size_t length = 64;
  bool descriptor = false;
  bool late = false;
  bool ticks = false;
  unsigned seconds = 20;
};

void hang(int) {
  static const char kLine[] = "HANG: asleep although a message is due\n";
  (void)!write(2, kLine, sizeof(kLine) - 1);
  _exit(kHang);
}

class Sleeper {
 public:
  Sleeper(ucp_worker_h worker, bool descriptor) : worker_(worker) {
    if (descriptor) { check(ucp_worker_get_efd(worker, &fd_), "ucp_worker_get_efd"); }
  }
  // Sleeps until the worker has events; returns at once when it has some already.
  void sleep() {
    if (fd_ < 0) {
      check(ucp_worker_wait(worker_), "ucp_worker_wait");
      ++slept_;
      return;
    }
    ucs_status_t status = ucp_worker_arm(worker_);
    if (status == UCS_ERR_BUSY) { return; }
    check(status, "ucp_worker_arm");
    pollfd waiting = {fd_, POLLIN, 0};
    slept_ += ::poll(&waiting, 1, -1) > 0;
  }
  // The same on the descriptor, and calls send() once the worker is armed.
  template <typename Send>
  void sleep_over(Send&& send) {
    ucs_status_t status;
    while ((status = ucp_worker_arm(worker_)) == UCS_ERR_BUSY) { ucp_worker_progress(worker_); }
    check(status, "ucp_worker_arm");
    send();
    pollfd waiting = {fd_, POLLIN, 0};
    slept_ += ::poll(&waiting, 1, -1) > 0;
  }
  [[nodiscard]] unsigned slept() const { return slept_; }

 private:
  ucp_worker_h worker_;
  int fd_ = -1;
  unsigned slept_ = 0;
};

int run_side(Channel& channel, int role, const Arguments& arguments) {
  std::signal(SIGALRM, hang);
  UcpPeer peer(channel, {.features = UCP_FEATURE_TAG | UCP_FEATURE_WAKEUP});
  Sleeper sleeper(peer.worker(), arguments.descriptor);
  Bytes out(arguments.length), in(arguments.length);
  int wrong = 0;
  double longest = 0;
  auto sleep = [&] { sleeper.sleep(); };
  for (int i = 0; i < arguments.turns; ++i) {
    alarm(arguments.seconds);
    double begin = seconds_now();
    void *send, *receive;
    auto sequence = static_cast<uint64_t>(i);
    std::fill(in.begin(), in.end(), 0);
    check(peer.receive(in.data(), in.size(), sequence, &receive), "receive");
    for (int step = 0; step < 2; ++step) {
      if (step == role) {
        if (i % kPauseEvery == 0) { usleep(kPause); }
        fill(out.data(), out.size(), static_cast<uint8_t>(role), sequence);
        const auto start = [&] {
          check(peer.send(out.data(), out.size(), sequence, &send), "send");
        };
        // Not the first ones, which connect the workers: that is not done without progress.
        if (arguments.late && i >= kPauseEvery) {
          sleeper.sleep_over(start);
        } else {
          start();
        }
        check(peer.wait(send, 1000, sleep), "send");
      } else {
        check(peer.wait(receive, 1000, sleep), "receive");
      }
    }
    wrong +=
        first_wrong(in.data(), in.size(), static_cast<uint8_t>(1 - role), sequence) != in.size();
    longest = std::max(longest, seconds_now() - begin);
  }
  alarm(arguments.seconds);
  channel.barrier([&] { ucp_worker_progress(peer.worker()); });
  if (role == 0) {
    std::printf("turns %d wrong %d slept %u longest_ms %.1f\n", arguments.turns, wrong,
                sleeper.slept(), longest * 1e3);
  }
  return wrong == 0 && sleeper.slept() > 0 ? 0 : 1;
}

void flush(UcpPeer& peer) {
  const ucp_request_param_t param = {};
  ucs_status_ptr_t request = ucp_ep_flush_nbx(peer.ep(), &param);
  if (request != nullptr) check(peer.wait(request, 1000), "flush");
}

// What came until now, of messages that were posted for one behind the other.
int take_arrived(UcpPeer& peer, const Arguments& arguments, int arrived, void** receive_p) {
  static Bytes in(arguments.length);
  while (arrived < arguments.turns) {
    if (*receive_p == nullptr) {
      const ucs_status_t status =
          peer.receive(in.data(), in.size(), static_cast<uint64_t>(arrived), receive_p);
      check(status, "receive");
      arrived += status == UCS_OK;
    } else {
      if (ucp_request_check_status(*receive_p) == UCS_INPROGRESS) break;
      ucp_request_free(std::exchange(*receive_p, nullptr));
      ++arrived;
    }
  }
  return arrived;
}

int run_ticks(Channel& channel, int role, const Arguments& arguments) {
  std::signal(SIGALRM, hang);
  alarm(arguments.seconds);
  UcpPeer peer(channel, {.features = UCP_FEATURE_TAG});
  const auto progress = [&] { ucp_worker_progress(peer.worker()); };
  Bytes out(arguments.length);
  int arrived = 0, ticks = 0;
  void* request = nullptr;
  for (int i = 0; role == 0 && i < arguments.turns; ++i) {
    if (i == 1) channel.barrier(progress);  // they are connected
    check(peer.send(out.data(), out.size(), static_cast<uint64_t>(i), &request), "send");
    if (request != nullptr) check(peer.wait(request, 1000), "send");
    flush(peer);
  }
  while (role == 1 && arrived < 1) {
    progress();
    arrived = take_arrived(peer, arguments, arrived, &request);
  }
  if (role == 1) channel.barrier(progress);
  for (; role == 1 && arrived < arguments.turns; ++ticks) {
    usleep(kTick);
    while (ucp_worker_progress(peer.worker()) != 0) {}
    arrived = take_arrived(peer, arguments, arrived, &request);
  }
  channel.barrier(progress);
  if (role == 0) return 0;
  std::printf("turns %d ticks %d\n", arguments.turns, ticks);
  return ticks <= arguments.turns * 3 / 2 ? 0 : 1;
}

Arguments parse(int argc, char** argv) {
  Arguments arguments;
  int option;
  while ((option = getopt(argc, argv, "n:s:m:t:")) != -1) {
    switch (option) {
      case 'n': arguments.turns = std::atoi(optarg); break;
      case 's': arguments.length = std::strtoul(optarg, nullptr, 0); break;
      case 'm':
        arguments.late = std::string(optarg) == "late";
        arguments.ticks = std::string(optarg) == "ticks";
        arguments.descriptor = arguments.late || std::string(optarg) == "fd";
        break;
      case 't': arguments.seconds = static_cast<unsigned>(std::atoi(optarg)); break;
      default:
        std::fprintf(stderr,
                     "usage: wakeup [-n turns] [-s bytes] [-m wait|fd|late|ticks] [-t seconds]\n");
        std::exit(2);
    }
  }
  return arguments;
}

int run(const Arguments& arguments) {
  pid_t pids[2];
  const auto side = arguments.ticks ? run_ticks : run_side;
  start_pair([&](Channel& channel, int role) { return side(channel, role, arguments); }, pids);
  int worst = 0;
  for (pid_t pid : pids) {
    int status;
    waitpid(pid, &status, 0);
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    worst = std::max(worst, code);
  }
  return worst;
}

}  // namespace
}  // namespace verity::test

int main(int argc, char** argv) { return verity::test::run(verity::test::parse(argc, argv)); }
