// SPDX-License-Identifier: BSD-3-Clause
#include "health/files/reader.h"

#include <algorithm>
#include <iterator>

namespace verity::health {

namespace {

// Far beyond what any version writes; they bound what a file can make us allocate.
constexpr std::uint32_t kMostCounters = 1024;
constexpr std::uint32_t kMostFileRows = 16384;

template <std::size_t N>
std::string text_of(const char (&field)[N]) {
  std::string text(field, std::find(field, field + N, '\0'));
  for (char& c : text) {
    if (c < 0x20 || c > 0x7e) c = '?';
  }
  return text;
}

std::string number(std::uint64_t value) { return std::to_string(value); }

// What the header promises lies within the file. All sums are of numbers below 2^33, in 64 bits.
std::string check(const FileHeader& h, std::size_t size) {
  if (h.header_size < sizeof(FileHeader) || h.header_size > h.names_offset) {
    return "its header of " + number(h.header_size) + " bytes does not fit";
  }
  if (h.counter_count == 0 || h.counter_count > kMostCounters)
    return "it names " + number(h.counter_count) + " counters";
  if (h.name_size < 2 || h.name_size > 256)
    return "its counters' names have " + number(h.name_size) + " bytes";
  if (std::uint64_t{h.names_offset} + std::uint64_t{h.counter_count} * h.name_size >
      h.rows_offset) {
    return "its names and rows overlap";
  }
  if (h.counters_offset < sizeof(FileRow) || h.counters_offset % 8 != 0 || h.row_size % 8 != 0 ||
      h.rows_offset % 8 != 0 ||
      std::uint64_t{h.counters_offset} + std::uint64_t{h.counter_count} * 8 > h.row_size) {
    return "its rows of " + number(h.row_size) + " bytes cannot hold their counters";
  }
  if (h.row_count > kMostFileRows) return "it has " + number(h.row_count) + " rows";
  const std::uint64_t end = std::uint64_t{h.rows_offset} + std::uint64_t{h.row_count} * h.row_size;
  if (end > size) return "it is cut: " + number(size) + " bytes of " + number(end);
  if (h.state < UCX_VERITY_HEALTH_RUNNING || h.state > UCX_VERITY_HEALTH_KILLED)
    return "its state is " + number(h.state);
  return {};
}

// Names become keys of JSON and of metrics.
bool is_name(std::string_view name) noexcept {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

// For each of the file's counters the field of ours, or nullptr.
using Fields = std::vector<std::uint64_t Counters::*>;

std::string read_names(std::span<const std::byte> file, const FileHeader& h, Fields* fields,
                       Snapshot* out) {
  std::vector<bool> seen(kCounterInfo.size());
  for (std::uint32_t i = 0; i < h.counter_count; ++i) {
    const auto* at =
        reinterpret_cast<const char*>(file.data()) + h.names_offset + std::size_t{i} * h.name_size;
    const std::string name(at, std::find(at, at + h.name_size, '\0'));
    if (!is_name(name)) return "the name of its counter " + number(i) + " is none";
    const auto* info = std::find_if(kCounterInfo.begin(), kCounterInfo.end(),
                                    [&](const auto& known) { return known.name == name; });
    if (info == kCounterInfo.end()) {
      fields->push_back(nullptr);
      out->foreign_names.push_back(name);
      continue;
    }
    const auto index = static_cast<std::size_t>(info - kCounterInfo.begin());
    if (seen[index]) return "it has the counter " + name + " twice";
    seen[index] = true;
    fields->push_back(info->field);
  }
  for (std::size_t i = 0; i < seen.size(); ++i) {
    if (!seen[i]) out->missing_names.emplace_back(kCounterInfo[i].name);
  }
  return {};
}

SnapshotRow read_row(const std::byte* at, const FileHeader& h, const Fields& fields) {
  FileRow row;
  std::memcpy(&row, at, sizeof(row));
  SnapshotRow out;
  out.kind = row.kind;
  out.open = row.open != 0;
  out.opened_ns = row.opened_ns;
  out.transport = text_of(row.transport);
  out.device = text_of(row.device);
  out.injected = (row.flags & UCX_VERITY_HEALTH_INJECTED) != 0;
  if (row.kind == UCX_VERITY_HEALTH_PEER)
    out.peer = text_of(row.peer);  // else it may be about to be written
  at += h.counters_offset;
  for (const auto field : fields) {
    std::uint64_t value;
    std::memcpy(&value, at, sizeof(value));
    at += sizeof(value);
    if (field != nullptr) {
      out.counters.*field = value;
    } else {
      out.foreign.push_back(value);
    }
  }
  return out;
}

void read_header(const FileHeader& h, Snapshot* out) {
  out->pid = h.pid;
  out->start_ticks = h.start_ticks;
  out->stack_mark = h.stack_mark;
  out->created_ns = h.created_ns;
  out->ended_ns = h.ended_ns;
  out->uid = h.uid;
  out->state = h.state;
  out->mode = text_of(h.mode);
  out->host = text_of(h.host);
  out->peer_name = text_of(h.peer_name);
  out->program = text_of(h.program);
  out->rank = text_of(h.rank);
  out->version = text_of(h.version);
  out->ucx_version = text_of(h.ucx_version);
  out->boot_id = text_of(h.boot_id);
  out->job = text_of(h.job);
  out->step = text_of(h.step);
}

}  // namespace

std::string parse_health_file(std::span<const std::byte> file, Snapshot* out_p) {
  FileHeader h;
  constexpr std::size_t kLeast = offsetof(FileHeader, header_size);
  if (file.size() < kLeast ||
      std::memcmp(file.data(), UCX_VERITY_HEALTH_MAGIC, sizeof(h.magic)) != 0) {
    return "it is no health file";
  }
  std::memcpy(&h, file.data(), std::min(sizeof(h), file.size()));
  if (h.layout != UCX_VERITY_HEALTH_LAYOUT) {
    return "it has layout " + number(h.layout) + ", this version reads " +
           number(UCX_VERITY_HEALTH_LAYOUT) + ": use the ucx-verity that the job used";
  }
  if (file.size() < sizeof(h)) return "it is cut: " + number(file.size()) + " bytes";
  if (file.size() > kMostFileBytes) return "it is too long: " + number(file.size()) + " bytes";
  std::string problem = check(h, file.size());
  Snapshot out;
  Fields fields;
  if (problem.empty()) problem = read_names(file, h, &fields, &out);
  if (!problem.empty()) return problem;
  read_header(h, &out);
  for (std::uint32_t i = 0; i < h.row_count; ++i) {
    out.rows.push_back(
        read_row(file.data() + h.rows_offset + std::size_t{i} * h.row_size, h, fields));
  }
  *out_p = std::move(out);
  return {};
}

Counters Snapshot::sum() const noexcept {
  Counters sum;
  for (const SnapshotRow& row : rows) sum += row.counters;
  return sum;
}

}  // namespace verity::health
