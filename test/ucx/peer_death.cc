// SPDX-License-Identifier: BSD-3-Clause
//
// One of two processes is killed in the middle of an exchange; the other must learn of it.
//
//   peer_death [-m peer|none] [-s BYTES] [-k TURNS] [-x CALLS] [-w MS] [-t SECONDS] [-c] [-q]
//
//   -m  peer: UCP_ERR_HANDLING_MODE_PEER with an error handler (default); none: without
//   -s  length of the messages (default 4096);  -k  turns before the death (default 200). 0: both
//   are connected and
//       have never sent anything
//   -x  the death comes in the middle of one turn more: after the victim has begun it and made so
//   many calls
//       of progress
//   -w  with -x: and after so many milliseconds more without progress (default 0)
//   -i  the survivor is the first process of a namespace, as in a container
//   -c  the victim closes its endpoint first, with all received on both sides
//   -f  so many messages, sent eagerly, are the victim's last ones; the survivor reads them when it
//       has died
//   -a  with -f: its event descriptor is armed meanwhile
//   -r  with -f: behind so many requests in two messages, which it answers late
//   -z  with -f: it is stopped meanwhile, with all its threads
//   -q  the survivor only waits for a message (nothing of its own is under way)
//   -t  seconds until the survivor must have learned of it (default 30)
//
// Prints 'survivor: <status that it got> after X s' (Success: nothing, within the limit), with -f
// 'survivor: read N of N'. Exit
// status: 0 it got one (or, without a handler, the survivor ended itself: 'survivor: ended with
// status N'), 1 otherwise, 3 when it hangs.
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "flow.h"
#include "ucp_peer.h"

namespace verity::test {
namespace {

constexpr int kHang = 3;
constexpr uint64_t kRequests = 1'000'000;  // their first tag

struct Arguments {
  bool handler = true;
  bool quiet = false;
  bool closes = false;
  bool first = false;
  bool armed = false;
  bool stopped = false;
  unsigned requests = 0;
  size_t length = 4096;
  uint64_t turns = 200;
  unsigned calls = 0;
  unsigned last = 0;  // messages
  unsigned idle = 0;  // ms
  unsigned seconds = 30;
};

// One turn in both directions. Returns the first error of the two requests.
ucs_status_t turn(UcpPeer& peer, const Arguments& arguments, uint64_t sequence, int role) {
  static Bytes out, in;
  out.resize(arguments.length);
  in.resize(arguments.length);
  fill(out.data(), out.size(), static_cast<uint8_t>(role), sequence);
  void *send, *receive;
  ucs_status_t received = peer.receive(in.data(), in.size(), sequence, &receive);
  ucs_status_t sent = peer.send(out.data(), out.size(), sequence, &send);
  auto limit = static_cast<double>(arguments.seconds);
  if (sent == UCS_INPROGRESS) { sent = peer.wait(send, limit); }
  if (sent != UCS_OK) { return sent; }
  // A receive has no endpoint: after a failure it would wait for ever, so watch the handler too.
  double end = seconds_now() + limit;
  while (received == UCS_INPROGRESS && peer.failure() == UCS_OK) {
    ucp_worker_progress(peer.worker());
    received = ucp_request_check_status(receive);
    require(seconds_now() < end, "no message and no error for too long");
  }
  if (received != UCS_OK) {
    if (receive != nullptr) {
      ucp_request_cancel(peer.worker(), receive);
      (void)peer.wait(receive, limit);
    }
    return peer.failure();
  }
  if (receive != nullptr) { ucp_request_free(receive); }
  require(first_wrong(in.data(), in.size(), static_cast<uint8_t>(1 - role), sequence) == in.size(),
          "wrong bytes before the death");
  return UCS_OK;
}

// A turn that the victim begins and does not end: with a long message it dies in the middle of a
// rendezvous.
void die_in_a_turn(UcpPeer& peer, const Arguments& arguments) {
  Bytes out(arguments.length), in(arguments.length);
  fill(out.data(), out.size(), 1, arguments.turns);
  void* request;
  (void)peer.receive(in.data(), in.size(), arguments.turns, &request);
  (void)peer.send(out.data(), out.size(), arguments.turns, &request);
  for (unsigned i = 0; i < arguments.calls; ++i) ucp_worker_progress(peer.worker());
  usleep(1000 * arguments.idle);
  raise(SIGKILL);
}

void complete(UcpPeer& peer, const Arguments& arguments, ucs_status_t status, void* request,
              const char* what) {
  if (status == UCS_INPROGRESS) status = peer.wait(request, arguments.seconds);
  check(status, what);
}

// Behind a barrier, as nothing is to be on its way to the victim: its death would discard what it
// sent.
[[noreturn]] void send_and_die(UcpPeer& peer, const Arguments& arguments) {
  Bytes out(arguments.length);
  if (arguments.stopped) usleep(10'000);  // until it is; not so long that it is seen
  for (unsigned i = 0; i < arguments.last; ++i) {
    fill(out.data(), out.size(), 1, i);
    void* request;
    const auto status = peer.send(out.data(), out.size(), arguments.turns + i, &request);
    complete(peer, arguments, status, request, "a last message");
  }
  raise(SIGKILL);
  std::abort();
}

void send_whole(UcpPeer& peer, const Arguments& arguments, uint64_t tag) {
  Bytes out(arguments.length);
  void* request;
  const auto status = peer.send(out.data(), out.size(), tag, &request);
  complete(peer, arguments, status, request, "send");
}

void receive_whole(UcpPeer& peer, const Arguments& arguments, uint64_t tag) {
  Bytes in(arguments.length);
  void* request;
  const auto status = peer.receive(in.data(), in.size(), tag, &request);
  complete(peer, arguments, status, request, "receive");
}

// The first message is probed for before the second comes.
void make_request(UcpPeer& peer, const Arguments& arguments, uint64_t tag, int role) {
  if (role == 0) {
    usleep(60'000);
    for (uint64_t part = 0; part < 2; ++part) receive_whole(peer, arguments, tag + part);
    return send_whole(peer, arguments, tag);
  }
  send_whole(peer, arguments, tag);
  const double probed = seconds_now() + 0.01;
  while (seconds_now() < probed) ucp_worker_progress(peer.worker());
  send_whole(peer, arguments, tag + 1);
  receive_whole(peer, arguments, tag);
}

int read_last(UcpPeer& peer, const Arguments& arguments) {
  if (arguments.stopped) raise(SIGSTOP);
  usleep(arguments.stopped ? 10'000 : 500'000);  // it dies meanwhile, or the threads go on
  Bytes in(arguments.length);
  unsigned count = 0;
  for (ucs_status_t status = UCS_OK; count < arguments.last; ++count) {
    void* request;
    status = peer.receive(in.data(), in.size(), arguments.turns + count, &request);
    if (status == UCS_INPROGRESS) {
      const double end = seconds_now() + 2;
      while (ucp_request_check_status(request) == UCS_INPROGRESS && seconds_now() < end)
        ucp_worker_progress(peer.worker());
      status = ucp_request_check_status(request);
    }
    if (status != UCS_OK || first_wrong(in.data(), in.size(), 1, count) != in.size()) break;
  }
  std::printf("survivor: read %u of %u\n", count, arguments.last);
  std::fflush(stdout);
  _exit(count == arguments.last ? 0 : 1);
}

// `status`: of the last turn before the death, which may have hit it.
int survive(UcpPeer& peer, const Arguments& arguments, ucs_status_t status) {
  double begin = seconds_now();
  if (status == UCS_OK && arguments.quiet) {
    double end = begin + arguments.seconds;
    while (peer.failure() == UCS_OK && seconds_now() < end) { ucp_worker_progress(peer.worker()); }
    status = peer.failure();
  }
  for (uint64_t i = arguments.turns; status == UCS_OK && !arguments.quiet; ++i) {
    status = turn(peer, arguments, i, 0);
  }
  std::printf("survivor: %s after %.1f s\n", ucs_status_string(status), seconds_now() - begin);
  return status == UCS_OK ? 1 : 0;
}

int run_side(Channel& channel, int role, const Arguments& arguments) {
  const uint64_t wakeup = arguments.armed ? UCP_FEATURE_WAKEUP : 0;
  UcpPeer peer(channel,
               {.features = UCP_FEATURE_TAG | wakeup, .error_handling = arguments.handler});
  ucs_status_t last = UCS_OK;
  for (uint64_t i = 0; i < arguments.turns; ++i) {
    check(last, "turn before the death");
    last = turn(peer, arguments, i, role);
  }
  if (arguments.turns == 0) {
    const double connected = seconds_now() + 0.3;
    while (seconds_now() < connected) ucp_worker_progress(peer.worker());
    channel.barrier([&] { ucp_worker_progress(peer.worker()); });
  }
  if (arguments.last != 0) {
    for (int i = 0; i < 2 && arguments.requests == 0; ++i) {
      const double quiet = seconds_now() + (role == 1 || i == 0 ? 0.1 : 0);
      while (seconds_now() < quiet) ucp_worker_progress(peer.worker());
      while (i == 1 && role == 0 && arguments.armed &&
             ucp_worker_arm(peer.worker()) == UCS_ERR_BUSY)
        ucp_worker_progress(peer.worker());
      channel.barrier({});
    }
    for (unsigned i = 0; i < arguments.requests; ++i)
      make_request(peer, arguments, kRequests + uint64_t{2} * i, role);
    if (role == 1) send_and_die(peer, arguments);
    return read_last(peer, arguments);
  }
  if (arguments.closes) {
    const auto progress = [&] { ucp_worker_progress(peer.worker()); };
    if (role == 1) peer.close();
    channel.barrier(progress);
    const double settled = seconds_now() + 0.2;
    while (seconds_now() < settled) progress();
    channel.barrier(progress);
  }
  if (role == 1) {
    if (arguments.calls != 0) die_in_a_turn(peer, arguments);
    raise(SIGKILL);
  }
  int status = survive(peer, arguments, last);
  std::fflush(stdout);
  return status;
}

// Waits for the survivor up to its limit and some seconds; kills it then.
int judge(pid_t survivor, const Arguments& arguments) {
  int status = 0;
  double end = seconds_now() + arguments.seconds + 10;
  while (waitpid(survivor, &status, WNOHANG) == 0) {
    if (seconds_now() > end) {
      std::printf("survivor: HANG\n");
      kill(survivor, SIGKILL);
      waitpid(survivor, &status, 0);
      return kHang;
    }
    usleep(20'000);
  }
  int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  if (arguments.handler || code == 0) { return code == 0 ? 0 : 1; }
  std::printf("survivor: ended with status %d\n", code);
  return code == 1 ? 1 : 0;
}

Arguments parse(int argc, char** argv) {
  Arguments arguments;
  int option;
  while ((option = getopt(argc, argv, "m:s:k:x:w:t:f:r:aciqz")) != -1) {
    switch (option) {
      case 'm': arguments.handler = std::string(optarg) != "none"; break;
      case 's': arguments.length = std::strtoul(optarg, nullptr, 0); break;
      case 'k': arguments.turns = std::strtoul(optarg, nullptr, 0); break;
      case 'x': arguments.calls = static_cast<unsigned>(std::strtoul(optarg, nullptr, 0)); break;
      case 'w': arguments.idle = static_cast<unsigned>(std::strtoul(optarg, nullptr, 0)); break;
      case 't': arguments.seconds = static_cast<unsigned>(std::atoi(optarg)); break;
      case 'f': arguments.last = static_cast<unsigned>(std::atoi(optarg)); break;
      case 'r': arguments.requests = static_cast<unsigned>(std::atoi(optarg)); break;
      case 'a': arguments.armed = true; break;
      case 'c': arguments.closes = true; break;
      case 'i': arguments.first = true; break;
      case 'q': arguments.quiet = true; break;
      case 'z': arguments.stopped = true; break;
      default:
        std::fprintf(
            stderr,
            "usage: peer_death [-m peer|none] [-s bytes] [-k turns] "
            "[-x calls] [-w ms] [-t seconds] [-f messages] [-r requests] [-a] [-c] [-i] [-q] "
            "[-z]\n");
        std::exit(2);
    }
  }
  return arguments;
}

int run(const Arguments& arguments) {
  pid_t pids[2];
  if (arguments.first && unshare(CLONE_NEWPID) != 0) {
    std::perror("unshare");
    return 2;
  }
  start_pair([&](Channel& channel, int role) { return run_side(channel, role, arguments); }, pids);
  int status;
  waitpid(pids[1], &status, 0);
  kill(pids[0], SIGCONT);  // where it has stopped
  if (!WIFSIGNALED(status)) {
    std::printf("the victim ended by itself\n");
    kill(pids[0], SIGKILL);
    waitpid(pids[0], &status, 0);
    return 1;
  }
  return judge(pids[0], arguments);
}

}  // namespace
}  // namespace verity::test

int main(int argc, char** argv) { return verity::test::run(verity::test::parse(argc, argv)); }
