// SPDX-License-Identifier: BSD-3-Clause
// Speed of the Merkle core in cache, against memcpy and the plain hash. Not a test: prints tables.
//   merkle_bench [cpu|segments|pieces|all]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string_view>
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

}  // namespace

int main(int argc, char** argv) {
  const std::string_view part = argc > 1 ? argv[1] : "all";
  Buffers buffers;
  const bool all = part == "all";
  if (all || part == "cpu") { per_cpu(buffers); }
  if (all || part == "segments") { per_segment_size(buffers); }
  if (all || part == "pieces") { per_piece_count(buffers); }
  if (!all && part != "cpu" && part != "segments" && part != "pieces") {
    std::fprintf(stderr, "usage: merkle_bench [cpu|segments|pieces|all]\n");
    return 2;
  }
  return 0;
}
