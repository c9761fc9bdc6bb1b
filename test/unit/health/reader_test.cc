// SPDX-License-Identifier: BSD-3-Clause
#include <limits>

#include "health/files/interface_rows.h"
#include "unit/health/file.h"

namespace verity::health {
namespace {

// A good file, to be spoilt.
class HealthReader : public ::testing::Test {
 protected:
  HealthReader() : table_(ground_, this_process()), tcp_(table_, "vtcp", "eth0", 1) {
    ground_.limit = size_for_rows(3);
    tcp_.peer("node18", 2).frames_verified = 11;
  }
  [[nodiscard]] FileHeader& header() { return *reinterpret_cast<FileHeader*>(ground_.base()); }
  [[nodiscard]] char* name(std::size_t index) {
    return reinterpret_cast<char*>(ground_.base()) + kNamesOffset + index * kNameSize;
  }
  [[nodiscard]] std::string problem(std::size_t size) {
    Snapshot untouched;
    untouched.pid = 4711;
    const std::string text = parse_health_file(ground_.bytes(size), &untouched);
    EXPECT_EQ(untouched.pid == 4711, !text.empty());
    return text;
  }
  [[nodiscard]] std::string problem() { return problem(ground_.limit); }

  Plain ground_;
  Table table_;
  InterfaceRows tcp_;
};

TEST_F(HealthReader, TakesAGoodFile) { EXPECT_EQ(problem(), ""); }

TEST_F(HealthReader, RefusesEveryCutFile) {
  for (std::size_t size = 0; size < size_for_rows(3); ++size) EXPECT_NE(problem(size), "") << size;
}

TEST_F(HealthReader, NamesAnotherLayout) {
  header().layout = 2;
  EXPECT_EQ(problem(),
            "it has layout 2, this version reads 1: use the ucx-verity that the job used");
  EXPECT_EQ(problem(600),
            "it has layout 2, this version reads 1: use the ucx-verity that the job used");
}

TEST_F(HealthReader, RefusesWhatIsNone) {
  header().magic[3] = 'x';
  EXPECT_EQ(problem(), "it is no health file");
  EXPECT_EQ(problem(0), "it is no health file");
}

// Each size and offset of the header, with values that lie.
TEST_F(HealthReader, BelievesNoNumber) {
  std::uint32_t FileHeader::*fields[] = {
      &FileHeader::header_size,     &FileHeader::counter_count, &FileHeader::name_size,
      &FileHeader::names_offset,    &FileHeader::rows_offset,   &FileHeader::row_size,
      &FileHeader::counters_offset, &FileHeader::row_count,     &FileHeader::state};
  for (const auto field : fields) {
    const std::uint32_t good = header().*field;
    for (const std::uint32_t bad : {0xffffffffu, 0x80000000u, 0x7fffffffu, 0xfffffff8u, 0x10000u}) {
      header().*field = bad;
      EXPECT_NE(problem(), "") << bad;
    }
    header().*field = good;
  }
  header().counter_count = 0;
  EXPECT_NE(problem(), "");
}

// Versions before wrote zeroes there, and read nothing of it.
TEST_F(HealthReader, ReadsTheJobWhereThereIsOne) {
  Snapshot snapshot;
  ASSERT_EQ(parse_health_file(ground_.bytes(ground_.limit), &snapshot), "");
  EXPECT_EQ(snapshot.job + snapshot.step, "");
  std::memcpy(header().job, "4711[3]", 7);
  std::memcpy(header().step, "0", 1);
  ASSERT_EQ(parse_health_file(ground_.bytes(ground_.limit), &snapshot), "");
  EXPECT_EQ(snapshot.job, "4711[3]");
  EXPECT_EQ(snapshot.step, "0");
  static_assert(offsetof(FileHeader, job) == 352 && UCX_VERITY_HEALTH_LAYOUT == 1);
}

TEST_F(HealthReader, ReadsAnotherVersionsCounters) {
  std::memset(name(1), 0, kNameSize);
  std::memcpy(name(1), "cosmic_rays", 11);
  Counters& own = tcp_.own();
  own.bytes_sent = 5;
  own.frames_sent = 6;
  Snapshot s;
  ASSERT_EQ(parse_health_file(ground_.bytes(ground_.limit), &s), "");
  EXPECT_EQ(s.foreign_names, std::vector<std::string>{"cosmic_rays"});
  EXPECT_EQ(s.missing_names, std::vector<std::string>{"bytes_sent"});
  EXPECT_EQ(s.rows[1].foreign, std::vector<std::uint64_t>{5});
  EXPECT_EQ(s.rows[1].counters.bytes_sent, 0u);
  EXPECT_EQ(s.rows[1].counters.frames_sent, 6u);
}

TEST_F(HealthReader, RefusesNamesThatAreNone) {
  for (const char* bad : {"", "Frames", "a b", "x\"y", "\n"}) {
    std::memset(name(0), 0, kNameSize);
    std::memcpy(name(0), bad, std::strlen(bad));
    EXPECT_EQ(problem(), "the name of its counter 0 is none");
  }
  std::memcpy(name(0), name(2), kNameSize);
  EXPECT_NE(problem().find("twice"), std::string::npos);
}

TEST_F(HealthReader, TextsAreHarmlessOnATerminal) {
  std::memcpy(header().program, "\x1b[2Jx\xff", 6);
  std::memset(header().host, 'h', sizeof(header().host));  // without its end
  Snapshot s;
  ASSERT_EQ(parse_health_file(ground_.bytes(ground_.limit), &s), "");
  EXPECT_EQ(s.program, "?[2Jx?");
  EXPECT_EQ(s.host, std::string(64, 'h'));
}

// It may be half written: the kind is changed after it.
TEST_F(HealthReader, TheHostOfARowThatIsNotAPeersIsNotRead) {
  Snapshot s;
  ASSERT_EQ(parse_health_file(ground_.bytes(ground_.limit), &s), "");
  EXPECT_EQ(s.rows.back().peer, "node18");
  reinterpret_cast<FileRow*>(ground_.base() + size_for_rows(2))->kind = UCX_VERITY_HEALTH_OTHERS;
  ASSERT_EQ(parse_health_file(ground_.bytes(ground_.limit), &s), "");
  EXPECT_EQ(s.rows.back().peer, "");
}

TEST_F(HealthReader, RowsOfALaterVersionMayBeLonger) {
  header().row_count = 1;
  header().row_size = kRowSize * 2;
  EXPECT_EQ(problem(), "");
  header().row_size = kRowSize * 3 + 8;
  EXPECT_NE(problem(), "");
}

}  // namespace
}  // namespace verity::health
