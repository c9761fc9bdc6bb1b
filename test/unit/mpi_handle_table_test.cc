// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/handle_table.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace verity::mpi {

constinit bool several_threads = true;  // of the companion's state.cc

namespace {

struct Info : HandleInfo<long> {
  int value = 0;
  bool cleared = false;
  Info* next_free = nullptr;
  void clear() noexcept { cleared = true; }
};
using Table = HandleTable<long, Info>;

Info* find(long handle, int value) {
  return Table::find(handle, [value](Info* made) {
    made->value = value;
    made->cleared = false;
    made->permanent = false;
  });
}

TEST(MpiHandleTable, IsFilledAtFirstSightOnly) {
  EXPECT_EQ(find(11, 1)->value, 1);
  EXPECT_EQ(find(11, 2)->value, 1);
  Table::drop(11);
}

TEST(MpiHandleTable, AHandleThatComesAgainIsANewOne) {
  EXPECT_EQ(find(12, 1)->value, 1);
  Table::drop(12);
  EXPECT_EQ(Table::recall(12), nullptr);
  EXPECT_EQ(find(12, 2)->value, 2);
  Table::drop(12);
}

TEST(MpiHandleTable, AReferenceOutlivesItsHandle) {
  Table::Ref ref(find(13, 7));
  Table::drop(13);
  EXPECT_FALSE(ref->cleared);
  EXPECT_EQ(ref->value, 7);
  // Nor is its memory used for the next one.
  EXPECT_NE(find(14, 8), &*ref);
  Info* const last = &*ref;
  ref.reset();
  EXPECT_TRUE(last->cleared);
  Table::drop(14);
}

TEST(MpiHandleTable, APermanentOneStays) {
  Info* info = find(15, 1);
  info->permanent = true;
  Table::drop(15);
  EXPECT_EQ(find(15, 2), info);
  { const Table::Ref ref(info); }
  EXPECT_FALSE(info->cleared);
}

TEST(MpiHandleTable, HandlesThatShareAPlaceInTheThreadsMemory) {
  for (long handle = 100; handle < 400; ++handle) EXPECT_EQ(find(handle, static_cast<int>(handle))->value, handle);
  for (long handle = 100; handle < 400; ++handle) EXPECT_EQ(find(handle, -1)->value, handle);
  for (long handle = 100; handle < 400; ++handle) Table::drop(handle);
}

// Each thread frees and makes its own handles again and again, whose memory goes from one thread to the other.
TEST(MpiHandleTable, ThreadsThatMakeAndFree) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      for (int i = 0; i < 5000; ++i) {
        const long handle = 1000 * (t + 1) + i % 7;
        const Table::Ref ref(find(handle, i));
        ASSERT_EQ(ref->value, i);
        Table::drop(handle);
        ASSERT_EQ(ref->value, i);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace verity::mpi
