// SPDX-License-Identifier: BSD-3-Clause
//
// Ping-pong of two UCP workers that sleep whenever there is nothing to do, in ucp_worker_wait or on
// the event descriptor. With a transport that loses frames both can be asleep when one is missing:
// they must wake and recover.
//
//   wakeup [-n TURNS] [-s BYTES] [-m wait|fd|late] [-t SECONDS]
//
// late: on the descriptor, and each message is sent when the sleep has begun, as by another thread.
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

#include "flow.h"
#include "ucp_peer.h"

namespace verity::test {
namespace {

constexpr int kHang = 3;
// Now and then the other side has to wait for so long that it surely goes to sleep.
constexpr int kPauseEvery = 10;
constexpr useconds_t kPause = 3000;  // us

struct Arguments {
  int turns = 500;
  size_t length = 64;
  bool descriptor = false;
  bool late = false;
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

Arguments parse(int argc, char** argv) {
  Arguments arguments;
  int option;
  while ((option = getopt(argc, argv, "n:s:m:t:")) != -1) {
    switch (option) {
      case 'n': arguments.turns = std::atoi(optarg); break;
      case 's': arguments.length = std::strtoul(optarg, nullptr, 0); break;
      case 'm':
        arguments.late = std::string(optarg) == "late";
        arguments.descriptor = arguments.late || std::string(optarg) == "fd";
        break;
      case 't': arguments.seconds = static_cast<unsigned>(std::atoi(optarg)); break;
      default:
        std::fprintf(stderr,
                     "usage: wakeup [-n turns] [-s bytes] [-m wait|fd|late] [-t seconds]\n");
        std::exit(2);
    }
  }
  return arguments;
}

int run(const Arguments& arguments) {
  pid_t pids[2];
  start_pair([&](Channel& channel, int role) { return run_side(channel, role, arguments); }, pids);
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
