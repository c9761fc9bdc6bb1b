// SPDX-License-Identifier: BSD-3-Clause
#include "tools/acceptance/traffic.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <stdexcept>
#include <vector>

#include "tools/hex.h"
#include "tools/lines.h"
#include "tools/ucp_end.h"

namespace verity::tools {

namespace {

using Clock = std::chrono::steady_clock;

constexpr ucp_tag_t kTag = 7;
constexpr std::uint64_t kRun = 20;  // messages in one direction before those in the other

std::uint64_t scramble(std::uint64_t x) {
  x ^= x >> 33;
  x *= 0xff51afd7ed558ccdU;
  x ^= x >> 33;
  return x;
}

class Traffic {
 public:
  explicit Traffic(const TrafficOrder& order)
      : order_(order), end_(order.seconds, order.die_after != 0), buffer_(order.largest + 1) {
    // What the peer does not read any more is no reason to end.
    (void)signal(SIGPIPE, SIG_IGN);
  }

  TrafficResult run() {
    try {
      end_.connect(from_hex(swap(to_hex(end_.address()))));
      exchange();
      result_.endpoint = end_.describe();
      // What was sent last may need this process to arrive, and so may its connection's end.
      (void)swap("received");
      end_.close();
      (void)swap("closed");
    } catch (const std::exception& error) { failed(error.what()); }
    return result_;
  }

 private:
  void exchange() {
    for (std::uint64_t number = 0; order_.die_after != 0 || number < order_.messages; ++number) {
      if (!order_.first && order_.die_after != 0 && number >= order_.die_after)
        kill(getpid(), SIGKILL);
      const std::size_t size = message_size(number, order_.largest);
      if ((number / kRun % 2 == 0) == order_.first) {
        for (std::size_t i = 0; i < size; ++i) buffer_[i] = expected_byte(number, i);
        end_.send(buffer_.data(), size, kTag);
      } else {
        std::fill(buffer_.begin(), buffer_.end(), 0);
        end_.receive(buffer_.data(), size, kTag);
        count(number, size);
      }
    }
  }

  void count(std::uint64_t number, std::size_t size) {
    std::uint64_t wrong = 0;
    for (std::size_t i = 0; i < size; ++i) wrong += buffer_[i] != expected_byte(number, i) ? 1 : 0;
    ++result_.messages;
    result_.bytes += size;
    result_.wrong_bytes += wrong;
    result_.wrong_messages += wrong != 0 ? 1 : 0;
    last_ = Clock::now();
  }

  // The peer's line for this one, with progress meanwhile.
  std::string swap(const std::string& line) {
    write_line(out_, line);
    while (!lines_.ready()) {
      end_.progress();
      if (end_.is_late()) throw std::runtime_error("the other process does not answer");
    }
    const std::optional<std::string> answer = lines_.read_line();
    if (!answer || *answer == "ended") throw std::runtime_error("the other process ended");
    return *answer;
  }

  void failed(const std::string& words) {
    if (order_.die_after == 0 || result_.messages == 0 || end_.is_late()) {
      result_.error = words;
      return;
    }
    result_.noticed = words;
    result_.noticed_after = std::chrono::duration<double>(Clock::now() - last_).count();
  }

  const TrafficOrder order_;
  const int out_ = take_stdout();
  LineReader lines_{STDIN_FILENO};
  UcpEnd end_;
  std::vector<std::uint8_t> buffer_;
  TrafficResult result_;
  Clock::time_point last_ = Clock::now();
};

}  // namespace

std::uint8_t expected_byte(std::uint64_t number, std::size_t offset) {
  const std::uint64_t word = scramble((number << 32) + offset / 8 + 1);
  return static_cast<std::uint8_t>(word >> (8 * (offset % 8)));
}

std::size_t message_size(std::uint64_t number, std::size_t largest) {
  const std::uint64_t random = scramble(number + 1000003);
  const std::size_t limit = largest >> (random % 16);
  return static_cast<std::size_t>((random >> 20) % (limit + 1));
}

TrafficResult exchange_traffic(const TrafficOrder& order) {
  try {
    return Traffic(order).run();
  } catch (const std::exception& error) {
    TrafficResult result;
    result.error = error.what();
    return result;
  }
}

}  // namespace verity::tools
