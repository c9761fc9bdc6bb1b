// SPDX-License-Identifier: BSD-3-Clause
//
// The bound of hashed messages over shared memory: two threads on two CPUs, a ring of frames
// between them, and nothing but the passes over the bytes. The sender copies or hashes a frame of a
// 1 MiB message from its memory into the ring, the receiver from there into its own. What a
// transport costs beyond the column "bound" is its own work for each frame. Not a test: prints
// tables.
//
//   shared_ring [SENDER_CPU RECEIVER_CPU; default 0 1]
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "merkle/hash.h"

namespace {

using namespace verity;
using Clock = std::chrono::steady_clock;

constexpr size_t kMessage = 1 << 20;
constexpr size_t kTotal = 64 << 20;  // bytes of one run
constexpr size_t kSlots = 256;       // as UCX's queues
constexpr size_t kHeader = 128;      // of a frame in the ring
constexpr int kRuns = 7;

enum class Send { kCopy, kHashThenCopy, kHashWhileCopying };
enum class Receive { kCopy, kHashThenCopy };

struct Way {
  const char* name;
  Send send;
  Receive receive;
};

constexpr Way kRaw{"copy | copy (raw)", Send::kCopy, Receive::kCopy};
constexpr Way kWays[] = {
    kRaw,
    {"hash, copy | hash, copy (bound)", Send::kHashThenCopy, Receive::kHashThenCopy},
    {"hash while copying | hash, copy", Send::kHashWhileCopying, Receive::kHashThenCopy},
    {"hash, copy | copy", Send::kHashThenCopy, Receive::kCopy},
    {"copy | hash, copy", Send::kCopy, Receive::kHashThenCopy},
};

// How many frames the sender has filled, and the receiver has emptied.
struct Counters {
  alignas(128) std::atomic<size_t> filled;
  alignas(128) std::atomic<size_t> emptied;
};

struct Buffers {
  uint8_t* from;
  uint8_t* ring;
  uint8_t* to;
  Counters counters;
};

void run_on(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<unsigned>(cpu), &set);
  if (pthread_setaffinity_np(pthread_self(), sizeof(set), &set) == 0) return;
  std::fprintf(stderr, "shared_ring: cannot run on CPU %d; the process may use others\n", cpu);
  std::exit(2);
}

uint8_t* allocate(size_t size) {
  void* memory =
      mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (memory == MAP_FAILED) {
    std::perror("shared_ring: mmap");
    std::exit(1);
  }
  std::memset(memory, 1, size);
  return static_cast<uint8_t*>(memory);
}

// Hides a digest from the optimizer.
void consume(merkle::Digest digest) { asm volatile("" : : "r"(digest)); }

void send(Send way, uint8_t* slot, const uint8_t* from, size_t length) {
  if (way == Send::kHashWhileCopying) return consume(merkle::copy_and_hash(slot, from, length));
  if (way == Send::kHashThenCopy) consume(merkle::hash(from, length));
  std::memcpy(slot, from, length);
}

void receive(Receive way, uint8_t* to, const uint8_t* slot, size_t length) {
  if (way == Receive::kHashThenCopy) consume(merkle::hash(slot, length));
  std::memcpy(to, slot, length);
}

// GB/s
double run(Buffers& b, const Way& way, size_t frame, const int* cpus) {
  const size_t frames = kTotal / frame;
  const size_t in_message = kMessage / frame;
  const auto slot = [&](size_t i) { return b.ring + i % kSlots * (frame + kHeader); };
  b.counters.filled = b.counters.emptied = 0;
  run_on(cpus[1]);  // the thread starts where it stays
  std::thread receiver([&] {
    for (size_t i = 0; i < frames; ++i) {
      while (b.counters.filled.load(std::memory_order_acquire) <= i) {}
      receive(way.receive, b.to + i % in_message * frame, slot(i), frame);
      b.counters.emptied.store(i + 1, std::memory_order_release);
    }
  });
  run_on(cpus[0]);
  const auto start = Clock::now();
  for (size_t i = 0; i < frames; ++i) {
    while (i - b.counters.emptied.load(std::memory_order_acquire) >= kSlots) {}
    send(way.send, slot(i), b.from + i % in_message * frame, frame);
    b.counters.filled.store(i + 1, std::memory_order_release);
  }
  receiver.join();
  return static_cast<double>(kTotal) /
         std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  int cpus[2] = {0, 1};
  if (argc != 1 && argc != 3) {
    std::fprintf(stderr, "usage: shared_ring [SENDER_CPU RECEIVER_CPU]\n");
    return 2;
  }
  for (int i = 1; i < argc; ++i) cpus[i - 1] = std::atoi(argv[i]);
  constexpr size_t kFrames[] = {8192, 16384, 32768};
  const size_t largest = kFrames[std::size(kFrames) - 1] + kHeader;
  Buffers buffers{allocate(kMessage), allocate(kSlots * largest), allocate(kMessage), {}};
  std::printf(
      "1 MiB messages through a ring of %zu frames; hashes by %s. GB/s, and the median of\n"
      "%d runs over that of raw ones with frames of 8 KiB beside them\n",
      kSlots, merkle::dispatch_name(), kRuns);
  for (const size_t frame : kFrames) {
    std::printf("\nframes of %zu bytes\n", frame);
    for (const Way& way : kWays) {
      std::vector<double> raw;
      std::vector<double> rates;
      for (int i = 0; i < kRuns; ++i) {
        raw.push_back(run(buffers, kRaw, kFrames[0], cpus));
        rates.push_back(run(buffers, way, frame, cpus));
      }
      std::printf("  %-34s %6.1f  x%.2f\n", way.name, median(rates), median(rates) / median(raw));
    }
  }
  return 0;
}
