// SPDX-License-Identifier: BSD-3-Clause
//
// How fast reads are verified over fast networks, and how many UCX_VERITY_THREADS that takes: a
// table, simulated in virtual time with the plugin's own client and server (test/sim/read_time.h).
//
//   hash_threads [GB/s that one core hashes from memory, of merkle_bench threads; default 30]
#include <cstdio>
#include <cstdlib>

#include "sim/read_time.h"

namespace {

using verity::test::read_time::Outcome;
using verity::test::read_time::read_all;

constexpr uint64_t kLength = 64 << 20;
constexpr double kLinks[] = {12.5, 25, 50};  // GB/s: 100, 200, 400 Gb/s
constexpr unsigned kMostThreads = 3;

// GB/s of `readers` processes, which have the network and the owner's threads to themselves in
// equal parts. Negative: a byte was wrong.
double rate_of(double link, double hash, unsigned readers, unsigned threads) {
  const Outcome outcome = read_all({kLength, 4, 256 << 10, link / readers, hash, hash, threads});
  const bool right = !outcome.is_wrong && outcome.verified == kLength;
  return right ? readers * static_cast<double>(kLength) / outcome.time : -1;
}

}  // namespace

int main(int argc, char** argv) {
  const double hash = argc > 1 ? std::atof(argv[1]) : 30;
  if (argc > 2 || hash < 1 || hash > 1000) {
    std::fprintf(stderr, "usage: hash_threads [GB/s that one core hashes, from 1 to 1000]\n");
    return 2;
  }
  std::printf("Verified reads in virtual time, GB/s; one core hashes %.4g GB/s\n", hash);
  std::printf("%-12s %-30s", "NIC", "processes that read");
  for (unsigned threads = 0; threads <= kMostThreads; ++threads)
    std::printf(" %u threads", threads);
  std::printf("\n");
  for (const double link : kLinks) {
    for (const unsigned readers : {1u, 2u, 4u}) {
      std::printf("%3.0f Gb/s     %-30u", link * 8, readers);
      for (unsigned threads = 0; threads <= kMostThreads; ++threads) {
        const double rate = rate_of(link, hash, readers, threads);
        if (rate < 0) return 1;
        std::printf(" %9.1f", rate);
      }
      std::printf("\n");
    }
  }
  std::printf("Threads are UCX_VERITY_THREADS of each process whose memory is read.\n");
  return 0;
}
