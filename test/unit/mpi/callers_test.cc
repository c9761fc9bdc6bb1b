// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/interpose/callers.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

namespace verity::mpi {
namespace {

TEST(MpiCallers, AModuleThatIsNoMpiLibraryIsAnother) {
  EXPECT_EQ(origin_of(dlsym(RTLD_DEFAULT, "getpid")), Origin::kOther);
  EXPECT_EQ(origin_of(dlsym(RTLD_DEFAULT, "getppid")), Origin::kOther);  // known by now
}

TEST(MpiCallers, TheInterposersOwnCallsAndThoseOfNoModuleAreNotKnown) {
  EXPECT_EQ(origin_of(reinterpret_cast<const void*>(&origin_of)), Origin::kUnknown);
  void* page = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(page, MAP_FAILED);
  EXPECT_EQ(origin_of(page), Origin::kUnknown);
  regard_as_mpi(page);
  EXPECT_EQ(origin_of(page), Origin::kUnknown);
  munmap(page, 4096);
}

TEST(MpiCallers, AModuleBetweenMpiAndUcpIsRegardedAsMpis) {
  const void* const in_libm = dlsym(RTLD_DEFAULT, "cos");
  ASSERT_NE(in_libm, nullptr);
  regard_as_mpi(in_libm);
  EXPECT_EQ(origin_of(in_libm), Origin::kMpi);
  EXPECT_EQ(origin_of(dlsym(RTLD_DEFAULT, "getpid")), Origin::kOther);
}

}  // namespace
}  // namespace verity::mpi
