// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/handles/handle_table.h"

#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace verity::mpi {

namespace {

struct Info : HandleInfo<int> {
  int value = 0;
  bool cleared = false;
  Info* next_free = nullptr;
  void clear() noexcept { cleared = true; }
  [[nodiscard]] bool is_like(const Info& other) const noexcept { return value == other.value; }
};
using Table = HandleTable<int, Info>;

Info* find(int handle, int value) {
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

// The MPI library frees a handle, perhaps one of several.
TEST(MpiHandleTable, OneThatIsDoubtedIsTheSameIfItIsLikeBefore) {
  Info* const known = find(17, 1);
  Table::doubt(17);
  EXPECT_EQ(Table::recall(17), nullptr);
  EXPECT_FALSE(known->cleared) << "another thread may be using it";
  EXPECT_EQ(find(17, 1), known);
  EXPECT_EQ(Table::recall(17), known);
  Table::doubt(17);
  Info* const next = find(17, 2);
  EXPECT_NE(next, known);
  EXPECT_EQ(next->value, 2);
  EXPECT_TRUE(known->cleared);
  EXPECT_EQ(Table::recall(17), next);
  Table::drop(17);
  Table::doubt(17);
  EXPECT_EQ(Table::known(17), nullptr);
}

// A callback of the call that ends it may use it still; what is the handle's next owner's must not
// be taken for it.
TEST(MpiHandleTable, WhileAHandleEndsNothingIsFoundOutAboutIt) {
  EXPECT_EQ(find(13, 1)->value, 1);
  Table::drop(13);
  {
    const Table::Ending ending(13);
    EXPECT_EQ(find(13, 2), nullptr);
    {
      const Table::Ending inner(14);
      EXPECT_EQ(find(13, 2), nullptr);
      EXPECT_EQ(find(14, 2), nullptr);
      EXPECT_EQ(find(15, 2)->value, 2);
    }
    EXPECT_EQ(find(14, 3)->value, 3);
  }
  EXPECT_EQ(find(13, 5)->value, 5);
  for (const int handle : {13, 14, 15}) Table::drop(handle);
}

TEST(MpiHandleTable, NorByAnotherThread) {
  {
    const Table::Ending ending(13);
    std::thread([] {
      EXPECT_EQ(find(13, 2), nullptr) << "the callback may have this thread use it";
      { const Table::Ending its_own(14); }
      EXPECT_EQ(find(13, 2), nullptr);
      EXPECT_EQ(find(14, 3)->value, 3);
    }).join();
    EXPECT_EQ(find(13, 4), nullptr);
  }
  EXPECT_EQ(find(13, 5)->value, 5);
  for (const int handle : {13, 14}) Table::drop(handle);
}

TEST(MpiHandleTable, AHandleThatEndsWhileItIsFilledIsNotEntered) {
  std::optional<Table::Ending> ending;
  EXPECT_EQ(Table::find(16, [&](Info*) { ending.emplace(16); }), nullptr);
  EXPECT_EQ(Table::known(16), nullptr);
  ending.reset();
  EXPECT_EQ(find(16, 1)->value, 1);
  Table::drop(16);
}

constexpr int kRoom = static_cast<int>(EndingHandles<int>::kMost);

TEST(MpiHandleTable, ManyHandlesThatEndWithinEachOther) {
  EXPECT_EQ(find(13, 1)->value, 1);
  std::vector<std::unique_ptr<Table::Ending>> endings;
  const auto add = [&](int handle) { endings.push_back(std::make_unique<Table::Ending>(handle)); };
  for (int i = 0; i < kRoom; ++i) add(3000 + i);
  EXPECT_EQ(find(3000, 1), nullptr);
  EXPECT_EQ(find(14, 1)->value, 1);
  add(2000);
  add(2001);
  EXPECT_EQ(find(2001, 1), nullptr);
  EXPECT_EQ(find(15, 1), nullptr) << "it may be one of those that there was no room for";
  EXPECT_EQ(find(13, 2)->value, 1) << "it is in the table";
  endings.pop_back();
  EXPECT_EQ(find(2001, 1), nullptr);
  endings.pop_back();
  EXPECT_EQ(find(2001, 1)->value, 1);
  EXPECT_EQ(find(3000 + kRoom - 1, 1), nullptr);
  while (!endings.empty()) endings.pop_back();
  EXPECT_EQ(find(3000, 1)->value, 1);
  for (const int handle : {13, 14, 2001, 3000}) Table::drop(handle);
}

std::vector<int> abandoned;
int others_abandoned;

// They are on no stack that is left in order: longjmp() has left it.
TEST(MpiHandleTable, EndingsThatWereLeftWithoutReturning) {
  alignas(Table::Ending) unsigned char left[sizeof(Table::Ending)];
  auto outer = std::make_unique<Table::Ending>(13);
  std::thread([] {
    const Table::Ending of_another(12);
    alignas(Table::Ending) unsigned char its_room[sizeof(Table::Ending)];
    for (int i = 0; i < kRoom; ++i) new (its_room) Table::Ending(3000 + i);
    EXPECT_EQ(find(15, 1), nullptr);
    Table::Ending::abandon([](int handle) { abandoned.push_back(handle); },
                           [] { ++others_abandoned; });
  }).join();
  ASSERT_EQ(abandoned.size(), static_cast<size_t>(kRoom) - 1);
  EXPECT_EQ(abandoned[0], 12);
  EXPECT_EQ(abandoned[1], 3000);
  EXPECT_EQ(others_abandoned, 2);
  EXPECT_EQ(find(13, 1), nullptr) << "another thread's go on";
  EXPECT_EQ(find(15, 1)->value, 1);
  new (left) Table::Ending(14);
  outer.reset();
  EXPECT_EQ(find(14, 1)->value, 1) << "was left within the outer one";
  EXPECT_EQ(find(13, 1)->value, 1);
  for (const int handle : {13, 14, 15}) Table::drop(handle);
}

// Its memory belongs to another handle then, but it is still in this thread's cache.
TEST(MpiHandleTable, ADroppedHandleIsNotTheNextOwnerOfItsMemory) {
  for (int other = 2000; other < 2300; ++other) {
    const Info* const old = find(21, 1);
    Table::drop(21);
    const Info* const made = find(other, 2);
    ASSERT_EQ(made, old) << "used again";
    ASSERT_EQ(Table::recall(21), nullptr);
    ASSERT_EQ(Table::recall(other), made);
    ASSERT_EQ(Table::known(21), nullptr);
    ASSERT_EQ(find(21, 3)->value, 3);
    ASSERT_EQ(find(other, 4)->value, 2);
    Table::drop(21);
    Table::drop(other);
  }
}

TEST(MpiHandleTable, ADroppedHandleThatComesAgainIsNotRecalledAsTheOldOne) {
  Table::Ref old(find(22, 1));
  const auto make_again = [](int value) {
    std::thread([value] {
      Table::drop(22);
      EXPECT_EQ(Table::recall(22), nullptr);
      EXPECT_EQ(find(22, value)->value, value);
    }).join();
  };
  make_again(2);
  EXPECT_EQ(Table::recall(22), nullptr)
      << "this thread's cache has an Info that is not the handle's any more";
  EXPECT_FALSE(old->current());
  EXPECT_EQ(old->value, 1);
  EXPECT_EQ(find(22, 3)->value, 2);
  EXPECT_NE(Table::recall(22), &*old);
  // Nobody has it: its memory may serve the new one, which may be recalled then.
  old.reset();
  make_again(4);
  const Info* recalled = Table::recall(22);
  EXPECT_TRUE(recalled == nullptr || recalled->value == 4);
  EXPECT_EQ(find(22, 5)->value, 4);
  Table::drop(22);
}

TEST(MpiHandleTable, NoHandlesKeyIsThatOfNone) {
  EXPECT_NE(Info::key_of(0), 0u);
  EXPECT_NE(Info::key_of(-1), 0u);
  EXPECT_EQ(Info::key_of(std::numeric_limits<int>::min()), 1u);
  EXPECT_EQ(Info::key_of(std::numeric_limits<int>::max()), uint64_t{1} << 32);
  const int object = 0;
  EXPECT_NE(HandleInfo<const int*>::key_of(nullptr), 0u);
  EXPECT_NE(HandleInfo<const int*>::key_of(&object), HandleInfo<const int*>::key_of(nullptr));
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

// An error handler of the program throws while the MPI library is queried.
TEST(MpiHandleTable, OneThatCannotBeFilledIsNotLost) {
  Info* tried = nullptr;
  const auto fail = [&](Info* info) {
    tried = info;
    throw 1;
  };
  EXPECT_THROW(static_cast<void>(Table::find(16, fail)), int);
  EXPECT_EQ(Table::known(16), nullptr);
  EXPECT_EQ(find(16, 1), tried);
  Table::drop(16);
}

TEST(MpiHandleTable, APermanentOneStays) {
  Info* info = find(15, 1);
  info->permanent = true;
  Table::drop(15);
  EXPECT_EQ(find(15, 2), info);
  { const Table::Ref ref(info); }
  EXPECT_FALSE(info->cleared);
}

// MPI begins again after its last session, and counts its handles from the first one on.
TEST(MpiHandleTable, AllThatMayBeFreedEndWithMpi) {
  for (const int handle : {901, 902, 903}) EXPECT_EQ(find(handle, 1)->value, 1);
  find(902, 1)->permanent = true;
  Table::drop_all();
  EXPECT_EQ(Table::recall(901), nullptr);
  EXPECT_EQ(find(901, 2)->value, 2);
  EXPECT_EQ(find(902, 2)->value, 1);
  EXPECT_EQ(find(903, 2)->value, 2);
  Table::drop(901);
  Table::drop(903);
}

TEST(MpiHandleTable, HandlesThatShareAPlaceInTheThreadsMemory) {
  for (int handle = 100; handle < 400; ++handle) EXPECT_EQ(find(handle, handle)->value, handle);
  for (int handle = 100; handle < 400; ++handle) EXPECT_EQ(find(handle, -1)->value, handle);
  for (int handle = 100; handle < 400; ++handle) Table::drop(handle);
}

// Each thread frees and makes its own handles again and again, whose memory goes from one thread to
// the other.
TEST(MpiHandleTable, ThreadsThatMakeAndFree) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      for (int i = 0; i < 5000; ++i) {
        const int handle = 1000 * (t + 1) + i % 7;
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
