// SPDX-License-Identifier: BSD-3-Clause
// What several threads of a process share, or must not: for ThreadSanitizer, but right in every
// build.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "health/files/interface_rows.h"
#include "health/files/reader.h"
#include "health/process_id.h"
#include "merkle/tree.h"
#include "signature/type.h"
#include "unit/link/pair.h"

namespace verity::test {
namespace {

constexpr unsigned kThreads = 4;

void in_threads(const std::function<void(unsigned)>& body) {
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < kThreads; ++i) threads.emplace_back(body, i);
  for (std::thread& thread : threads) thread.join();
}

struct Memory final : health::Ground {
  std::vector<uint64_t> words = std::vector<uint64_t>(health::Table::kMostBytes / 8);
  std::byte* base() noexcept override { return reinterpret_cast<std::byte*>(words.data()); }
  bool grow(size_t) noexcept override { return true; }
};

// Interfaces of one name open, count and close in some threads while the sum is taken in others:
// each counts in rows of its own.
TEST(Threads, CountersAreSummedWhileTheyCount) {
  Memory memory;
  health::Table table(memory, {});
  constexpr unsigned kRounds = 50;
  constexpr uint64_t kFrames = 1000;
  in_threads([&](unsigned) {
    uint64_t before = 0;
    for (unsigned round = 0; round < kRounds; ++round) {
      health::InterfaceRows rows(table, "vtcp", "eth0", 0);
      health::Counters& counters = rows.peer("node18", 0);
      for (uint64_t i = 0; i < kFrames; ++i) counters.frames_sent++;
      const uint64_t now = table.sum().frames_sent;
      EXPECT_GE(now, before);
      before = now;
    }
  });
  EXPECT_EQ(table.sum().frames_sent, kThreads * kRounds * kFrames);
}

// A host's name reaches one thread while others count in its rows, and open more.
TEST(Threads, HostsAreNamedWhileTheyCount) {
  Memory memory;
  health::Table table(memory, {});
  constexpr unsigned kHosts = 20;
  constexpr uint64_t kFrames = 1000;
  const auto name = [](unsigned host) { return "node" + std::to_string(host); };
  in_threads([&](unsigned thread) {
    health::InterfaceRows rows(table, "vtcp", "eth" + std::to_string(thread), 0);
    for (unsigned host = 0; host < kHosts; ++host) {
      health::Counters& counters = rows.peer(health::name_hash(name(host)), 0);
      for (uint64_t i = 0; i < kFrames; ++i) counters.frames_sent++;
      const health::HostId id =
          thread == host % kThreads ? table.host_id(name(host)) : health::name_hash(name(host));
      EXPECT_EQ(id, health::name_hash(name(host)));
      for (uint64_t i = 0; i < kFrames; ++i) counters.frames_sent++;
    }
  });
  health::Snapshot snapshot;
  ASSERT_EQ(health::parse_health_file({memory.base(), health::Table::kMostBytes}, &snapshot), "");
  unsigned named = 0;
  for (const health::SnapshotRow& row : snapshot.rows) {
    named += row.kind == UCX_VERITY_HEALTH_PEER && row.peer.starts_with("node") &&
             row.counters.frames_sent == 2 * kFrames;
  }
  EXPECT_EQ(named, kThreads * kHosts);
}

// Links of different interfaces have nothing in common.
TEST(Threads, InterfacesOfDifferentThreadsAreApart) {
  in_threads([](unsigned thread) {
    Pair pair;
    pair.join(thread);
    std::vector<std::string> sent;
    for (unsigned i = 0; i < 200; ++i) {
      sent.push_back(text_of(i * 40, thread));  // a slot holds 8192
      ASSERT_TRUE(pair.a.send(sent.back()));
      if (i % 7 == 0) pair.a.wire.back().flip(i);
      pair.run_until_idle();
    }
    pair.run_for(100'000'000);
    EXPECT_EQ(pair.b.got, sent);
  });
}

TEST(Threads, AllHashAlike) {
  const std::string text = text_of(100'000);
  const util::Piece piece{text.data(), text.size()};
  const merkle::Geometry geometry(text.size(), 4096);
  const merkle::Digest root = merkle::root(geometry, {&piece, 1});
  in_threads([&](unsigned) {
    for (unsigned i = 0; i < 20; ++i) EXPECT_EQ(merkle::root(geometry, {&piece, 1}), root);
  });
}

// A datatype is shared: copied, read and released by all threads, the last of which frees it.
TEST(Threads, TypesAreShared) {
  using signature::Type;
  const auto leaf = [](const char* name) { return Type::leaf(*signature::find_basic(name)); };
  const Type::Item items[] = {{leaf("MPI_INT"), 3}, {leaf("MPI_DOUBLE"), 1}};
  for (unsigned round = 0; round < 50; ++round) {
    Type shared[kThreads];
    std::fill_n(shared, kThreads, Type::sequence(items));
    const signature::Signature wanted = shared[0].signature(9, signature::Level::kNames);
    in_threads([&](unsigned thread) {
      const Type mine = std::move(shared[thread]);
      for (unsigned i = 0; i < 200; ++i) {
        const Type copy = i % 3 == 0 ? Type::repeat(mine, 3) : mine;
        EXPECT_EQ(copy.signature(i % 3 == 0 ? 3 : 9, signature::Level::kNames), wanted);
      }
    });
  }
}

}  // namespace
}  // namespace verity::test
