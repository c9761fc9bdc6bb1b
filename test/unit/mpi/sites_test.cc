// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/sites/sites.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <cstdio>
#include <cstdlib>
#include <thread>

#include "mpi/interpose/modules.h"

namespace verity::mpi {
namespace {

[[gnu::noinline]] Site called_from() {
  return site_of(__builtin_return_address(0), __builtin_dwarf_cfa());
}

TEST(MpiSites, TheSamePlaceHasTheSameNumberAndAnotherPlaceAnother) {
  uint64_t ids[2] = {};
  const volatile int times = 2;  // hides from the compiler that it could make two calls of it
#ifdef __clang__
#pragma clang loop unroll(disable)
#endif
  for (int i = 0; i < times; ++i) ids[i] = called_from().id;
  EXPECT_NE(ids[0], 0u);
  EXPECT_EQ(ids[0], ids[1]);
  EXPECT_NE(called_from().id, ids[0]);
}

TEST(MpiSites, ThePlaceIsNamedInThisFile) {
  const Site site = called_from();
  EXPECT_FALSE(site.library);
  const std::string words = site_in_words(site.id);
  // Without debug information or libdw it is the function, or the program and an offset.
  const auto names = [&](const char* part) { return words.find(part) != std::string::npos; };
  EXPECT_TRUE(names("mpi_sites_test.cc:") || names("ThePlaceIsNamedInThisFile") ||
              names("verity_unit"))
      << words;
}

TEST(MpiSites, WhatIsInNoModuleIsUnknown) {
  int on_the_stack = 0;
  EXPECT_EQ(site_of(&on_the_stack, nullptr).id, 0u);
  EXPECT_EQ(site_in_words(0), "an unknown place");
}

// In a process of its own, in which no site was looked up before: the program has all keys of
// threads, and what it keeps by them stays.
TEST(MpiSites, WithoutAKeyNothingIsKept) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto look_up = [] {
    pthread_key_t key{};
    while (pthread_key_create(&key, nullptr) == 0) {}
    const void* const before = pthread_getspecific(pthread_key_t{});
    const bool known = called_from().id != 0;
    std::exit(known && pthread_getspecific(pthread_key_t{}) == before ? 0 : 1);
  };
  EXPECT_EXIT(look_up(), testing::ExitedWithCode(0), "");
}

TEST(MpiSites, TheSiteOfACallUnderWayIsNotForgotten) {
  const auto* const code = static_cast<const char*>(__builtin_return_address(0));
  const Site outer = site_of(code, nullptr);
  ASSERT_NE(outer.id, 0u);
  const KnownSite* place = &known_site(code);
  const char* other = code + 1;
  while (&known_site(other) != place) ++other;
  const Site inner = site_of(other, nullptr, code);
  EXPECT_NE(inner.id, 0u);
  EXPECT_NE(inner.id, outer.id);
  EXPECT_EQ(place->address, code);
  EXPECT_EQ(site_of(other, nullptr).id, inner.id);
  EXPECT_EQ(place->address, other) << "no call is under way";
}

// As code that was made at run time is: its place has no number, and yet keeps what it attached.
TEST(MpiSites, NorIsThatOfACallFromNoModule) {
  const char on_the_stack[8] = {};
  ASSERT_EQ(site_of(on_the_stack, nullptr).id, 0u);
  const KnownSite* place = &known_site(on_the_stack);
  EXPECT_EQ(place->plain, on_the_stack) << "its calls are kept";
  const char* other = on_the_stack + 1;
  while (&known_site(other) != place) ++other;
  EXPECT_EQ(site_of(other, nullptr, on_the_stack).id, 0u);
  EXPECT_EQ(place->address, on_the_stack);
}

TEST(MpiSites, AThreadThatAsksForNoneHasNone) {
  std::thread([] { EXPECT_EQ(thread.known_sites, none_known); }).join();
}

TEST(MpiSites, AModuleThatThisProcessLacksIsNumbered) {
  uint16_t lacking = 1;
  Module module;
  std::string name;
  while (module_with(lacking, 0x10, &module, &name)) ++lacking;
  char expected[32];
  std::snprintf(expected, sizeof(expected), "module %04x+0x10", lacking);
  EXPECT_EQ(site_in_words(uint64_t{lacking} << 48 | 0x10), expected);
}

TEST(MpiSites, ModulesAreFoundByAddressAndById) {
  const auto address = reinterpret_cast<uintptr_t>(__builtin_return_address(0));
  const Module here = module_at(address);
  ASSERT_NE(here.end, 0u);
  Module found;
  std::string name;
  ASSERT_TRUE(module_with(here.id, address - here.base, &found, &name));
  EXPECT_EQ(found.base, here.base);
  EXPECT_FALSE(name.empty());
  // An offset behind its code is none of it.
  EXPECT_FALSE(module_with(here.id, uint64_t{1} << 47, &found, &name));
}

}  // namespace
}  // namespace verity::mpi
