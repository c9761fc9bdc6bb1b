// SPDX-License-Identifier: BSD-3-Clause
//
// One way to send messages between the two processes of the benchmark: UCT or UCP over one
// transport. A process holds two, raw and wrapped, and runs batches on one of them at a time; only
// that one makes progress. Errors are exceptions (std::runtime_error): a benchmark can only end
// then.
#ifndef VERITY_TOOLS_BENCH_STACK_H
#define VERITY_TOOLS_BENCH_STACK_H

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace verity::tools::bench {

enum class Level { kUct, kUcp };
// One-sided operations, each with its flush, are measured at the MPI level alone.
enum class Test { kLatency, kRate, kPut, kGet };

// How a UCT message is handed over; UCP chooses by itself.
enum class Send { kAny, kShort, kBcopy, kZcopy };

struct Batch {
  Test test = Test::kLatency;
  Send send = Send::kAny;
  std::size_t size = 0;
  unsigned warm_up = 0;
  unsigned count = 0;
};

// The largest message of each way of sending, 0 where it does not exist.
struct Capability {
  std::size_t max_short = 0;
  std::size_t max_bcopy = 0;
  std::size_t max_zcopy = 0;
};

class Stack {
 public:
  Stack() = default;
  Stack(const Stack&) = delete;
  Stack& operator=(const Stack&) = delete;
  virtual ~Stack() = default;

  // What the other process needs for connect(). connect(address()) makes a loopback.
  [[nodiscard]] virtual std::string address() = 0;
  virtual void connect(const std::string& peer) = 0;
  [[nodiscard]] virtual Capability capability() const = 0;

  // The side that measures. Latency: ticks of each round trip. Rate: one number, the ticks from the
  // first send until the peer confirms that it has all. `ticks_out` has room.
  virtual void lead(const Batch& batch, std::vector<std::uint64_t>* ticks_out) = 0;
  // The other side of the same batch.
  virtual void follow(const Batch& batch) = 0;
  // Progress without a purpose of its own: what follow() sent may need it to arrive.
  virtual void idle() = 0;
  // Both sides of it in one process, for transports that reach no other: ticks of each one-way
  // trip, or of the whole for a rate.
  virtual void loop_back(const Batch& batch, std::vector<std::uint64_t>* ticks_out) = 0;

  // Ends the connection; the peer does the same at the same time.
  virtual void disconnect() = 0;
};

[[nodiscard]] std::unique_ptr<Stack> open_uct_stack(const std::string& transport);
[[nodiscard]] std::unique_ptr<Stack> open_ucp_stack(const std::string& transport);

// How `size` bytes go on both of two stacks: short before bcopy before zcopy; kAny when no way fits
// both (the test is left out).
[[nodiscard]] Send common_send(const Capability& a, const Capability& b, std::size_t size);

[[nodiscard]] const char* send_name(Send send);

}  // namespace verity::tools::bench

#endif
