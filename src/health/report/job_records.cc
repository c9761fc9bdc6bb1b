// SPDX-License-Identifier: BSD-3-Clause
//
// The records of a job's file. All processes of a job have one version: records of another one are
// not read.
#include <algorithm>
#include <cstring>
#include <string_view>
#include <unordered_map>

#include "health/report/job_log.h"

namespace verity::health {

namespace {

//   0   mark, 8 bytes: of this version and its counters
//   8   size of the record
//   16  1: begin, 2: end
//   24  of a beginning: the error for which the account of the end could not be written, or that
//       the process has reported for all; 0: neither
//   32  pid, starts of process and stack, nonce, rank; then, at the end of a process, its account:
//   numbers of 8 bytes, and texts as their length and bytes
enum : std::uint64_t { kBegin = 1, kEnd = 2 };
constexpr std::size_t kSizeAt = 8;
constexpr std::uint64_t kLeast = 32;
constexpr auto kMostExit = static_cast<std::uint64_t>(Exit::kErrorAtEnd);
constexpr std::size_t kMostText = 4096;
constexpr std::size_t kMostItems = 1024;

std::uint64_t mark() noexcept {
  std::uint64_t digest = 14695981039346656037U ^ 4;  // FNV-1a, and the version of the records
  for (const CounterInfo& info : kCounterInfo) {
    for (const char c : info.name)
      digest = (digest ^ static_cast<unsigned char>(c)) * 1099511628211U;
  }
  return digest;
}

class Writer {
 public:
  void number(std::uint64_t value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  void text(std::string_view value) {
    value = value.substr(0, kMostText);
    number(value.size());
    bytes_ += value;
  }
  void texts(const std::vector<std::string>& values) {
    const std::size_t count = std::min(values.size(), kMostItems);
    number(count);
    for (std::size_t i = 0; i < count; ++i) text(values[i]);
  }
  [[nodiscard]] std::string done() {
    const std::uint64_t size = bytes_.size();
    std::memcpy(bytes_.data() + kSizeAt, &size, sizeof(size));
    return std::move(bytes_);
  }

 private:
  std::string bytes_;
};

// Whatever is there: what is beyond the end reads as nothing, and is remembered. Texts go to
// terminals.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : left_(bytes) {}
  [[nodiscard]] std::uint64_t number() {
    std::uint64_t value = 0;
    good_ = good_ && left_.size() >= sizeof(value);
    if (!good_) return 0;
    std::memcpy(&value, left_.data(), sizeof(value));
    left_ = left_.subspan(sizeof(value));
    return value;
  }
  [[nodiscard]] std::string text() {
    const std::uint64_t size = number();
    good_ = good_ && size <= kMostText && size <= left_.size();
    if (!good_) return {};
    std::string value(reinterpret_cast<const char*>(left_.data()), size);
    left_ = left_.subspan(size);
    std::replace_if(
        value.begin(), value.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
    return value;
  }
  [[nodiscard]] std::size_t items() {
    const std::uint64_t count = number();
    good_ = good_ && count <= kMostItems;
    return good_ ? count : 0;
  }
  [[nodiscard]] std::vector<std::string> texts() {
    std::vector<std::string> values(items());
    for (std::string& value : values) value = text();
    return values;
  }
  [[nodiscard]] bool good() const noexcept { return good_; }

 private:
  std::span<const std::byte> left_;
  bool good_ = true;
};

void begin(Writer& out, std::uint64_t kind, const Member& member) {
  out.number(mark());
  out.number(0);  // the size, later
  out.number(kind);
  out.number(0);
  out.number(member.pid);
  out.number(member.start_ticks);
  out.number(member.stack_start);
  out.number(member.nonce);
  out.text(member.rank);
}

void write_report(Writer& out, const Report& r) {
  for (const std::string* text :
       {&r.mode, &r.who.host, &r.who.program, &r.who.rank, &r.who.job, &r.who.step, &r.unused})
    out.text(*text);
  out.number(static_cast<std::uint64_t>(r.who.pid));
  out.number(r.active ? 1 : 0);
  out.number(r.shared_windows ? 1 : 0);
  for (const CounterInfo& info : kCounterInfo) out.number(r.counters.*info.field);
  for (const auto* texts : {&r.failed_links, &r.raw_lanes, &r.mpi_components}) out.texts(*texts);
  const std::size_t links = std::min(r.links.size(), kMostItems);
  out.number(links);
  for (std::size_t i = 0; i < links; ++i) {
    out.text(r.links[i].from);
    out.text(r.links[i].to);
    out.text(r.links[i].path);
    out.number(r.links[i].faults);
  }
}

Report read_report(Reader& in) {
  Report r;
  for (std::string* text :
       {&r.mode, &r.who.host, &r.who.program, &r.who.rank, &r.who.job, &r.who.step, &r.unused})
    *text = in.text();
  r.who.pid = static_cast<long>(in.number());
  r.active = in.number() != 0;
  r.shared_windows = in.number() != 0;
  for (const CounterInfo& info : kCounterInfo) r.counters.*info.field = in.number();
  for (auto* texts : {&r.failed_links, &r.raw_lanes, &r.mpi_components}) *texts = in.texts();
  r.links.resize(in.items());
  for (LinkFaults& link : r.links) {
    link.from = in.text();
    link.to = in.text();
    link.path = in.text();
    link.faults = in.number();
  }
  return r;
}

// Nothing: it is a part of one, which another process is still appending, or has left there, or it
// is damaged.
std::optional<JobRecord> read_record(std::span<const std::byte> bytes) {
  Reader in(bytes);
  (void)in.number();  // the mark
  JobRecord record;
  record.size = in.number();
  const std::uint64_t kind = in.number();
  if (record.size < kLeast || record.size > bytes.size() || (kind != kBegin && kind != kEnd))
    return std::nullopt;
  const std::uint64_t note = in.number();
  record.reported = note == kReported;
  if (note < kReported) record.unwritten = static_cast<int>(note);
  record.member.pid = in.number();
  record.member.start_ticks = in.number();
  record.member.stack_start = in.number();
  record.member.nonce = in.number();
  record.member.rank = in.text();
  if (kind == kEnd) {
    record.exit = static_cast<Exit>(std::min(in.number(), kMostExit));
    record.report = read_report(in);
  }
  return in.good() ? std::optional(std::move(record)) : std::nullopt;
}

struct ByNonce {
  std::size_t operator()(const Member& member) const noexcept { return member.nonce; }
};

// The records of the ends, by their processes. A launch may have run thousands of programs.
class Ends {
 public:
  explicit Ends(const std::vector<JobRecord>& records) {
    for (const JobRecord& record : records) {
      if (record.report) ends_.try_emplace(record.member, &record);
    }
  }
  // nullptr: it has not ended.
  [[nodiscard]] const JobRecord* of(const Member& member) const {
    const auto end = ends_.find(member);
    return end == ends_.end() ? nullptr : end->second;
  }

 private:
  std::unordered_map<Member, const JobRecord*, ByNonce> ends_;
};

// Of each record of a beginning, how many of its rank were before it.
std::vector<unsigned> generations_of(const std::vector<JobRecord>& records) {
  std::unordered_map<std::string_view, unsigned> begun;
  std::vector<unsigned> generations(records.size());
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (!records[i].report) generations[i] = begun[records[i].member.rank]++;
  }
  return generations;
}

}  // namespace

std::string begin_record(const Member& member) {
  Writer out;
  begin(out, kBegin, member);
  return out.done();
}

std::string end_record(const Member& member, const Report& report, Exit exit) {
  Writer out;
  begin(out, kEnd, member);
  out.number(static_cast<std::uint64_t>(exit));
  write_report(out, report);
  return out.done();
}

std::vector<JobRecord> read_records(std::span<const std::byte> bytes) {
  const std::string_view all(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const std::uint64_t number = mark();
  const std::string_view start(reinterpret_cast<const char*>(&number), sizeof(number));
  std::vector<JobRecord> records;
  for (std::size_t offset = all.find(start), next; offset < all.size(); offset = next) {
    next = std::min(all.find(start, offset + start.size()), all.size());
    auto record = read_record(bytes.subspan(offset, next - offset));
    if (!record) continue;
    record->offset = offset;
    records.push_back(std::move(*record));
  }
  return records;
}

std::optional<Assembled> assemble(const std::vector<JobRecord>& records, const Member& self,
                                  const std::function<bool(const JobRecord&)>& lives) {
  const Ends ends(records);
  const JobRecord* own_end = ends.of(self);
  if (own_end == nullptr) return std::nullopt;
  const std::vector<unsigned> generations = generations_of(records);
  const JobRecord* own_begin =
      std::find_if(records.data(), own_end, [&](const JobRecord& r) { return r.member == self; });
  if (own_begin == own_end) return std::nullopt;  // somebody has cut the file
  const auto generation = [&](const JobRecord* record) {
    return generations[static_cast<std::size_t>(record - records.data())];
  };
  Assembled all;
  for (const JobRecord* record = records.data(); record != own_end; ++record) {
    if (record->report || generation(record) != generation(own_begin)) continue;
    ++all.registered;
    const JobRecord* end = ends.of(record->member);
    if (end != nullptr && end <= own_end) {
      all.reports.push_back(*end->report);
      all.failed += end != own_end && end->exit != Exit::kSuccess;
      all.stay += end != own_end && end->exit == Exit::kErrorAtEnd;
      continue;
    }
    all.reported = all.reported || record->reported;
    if (end != nullptr) {
      ++all.later;
      all.later_fails = all.later_fails || end->exit == Exit::kError;
    } else if (record->unwritten != 0) {
      ++all.unwritten;
      all.error = record->unwritten;
    } else if (!record->reported) {
      all.others_live = all.others_live || lives(*record);
    }
  }
  all.complete = all.later == 0 && !all.others_live;
  all.deserted = all.complete && std::none_of(records.begin(), records.end(), [&](const auto& r) {
                   return !r.report && r.unwritten == 0 && !r.reported &&
                          ends.of(r.member) == nullptr && lives(r);
                 });
  return all;
}

}  // namespace verity::health
