// SPDX-License-Identifier: BSD-3-Clause
#include "tools/doctor/facts/exchange.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <vector>

#include "tools/ucp_end.h"

namespace verity::tools {

namespace {

constexpr ucp_tag_t kMessage = 1;
constexpr ucp_tag_t kVerdict = 2;
constexpr int kSeconds = 20;

void write_text(int socket, const std::string& text) {
  const std::uint64_t size = text.size();
  if (::send(socket, &size, sizeof(size), MSG_NOSIGNAL) != static_cast<ssize_t>(sizeof(size)) ||
      ::send(socket, text.data(), text.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(text.size())) {
    throw std::runtime_error("the other process ended");
  }
}

std::string read_text(int socket) {
  std::uint64_t size = 0;
  if (recv(socket, &size, sizeof(size), MSG_WAITALL) != static_cast<ssize_t>(sizeof(size)) ||
      size > (1U << 20)) {
    throw std::runtime_error("the other process ended");
  }
  std::string text(size, '\0');
  if (recv(socket, text.data(), size, MSG_WAITALL) != static_cast<ssize_t>(size))
    throw std::runtime_error("the other process ended");
  return text;
}

std::vector<std::uint8_t> pattern(std::size_t bytes) {
  std::vector<std::uint8_t> data(bytes);
  for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::uint8_t>(i * 131 + (i >> 8));
  return data;
}

void exchange_addresses(UcpEnd* end, int socket) {
  write_text(socket, end->address());
  end->connect(read_text(socket));
}

void take_message(int socket, std::size_t bytes) {
  UcpEnd end(kSeconds);
  exchange_addresses(&end, socket);
  std::vector<std::uint8_t> data(bytes);
  end.receive(data.data(), data.size(), kMessage);
  const std::vector<std::uint8_t> wanted = pattern(bytes);
  std::uint64_t wrong = 0;
  for (std::size_t i = 0; i < bytes; ++i) wrong += data[i] != wanted[i] ? 1 : 0;
  end.send(&wrong, sizeof(wrong), kVerdict);
}

void give_message(int socket, std::size_t bytes, Exchange* result) {
  UcpEnd end(kSeconds);
  exchange_addresses(&end, socket);
  const std::vector<std::uint8_t> data = pattern(bytes);
  end.send(data.data(), data.size(), kMessage);
  std::uint64_t wrong = 0;
  end.receive(&wrong, sizeof(wrong), kVerdict);
  result->wrong = wrong;
  result->endpoint = end.describe();  // final, as the answer came
}

[[noreturn]] void be_peer(int socket, std::size_t bytes) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  int status = EXIT_SUCCESS;
  try {
    take_message(socket, bytes);
  } catch (const std::exception&) {  // the other side notices
    status = EXIT_FAILURE;
  }
  std::exit(status);  // and not _exit(): the plugin finishes its health file at exit
}

}  // namespace

Exchange exchange_message(std::size_t bytes) {
  Exchange result;
  int sockets[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0)
    return {"no socket pair", 0, ""};
  const pid_t child = fork();
  if (child == 0) {
    ::close(sockets[0]);
    be_peer(sockets[1], bytes);
  }
  ::close(sockets[1]);
  try {
    if (child < 0) throw std::runtime_error("no second process");
    give_message(sockets[0], bytes, &result);
  } catch (const std::exception& error) { result.error = error.what(); }
  ::close(sockets[0]);
  if (child > 0) waitpid(child, nullptr, 0);
  return result;
}

}  // namespace verity::tools
