// SPDX-License-Identifier: BSD-3-Clause
//
// Children that fork() made of a process with links.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
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

// The health file of a process begins with its number.
bool has_health_file(pid_t pid) {
  const std::string begin = std::to_string(pid) + "-";
  for (const auto& entry : std::filesystem::directory_iterator(getenv("UCX_VERITY_HEALTH_DIR"))) {
    if (entry.path().filename().string().starts_with(begin)) return true;
  }
  return false;
}

// In a child: messages to the other side's child, through an interface that it opens itself.
int use_own_interface(Side& side) {
  try {
    Iface iface(side.options);
    Inbound in(iface, kId, longish);
    Endpoints eps(iface, side.channel, 1);
    Outbound out(iface, eps[0], kId, longish);
    for (int i = 0; i < 100; ++i) { out.send(Kind::kBcopy); }
    in.expect(100);
    finish(side, iface);
    require(has_health_file(::getpid()), "the child has no health file");
  } catch (const std::exception& error) {
    std::printf("# side %d: in the child: %s\n", side.role, error.what());
    return 1;
  }
  return 0;
}

// Forks a child that uses an interface of its own: it is a process like any other.
void fork_user(Side& side, const std::string& file) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) { std::exit(use_own_interface(side)); }
  int status = 1;
  require(::waitpid(child, &status, 0) == child && status == 0, "the child did not end well");
  std::ifstream stream(file);
  const std::string written{std::istreambuf_iterator<char>(stream), {}};
  (void)::unlink(file.c_str());
  require(written.find("\"pid\":" + std::to_string(child) + ",") != std::string::npos,
          "the child attested nothing");
}

// UCX's asynchronous thread is not in the child while the parent uses UCX itself, and tcp accepts
// connections there: `open` needs a transport that goes without.
void used_in_child(Side& side, bool open) {
  need_wrapper_and_two(side);
  if (std::getenv("UCX_VERITY_HEALTH_DIR") == nullptr) throw Skip("needs UCX_VERITY_HEALTH_DIR");
  if (open && (!side.options.transport.ends_with("posix") || std::getenv("UCX_FAULT_ASYNC")))
    throw Skip("needs a transport without asynchronous events");
  const std::string file = "/tmp/verity-fork." + std::to_string(::getpid());
  setenv("UCX_VERITY_ATTEST_FILE", file.c_str(), 1);
  {
    Iface iface(side.options);
    Inbound in(iface, kId, longish);
    std::optional<Endpoints> eps(std::in_place, iface, side.channel, 1);
    Outbound out(iface, (*eps)[0], kId, longish);
    connect_idle(side, iface, (*eps)[0], in, out);
    if (open) {
      fork_user(side, file);
      out.send(Kind::kBcopy);
      in.expect(2);
    }
    finish(side, iface);
  }
  if (!open) fork_user(side, file);
  unsetenv("UCX_VERITY_ATTEST_FILE");
  Iface reads_it_again(side.options);
}

void used_after(Side& side) { used_in_child(side, false); }
void used_beside(Side& side) { used_in_child(side, true); }

constexpr Case kCases[] = {
    {"children made by fork", forked},
    {"a child made by fork destroys an endpoint", destroyed_in_child},
    {"a child made by fork opens an interface, the parent's have closed", used_after},
    {"a child made by fork opens an interface beside its parent's", used_beside},
};

}  // namespace

std::span<const Case> fork_cases() { return kCases; }

}  // namespace verity::test
