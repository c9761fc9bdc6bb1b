// SPDX-License-Identifier: BSD-3-Clause
//
// Children that fork() made of a process with links.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "cases.h"

namespace verity::test {
namespace {

constexpr uint8_t kId = 5;

// A child that fork() made, and that ends as programs do, changes nothing for its parent and
// attests nothing. (Closing what it inherited would end it in UCX itself.)
void forked(Side& side) {
  need_wrapper_and_two(side);
  std::string file = "/tmp/verity-fork." + std::to_string(::getpid());
  setenv("UCX_VERITY_ATTEST_FILE", file.c_str(), 1);
  Iface iface(side.options);
  Inbound in(iface, kId, longish);
  Endpoints eps(iface, side.channel, 1);
  Outbound out(iface, eps[0], kId, longish);
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 100; ++i) {
      out.send(Kind::kBcopy);  // some of them still unacknowledged when the child is made
    }
    pid_t child = fork();
    if (child == 0) { std::exit(0); }
    int status = 1;
    require(::waitpid(child, &status, 0) == child && status == 0, "the child did not end well");
    bool wrote = ::unlink(file.c_str()) == 0;
    require(!wrote, "the child wrote an attestation");
  }
  in.expect(300);
  finish(side, iface);
  unsetenv("UCX_VERITY_ATTEST_FILE");
  Iface reads_it_again(side.options);
}

// A child that destroys an endpoint which it inherited sends nothing: the peer is its parent's.
void destroyed_in_child(Side& side) {
  constexpr double kSettled = 0.2;  // s
  need_wrapper_and_two(side);
  if (side.options.transport.starts_with("vf")) throw Skip("what is damaged is repaired late");
  Iface iface(side.options);
  skip_if_pairs(iface);
  Inbound in(iface, kId, longish);
  Endpoints eps(iface, side.channel, 1);
  Outbound out(iface, eps[0], kId, longish);
  connect_idle(side, iface, eps[0], in, out);
  const auto progress = [&] {
    unsigned count = 0;
    for (const double until = seconds_now() + kSettled; seconds_now() < until;)
      count += iface.progress();
    return count;
  };
  (void)progress();
  side.channel.barrier({});
  if (side.role == 0) {
    const pid_t child = fork();
    if (child == 0) {
      eps.destroy(0);
      ::_exit(0);
    }
    int status = 1;
    require(::waitpid(child, &status, 0) == child && status == 0, "the child did not end well");
  }
  side.channel.barrier({});
  require(progress() == 0, "the child sent something");
  side.channel.barrier({});
  out.send(Kind::kBcopy);
  in.expect(2);
  finish(side, iface);
}

constexpr Case kCases[] = {
    {"children made by fork", forked},
    {"a child made by fork destroys an endpoint", destroyed_in_child},
};

}  // namespace

std::span<const Case> fork_cases() { return kCases; }

}  // namespace verity::test
