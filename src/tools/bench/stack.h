// SPDX-License-Identifier: BSD-3-Clause
//
// One way to send messages of one size between two processes: UCT or UCP over one transport.
// Errors are exceptions (std::runtime_error): a benchmark can only end then.
#ifndef VERITY_TOOLS_BENCH_STACK_H
#define VERITY_TOOLS_BENCH_STACK_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace verity::tools::bench {

enum class Level { kUct, kUcp, kMpi };
// One-sided operations, each with its flush, and collectives are measured at the MPI level alone.
enum class Test { kLatency, kRate, kPut, kGet, kAllreduce, kAlltoall };
inline constexpr std::array kTests = {Test::kLatency, Test::kRate,      Test::kPut,
                                      Test::kGet,     Test::kAllreduce, Test::kAlltoall};

// How a UCT message is handed over; UCP chooses by itself.
enum class Send { kAny, kShort, kBcopy, kZcopy };

[[nodiscard]] const char* name_of(Level level);
[[nodiscard]] const char* name_of(Test test);
[[nodiscard]] const char* name_of(Send send);
[[nodiscard]] std::vector<std::string> names_of_tests();

// What is sent.
struct Traffic {
  Level level = Level::kUct;
  std::string transport;  // the lower one
  Test test = Test::kLatency;
  std::size_t size = 0;

  // Within one process, as self reaches no other.
  [[nodiscard]] bool loopback() const { return transport == "self"; }
};

// The largest message of each way of sending, 0 where it does not exist.
struct Capability {
  std::size_t max_short = SIZE_MAX;
  std::size_t max_bcopy = SIZE_MAX;
  std::size_t max_zcopy = SIZE_MAX;
};

// How `size` bytes go with each of `all`: short before bcopy before zcopy; kAny when no way fits
// them all (the test is left out).
[[nodiscard]] Send common_send(const std::vector<Capability>& all, std::size_t size);

class Stack {
 public:
  Stack() = default;
  Stack(const Stack&) = delete;
  Stack& operator=(const Stack&) = delete;
  virtual ~Stack() = default;

  // What the other process needs for connect(). connect(address(), ...) makes a loopback.
  [[nodiscard]] virtual std::string address() = 0;
  [[nodiscard]] virtual Capability capability() const { return {}; }
  virtual void connect(const std::string& peer, Send how, bool loopback) = 0;

  // Sends a message and waits for one; the same in the other order.
  virtual void ping() = 0;
  virtual void pong() = 0;
  // Sends `count` messages one after the other; returns when the peer confirms that it has all of
  // them. A loopback has them itself.
  virtual void send_all(unsigned count) = 0;
  virtual void receive_all(unsigned count) = 0;

  // Progress without a purpose of its own: what was sent last may need it to arrive.
  virtual void progress() = 0;
  // Ends the connection; the peer does the same at the same time.
  virtual void disconnect() = 0;
};

[[nodiscard]] std::unique_ptr<Stack> open_uct_stack(const std::string& transport, std::size_t size);
[[nodiscard]] std::unique_ptr<Stack> open_ucp_stack(const std::string& transport, std::size_t size);

// Page-aligned bytes that were touched, so that no page fault falls into a measurement.
inline std::shared_ptr<void> make_buffer(std::size_t size) {
  constexpr std::size_t kPage = 4096;
  const std::size_t pages = (size + kPage) / kPage * kPage;
  std::shared_ptr<void> buffer(std::aligned_alloc(kPage, pages), std::free);
  if (buffer == nullptr) throw std::bad_alloc();
  std::memset(buffer.get(), 'v', pages);
  return buffer;
}

}  // namespace verity::tools::bench

#endif
