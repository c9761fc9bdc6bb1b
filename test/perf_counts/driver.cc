// SPDX-License-Identifier: BSD-3-Clause
// Runs one case for test/integration/transport/instructions.sh, which counts its instructions by
// callgrind.
//   perf_counts --key     what the counts depend on: compiler, xxHash version, kernel
//   perf_counts --list    names of the cases
//   perf_counts CASE      runs it kRuns times inside verity_perf_counted()
// Exit status 3: the case allocated memory while counted.
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string_view>
#include <vector>

#include "merkle/hash.h"
#include "perf_counts/case.h"

namespace {

constexpr int kWarmUps = 3;
constexpr int kRuns = 100;  // instructions.sh divides by it

bool counting = false;
long allocations = 0;

std::vector<verity::perf::Case> all_cases() {
  std::vector<verity::perf::Case> cases;
  for (const auto list :
       {verity::perf::merkle_cases(), verity::perf::link_cases(), verity::perf::health_cases()}) {
    cases.insert(cases.end(), list.begin(), list.end());
  }
  return cases;
}

void print_key() {
#if !defined(__OPTIMIZE__)
  std::printf("unoptimized\n");
#else
#if defined(__clang__)
  const int major = __clang_major__;
  const char* const compiler = "clang";
#else
  const int major = __GNUC__;
  const char* const compiler = "gcc";
#endif
  std::printf("%s-%d/xxhash-%u/%s\n", compiler, major, XXH_versionNumber(),
              verity::merkle::dispatch_name());
#endif
}

}  // namespace

void* operator new(size_t size) {
  allocations += counting ? 1 : 0;
  if (void* const memory = std::malloc(size == 0 ? 1 : size)) { return memory; }
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

// Callgrind counts between the entry and the exit of this function, found by its name.
extern "C" [[gnu::noinline]] void verity_perf_counted(void (*run)()) {
  for (int i = 0; i < kRuns; ++i) { run(); }
}

int main(int argc, char** argv) {
  const std::string_view wanted = argc == 2 ? argv[1] : "";
  if (wanted == "--key") {
    print_key();
    return 0;
  }
  for (const verity::perf::Case& one : all_cases()) {
    if (wanted == "--list") {
      std::printf("%s\n", one.name);
    } else if (wanted == one.name) {
      one.prepare();
      for (int i = 0; i < kWarmUps; ++i) { one.run(); }
      counting = true;
      verity_perf_counted(one.run);
      counting = false;
      return allocations == 0 ? 0 : 3;
    }
  }
  return wanted == "--list" ? 0 : 2;
}
