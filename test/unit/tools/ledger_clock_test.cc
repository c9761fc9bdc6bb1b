// SPDX-License-Identifier: BSD-3-Clause
// Machines whose clock is wrong for a while: at their start, or as someone has set it.
#include <gtest/gtest.h>

#include "tools/export/ledger.h"
#include "totals.h"

namespace verity::tools {
namespace {

// A run of the exporter at that time, when a process has so many faults. Returns those that check
// then finds in the last day.
std::uint64_t run(Ledger& ledger, std::uint64_t faults, std::uint64_t now) {
  const Totals totals = with(ledger, {process("b", 1, faults)});
  observe(ledger, totals, now);
  ledger.written = now;
  return faults_of(recent(ledger, totals, now, 24));
}

TEST(Ledger, ClockThatWasSetBackLosesNothing) {
  Ledger ledger;
  const Totals totals = with(ledger, {process("b", 1, 4)});
  observe(ledger, totals, kNow);
  EXPECT_EQ(faults_of(recent(ledger, totals, kNow - 10 * kHour, 24)), 4U);
}

TEST(Ledger, HoursToComeBecomeOld) {
  Ledger ledger;
  const Totals totals = with(ledger, {process("b", 1, 4)});
  for (const std::uint64_t hours : {10'000, 0}) observe(ledger, totals, kNow + hours * kHour);
  EXPECT_EQ(faults_of(recent(ledger, totals, kNow, 24)), 4U);
  observe(ledger, totals, kNow + 24 * kHour);
  EXPECT_EQ(faults_of(recent(ledger, totals, kNow + 54 * kHour, 24)), 0U);
}

// A machine starts with the clock of its firmware, until it has found a time server.
TEST(Ledger, ClockThatWasBehindLosesNothing) {
  for (const std::uint64_t behind : {std::uint64_t{60}, kNow - 700 * kHour}) {
    Ledger ledger;
    EXPECT_EQ(run(ledger, 9, kNow - 100 * kHour), 9U);
    EXPECT_EQ(run(ledger, 13, kNow), 4U);
    EXPECT_EQ(run(ledger, 15, behind), 6U) << "those of four days ago are no younger";
    EXPECT_EQ(run(ledger, 15, kNow + kHour), 6U);
  }
}

TEST(Ledger, ClockThatWasAheadLosesNothing) {
  constexpr auto kYear = 365 * 24 * kHour;
  Ledger ledger;
  EXPECT_EQ(run(ledger, 9, kNow), 9U);
  EXPECT_EQ(run(ledger, 9, kNow + kYear), 0U) << "a year later, as it seems";
  EXPECT_EQ(run(ledger, 10, kNow + kYear + kHour), 1U);
  EXPECT_EQ(run(ledger, 10, kNow + kHour), 10U) << "the clock was set right";
  // A year later indeed.
  for (unsigned hour = 0; hour <= 24; ++hour) (void)run(ledger, 10, kNow + kYear + hour * kHour);
  EXPECT_EQ(ledger.hours.count(kNow / kHour), 0U) << "hours do not stay for ever";
}

}  // namespace
}  // namespace verity::tools
