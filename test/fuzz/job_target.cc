// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <string>
#include <vector>

#include "fuzz/targets.h"
#include "health/report/job_log.h"
#include "health/report/summary.h"

namespace verity::fuzz {

namespace {

// One of few, so that ranks begin again, and end without a beginning.
health::Member member_of(uint8_t choice) {
  health::Member member;
  member.pid = choice % 4;
  member.nonce = choice / 4 % 2;
  member.rank = std::to_string(choice % 3);
  return member;
}

health::Report report_of(Input& input) {
  health::Report report;
  report.who.host = std::string(input.u8() % 8, static_cast<char>(input.u8()));
  report.who.rank = std::to_string(input.u8() % 3);
  report.counters.bytes_verified = input.u64();
  report.active = input.u8() % 4 != 0;
  report.links.resize(input.u8() % 3);
  for (health::LinkFaults& link : report.links) link.faults = input.u16();
  report.raw_lanes.resize(input.u8() % 3, "tcp/" + std::string(1, static_cast<char>(input.u8())));
  return report;
}

// Records, whole or cut off, of which bytes are changed afterwards.
std::string file_of(Input& input) {
  std::string file;
  for (unsigned count = input.u8() % 8; count != 0; --count) {
    const uint8_t how = input.u8();
    const health::Member member = member_of(input.u8());
    std::string record = (how & 1) != 0
                             ? health::end_record(member, report_of(input),
                                                  static_cast<health::Exit>((how >> 1) % 3))
                             : health::begin_record(member);
    if (how % 16 == 2) record[health::kNoteAt + how / 128] = '\x10';  // an error, or kReported
    if (how >= 0xf0) record.resize(input.u16() % record.size());
    file += record;
  }
  for (unsigned count = input.u8() % 4; count != 0 && !file.empty(); --count) {
    const size_t at = input.u16() % file.size();
    file[at] = static_cast<char>(input.u8());
  }
  while (!input.empty()) file += static_cast<char>(input.u8());
  return file;
}

bool is_text(const std::string& text) {
  return std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return (c >= 0x20 && c != 0x7f) || c == '\n'; });
}

}  // namespace

void job_target(const uint8_t* data, size_t size) {
  Input input(data, size);
  const health::Member self = member_of(input.u8());
  const uint8_t living = input.u8();
  const std::string file = file_of(input);
  // Of just this size, so that a read behind it is seen.
  std::vector<std::byte> bytes(file.size());
  std::transform(file.begin(), file.end(), bytes.begin(),
                 [](char c) { return static_cast<std::byte>(c); });
  const auto records = health::read_records(bytes);
  uint64_t end = 0;
  for (const health::JobRecord& record : records) {
    require(record.offset >= end && record.size <= bytes.size() - record.offset,
            "a record is outside of the file, or in another one");
    end = record.offset + record.size;
  }
  const auto all = health::assemble(records, self, [&](const health::JobRecord& record) {
    return (living >> record.member.pid % 8 & 1) != 0;
  });
  if (!all) return;
  require(all->reports.size() + all->later + all->unwritten <= all->registered,
          "more ranks reported than began");
  require(!all->complete || !all->others_live, "the last one, and others live");
  require(!all->deserted || all->complete, "deserted, and not complete");
  const health::JobSummary summary = health::sum_up(all->reports, all->registered, 0, 0,
                                                    {.ranks = all->unwritten, .error = all->error});
  require(is_text(health::render_text(summary)), "a report is not printable");
}

}  // namespace verity::fuzz
