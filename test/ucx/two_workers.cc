// SPDX-License-Identifier: BSD-3-Clause
//
// Two processes with two workers each, as Open MPI has when one-sided operations are used. In each
// turn side 0 sends on the first worker and then progresses the second only, where side 1 answers
// what it received. Side 1 also sends on the first worker, before the answer: side 0 finds that in
// order later.
//
//   two_workers [TURNS [BYTES]]
//
// Prints 'turns N wrong N'; exit status 0, 1 wrong or no answer.
#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "flow.h"
#include "ucp_peer.h"

namespace verity::test {
namespace {

constexpr unsigned kBurst = 3;   // messages of side 1 on the first worker in each turn
constexpr double kSeconds = 20;  // for an answer
constexpr uint64_t kAny = 7;     // the tag of all messages: their order shows which is which

int run_side(Channel& channel, int role, int turns, size_t length) {
  UcpPeer first(channel, {});
  UcpPeer second(channel, {});
  Bytes out(length), in(length);
  int wrong = 0;
  uint64_t sent = 0, received = 0;
  const auto send = [&](UcpPeer& peer) {
    void* request;
    fill(out.data(), length, static_cast<uint8_t>(role), sent++);
    check(peer.send(out.data(), length, kAny, &request), "send");
    check(peer.wait(request, kSeconds), "send");
  };
  const auto receive = [&](UcpPeer& peer, uint64_t sequence) {
    void* request;
    std::fill(in.begin(), in.end(), 0);
    check(peer.receive(in.data(), length, kAny, &request), "receive");
    check(peer.wait(request, kSeconds), "receive");
    wrong += first_wrong(in.data(), length, static_cast<uint8_t>(1 - role), sequence) != length;
  };
  for (int turn = 0; turn < turns; ++turn) {
    if (role == 0) {
      send(first);
      receive(second, received + kBurst);
      for (unsigned i = 0; i < kBurst; ++i) receive(first, received + i);
      received += kBurst + 1;
    } else {
      receive(first, received++);
      for (unsigned i = 0; i < kBurst; ++i) send(first);
      send(second);
    }
  }
  channel.barrier([&] {
    ucp_worker_progress(first.worker());
    ucp_worker_progress(second.worker());
  });
  if (role == 0) std::printf("turns %d wrong %d\n", turns, wrong);
  return wrong == 0 ? 0 : 1;
}

int run(int turns, size_t length) {
  pid_t pids[2];
  start_pair([&](Channel& channel, int role) { return run_side(channel, role, turns, length); },
             pids);
  int worst = 0;
  for (pid_t pid : pids) {
    int status;
    waitpid(pid, &status, 0);
    worst = std::max(worst, WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
  }
  return worst;
}

}  // namespace
}  // namespace verity::test

int main(int argc, char** argv) {
  return verity::test::run(argc > 1 ? std::atoi(argv[1]) : 500,
                           argc > 2 ? std::strtoul(argv[2], nullptr, 0) : 64);
}
