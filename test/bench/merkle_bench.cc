// SPDX-License-Identifier: BSD-3-Clause
// Speed of the Merkle core, against memcpy and the plain hash. Not a test: prints tables.
//   merkle_bench [cpu|segments|pieces|levels|threads|all]
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <thread>
#include <vector>

#include "merkle/tree.h"

namespace {

using namespace verity;
using Clock = std::chrono::steady_clock;

constexpr size_t kLargest = size_t{1} << 20;
constexpr int kRepeats = 9;
constexpr double kRepeatSeconds = 0.002;

// Hides a value from the optimizer, memory included.
template <typename T>
void consume(T value) {
  asm volatile("" : : "r"(value) : "memory");
}

double time_calls(auto&& call, long calls) {
  const auto start = Clock::now();
  for (long i = 0; i < calls; ++i) { call(); }
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Nanoseconds per call: the best of several repeats, as other load only ever adds time.
double nanoseconds(auto&& call) {
  long calls = 1;
  while (time_calls(call, calls) < kRepeatSeconds / 2) { calls *= 2; }
  double best = 1e9;
  for (int i = 0; i < kRepeats; ++i) { best = std::min(best, time_calls(call, calls)); }
  return best * 1e9 / static_cast<double>(calls);
}

struct Buffers {
  std::vector<uint8_t> from = std::vector<uint8_t>(kLargest + 128, 0x5a);
  std::vector<uint8_t> to = std::vector<uint8_t>(kLargest + 128, 0);
};

std::vector<size_t> sizes(size_t from) {
  std::vector<size_t> list;
  for (const size_t size : {8, 40, 64, 128, 240, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768,
                            65536, 131072, 262144, 1048576}) {
    if (size >= from) { list.push_back(size); }
  }
  return list;
}

void print_cell(double ns, size_t bytes) {
  std::printf(" %10.1f %6.1f", ns, static_cast<double>(bytes) / ns);
}

void per_cpu(Buffers& buffers) {
  for (const merkle::Kernel* kernel : merkle::supported_kernels()) {
    std::printf("\nKernel %s%s: ns and GB/s\n%8s %17s %17s %17s %17s\n", kernel->name,
                kernel == &merkle::active_kernel() ? " (in use here)" : "", "bytes", "memcpy",
                "hash", "memcpy + hash", "copy_and_hash");
    for (const size_t size : sizes(8)) {
      const uint8_t* from = buffers.from.data();
      uint8_t* to = buffers.to.data();
      std::printf("%8zu", size);
      print_cell(nanoseconds([=] {
                   std::memcpy(to, from, size);
                   consume(to);
                 }),
                 size);
      print_cell(nanoseconds([=] { consume(merkle::hash(*kernel, from, size)); }), size);
      print_cell(nanoseconds([=] {
                   std::memcpy(to, from, size);
                   consume(merkle::hash(*kernel, from, size));
                 }),
                 size);
      print_cell(nanoseconds([=] { consume(merkle::copy_and_hash(*kernel, to, from, size)); }),
                 size);
      std::printf("\n");
    }
  }
}

void per_segment_size(Buffers& buffers) {
  std::printf("\nroot() by segment size, kernel %s: ns\n%8s %10s", merkle::dispatch_name(), "bytes",
              "one hash");
  for (uint32_t segment = merkle::kMinSegmentSize; segment <= merkle::kMaxSegmentSize;
       segment *= 2) {
    std::printf(" %9u", segment);
  }
  std::printf("\n");
  for (const size_t size : sizes(512)) {
    const util::Piece piece{buffers.from.data(), size};
    const double plain = nanoseconds([=] { consume(merkle::hash(piece.data, size)); });
    std::printf("%8zu %10.1f", size, plain);
    for (uint32_t segment = merkle::kMinSegmentSize; segment <= merkle::kMaxSegmentSize;
         segment *= 2) {
      const merkle::Geometry geometry(size, segment);
      std::printf(" %9.1f", nanoseconds([&] { consume(merkle::root(geometry, {&piece, 1})); }));
    }
    std::printf("\n");
  }
}

void per_piece_count(Buffers& buffers) {
  std::printf("\nA 40 byte header before the payload, kernel %s: ns\n%8s %11s %11s %11s\n",
              merkle::dispatch_name(), "payload", "contiguous", "2 pieces", "8 pieces");
  for (const size_t size : sizes(8)) {
    const uint8_t* from = buffers.from.data();
    const util::Piece two[2] = {{from, 40}, {from + 40, size}};
    util::Piece eight[9] = {{from, 40}};
    for (size_t i = 0; i < 8; ++i) { eight[i + 1] = {from + 40 + i * (size / 8), size / 8}; }
    std::printf("%8zu %11.1f %11.1f %11.1f\n", size,
                nanoseconds([=] { consume(merkle::hash(from, 40 + size)); }),
                nanoseconds([&] { consume(merkle::hash(util::Pieces(two))); }),
                nanoseconds([&] { consume(merkle::hash(util::Pieces(eight))); }));
  }
}

// Large pages where the system has them: small ones would be measured, not the memory behind them.
class Memory {
 public:
  explicit Memory(size_t bytes) : bytes_(bytes) {
    memory_ = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory_ == MAP_FAILED) { std::abort(); }
    madvise(memory_, bytes, MADV_HUGEPAGE);
    std::memset(memory_, 0x5a, bytes);
  }
  ~Memory() { munmap(memory_, bytes_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  uint8_t* data() { return static_cast<uint8_t*>(memory_); }

 private:
  void* memory_;
  size_t bytes_;
};

struct Level {
  const char* name;
  size_t bytes;  // that fit there and not in the level above
};

// A size that sysconf() does not know counts as `otherwise`.
size_t cache_size(int name, size_t otherwise) {
  const long size = sysconf(name);
  return size > 0 ? static_cast<size_t>(size) : otherwise;
}

std::vector<Level> levels() {
  return {{"L1", cache_size(_SC_LEVEL1_DCACHE_SIZE, 32 << 10) * 5 / 8},
          {"L2", cache_size(_SC_LEVEL2_CACHE_SIZE, 1 << 20) * 5 / 8},
          // Virtual machines report the L3 caches of the whole host.
          {"L3", std::min<size_t>(cache_size(_SC_LEVEL3_CACHE_SIZE, 16 << 20) / 4, 8 << 20)},
          {"memory", size_t{512} << 20}};
}

// GB/s of `call(offset)` for consecutive offsets in `span` bytes: the best of several samples.
double gigabytes(size_t size, size_t span, auto&& call) {
  const bool memory = span > (size_t{64} << 20);
  const size_t calls = std::max<size_t>(1, (memory ? size_t{16} << 20 : size_t{256} << 10) / size);
  const int samples = memory ? 20 : 300;
  size_t offset = 0;
  double best = 1e9;
  for (int sample = 0; sample < samples; ++sample) {
    const auto start = Clock::now();
    for (size_t i = 0; i < calls; ++i) {
      if (offset + size > span) { offset = 0; }
      call(offset);
      offset += size;
    }
    best = std::min(best, std::chrono::duration<double>(Clock::now() - start).count());
  }
  return static_cast<double>(calls * size) / best / 1e9;
}

// What is copied lies in one half of the level and goes to the other half.
void per_level() {
  Memory bytes(levels().back().bytes + 4096);
  for (const merkle::Kernel* kernel : merkle::supported_kernels()) {
    std::printf("\nKernel %s%s: GB/s\n%8s %-6s %8s %8s %14s %14s\n", kernel->name,
                kernel == &merkle::active_kernel() ? " (in use here)" : "", "bytes", "level",
                "memcpy", "hash", "copy_and_hash", "hash, memcpy");
    for (const size_t size : {512, 4096, 8192, 16384, 65536, 1048576}) {
      for (const Level& level : levels()) {
        const size_t half = level.bytes / 2 / size * size;
        if (half == 0) { continue; }
        const uint8_t* from = bytes.data();
        uint8_t* to = bytes.data() + half + 1344;  // another offset in the page than the source's
        const auto copy = [=](size_t at) {
          std::memcpy(to + at, from + at, size);
          consume(to);
        };
        const auto hash = [=](size_t at) { consume(merkle::hash(*kernel, from + at, size)); };
        std::printf("%8zu %-6s %8.1f %8.1f", size, level.name, gigabytes(size, half, copy),
                    gigabytes(size, 2 * half, hash));
        std::printf(" %14.1f", gigabytes(size, half, [=](size_t at) {
                      consume(merkle::copy_and_hash(*kernel, to + at, from + at, size));
                    }));
        std::printf(" %14.1f\n", gigabytes(size, half, [=](size_t at) {
                      hash(at);
                      copy(at);
                    }));
      }
    }
  }
}

struct alignas(64) Progress {
  std::atomic<uint64_t> segments{0};
};

// GB/s of `count` threads that each hash `span` bytes of their own, in segments of 8 KiB: the best
// 2 ms of a second, as other load only ever takes time.
double together(unsigned count, size_t span) {
  constexpr size_t kSegment = 8192;
  constexpr double kWindow = 0.002;
  constexpr double kSeconds = 1;
  std::vector<Progress> progress(count);
  std::atomic<unsigned> ready{0};
  std::atomic<bool> over{false};
  double best = 0;  // of the first thread alone
  const auto work = [&](unsigned index) {
    Memory bytes(span);
    ++ready;
    while (ready != count) { std::this_thread::yield(); }
    const auto start = Clock::now();
    auto window = start;
    uint64_t before = 0;
    bool begun_sharply = false;
    for (uint64_t done = 0; !over;) {
      for (int batch = 0; batch < 16; ++batch, ++done) {
        consume(merkle::hash(bytes.data() + done * kSegment % span, kSegment));
      }
      progress[index].segments.store(done, std::memory_order_relaxed);
      if (index != 0) { continue; }
      const auto now = Clock::now();
      const double seconds = std::chrono::duration<double>(now - window).count();
      if (seconds < kWindow) { continue; }
      uint64_t sum = 0;
      for (const Progress& one : progress) { sum += one.segments.load(std::memory_order_relaxed); }
      // Taken from the CPU just here, this thread would count more segments than belong to the
      // time.
      const bool sharp = Clock::now() - now < std::chrono::microseconds(2);
      if (sharp && begun_sharply) {
        best = std::max(best, static_cast<double>((sum - before) * kSegment) / seconds / 1e9);
      }
      begun_sharply = sharp;
      before = sum;
      window = now;
      over = std::chrono::duration<double>(now - start).count() > kSeconds;
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < count; ++i) { threads.emplace_back(work, i); }
  for (std::thread& thread : threads) { thread.join(); }
  return best;
}

void per_thread_count() {
  std::printf("\nThreads that hash segments of 8 KiB, kernel %s: GB/s\n%8s %12s %12s\n",
              merkle::dispatch_name(), "threads", "in cache", "from memory");
  const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
  for (unsigned count = 1; count <= std::min(cores, 16U); ++count) {
    std::printf("%8u %12.1f %12.1f\n", count, together(count, size_t{512} << 10),
                together(count, size_t{128} << 20));
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view part = argc > 1 ? argv[1] : "all";
  Buffers buffers;
  const bool all = part == "all";
  bool known = all;
  const auto wanted = [&](std::string_view name) {
    known |= part == name;
    return all || part == name;
  };
  if (wanted("cpu")) { per_cpu(buffers); }
  if (wanted("segments")) { per_segment_size(buffers); }
  if (wanted("pieces")) { per_piece_count(buffers); }
  if (wanted("levels")) { per_level(); }
  if (wanted("threads")) { per_thread_count(); }
  if (!known) {
    std::fprintf(stderr, "usage: merkle_bench [cpu|segments|pieces|levels|threads|all]\n");
    return 2;
  }
  return 0;
}
