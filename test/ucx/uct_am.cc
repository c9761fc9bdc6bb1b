// SPDX-License-Identifier: BSD-3-Clause
//
// Tests a transport's active messages through the public UCT API, two processes against each other
// (one alone for loopback transports). TAP on stdout.
//
//   uct_am [-r ROUNDS] [-c TEXT] [-a] TRANSPORT [DEVICE]
//
//   -r  scales the long cases (default 100)    -c  only cases whose names hold TEXT
//   -a  alone: one process talks with itself (default for names that end in "self")
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "cases/cases.h"

namespace verity::test {
namespace {

constexpr int kSkip = 77;
constexpr unsigned kSecondsPerCase = 120;

struct Arguments {
  Options options;
  int rounds = 100;
  std::string only;
  bool alone = false;
};

// The body of a child process: the exit status says what became of the case.
int run_side(const Case& test, const Arguments& arguments, int fd, int role) {
  alarm(kSecondsPerCase);
  Channel channel(fd);
  Side side{channel, arguments.options, role, arguments.rounds};
  try {
    test.run(side);
    return 0;
  } catch (const Skip& skip) {
    std::printf("# side %d: %s\n", role, skip.what());
    channel.skip(skip.what());
    return kSkip;
  } catch (const std::exception& error) {
    std::printf("# side %d: %s\n", role, error.what());
    return 1;
  }
}

pid_t start_side(const Case& test, const Arguments& arguments, const int* fds, int role) {
  std::fflush(stdout);
  pid_t pid = fork();
  if (pid == 0) {
    if (!arguments.alone) { close(fds[1 - role]); }
    int status = run_side(test, arguments, fds[role], role);
    std::fflush(stdout);
    // No destructors of static objects here, but UCX's own at-exit work is part of the test.
    std::exit(status);
  }
  return pid;
}

// Worst exit status of the case's processes; a signal counts as 128 and its number.
int wait_for(const pid_t* pids, int count) {
  int worst = 0;
  for (int i = 0; i < count; ++i) {
    int status;
    if (waitpid(pids[i], &status, 0) < 0) { return 1; }
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    bool is_worse = worst == 0 || (worst == kSkip && code != 0);
    worst = is_worse ? code : worst;
  }
  return worst;
}

int run_case(const Case& test, const Arguments& arguments) {
  int fds[2] = {-1, -1};
  if (!arguments.alone && socketpair(AF_UNIX, SOCK_STREAM, 0, fds) != 0) { return 1; }
  int count = arguments.alone ? 1 : 2;
  pid_t pids[2];
  for (int role = 0; role < count; ++role) { pids[role] = start_side(test, arguments, fds, role); }
  if (!arguments.alone) {
    close(fds[0]);
    close(fds[1]);
  }
  return wait_for(pids, count);
}

void report(int number, const Case& test, int code) {
  if (code == 0) {
    std::printf("ok %d - %s\n", number, test.name);
  } else if (code == kSkip) {
    std::printf("ok %d - %s # SKIP see above\n", number, test.name);
  } else if (code == 128 + SIGALRM) {
    std::printf("not ok %d - %s (hangs)\n", number, test.name);
  } else {
    std::printf("not ok %d - %s (status %d)\n", number, test.name, code);
  }
  std::fflush(stdout);
}

Arguments parse(int argc, char** argv) {
  Arguments arguments;
  int option;
  while ((option = getopt(argc, argv, "r:c:a")) != -1) {
    switch (option) {
      case 'r': arguments.rounds = std::atoi(optarg); break;
      case 'c': arguments.only = optarg; break;
      case 'a': arguments.alone = true; break;
      default: optind = argc;
    }
  }
  if (optind >= argc) {
    std::fprintf(stderr, "usage: uct_am [-r rounds] [-c text] [-a] transport [device]\n");
    std::exit(2);
  }
  arguments.options.transport = argv[optind];
  arguments.options.device = optind + 1 < argc ? argv[optind + 1] : "";
  arguments.alone = arguments.alone || arguments.options.transport.ends_with("self");
  return arguments;
}

int run_all(const Arguments& arguments) {
  int number = 0;
  int failed = 0;
  for (auto cases :
       {send_cases(), receive_cases(), queue_cases(), flush_cases(), lifetime_cases(),
        closing_cases(), completion_cases(), link_cases(), fork_cases(), async_cases(), rma_cases(),
        rma_order_cases(), memory_cases(), read_cases(), setup_cases(), failover_cases()}) {
    for (const Case& test : cases) {
      if (std::strstr(test.name, arguments.only.c_str()) == nullptr) { continue; }
      int code = run_case(test, arguments);
      failed += code != 0 && code != kSkip;
      report(++number, test, code);
    }
  }
  std::printf("1..%d\n", number);
  return failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace verity::test

int main(int argc, char** argv) { return verity::test::run_all(verity::test::parse(argc, argv)); }
