// SPDX-License-Identifier: BSD-3-Clause
#include <memory>

#include "fuzz/targets.h"
#include "health/files/reader.h"
#include "health/files/view.h"

namespace verity::fuzz {

namespace {

bool is_printable(const std::string& text) {
  for (const char c : text) {
    if (c < 0x20 || c > 0x7e) return false;
  }
  return true;
}

// A small file as another version might write it: counters of other names, one row.
void fill(health::FileHeader* h, uint32_t counters) {
  std::memcpy(h->magic, UCX_VERITY_HEALTH_MAGIC, sizeof(h->magic));
  h->layout = UCX_VERITY_HEALTH_LAYOUT;
  h->header_size = h->names_offset = sizeof(*h);
  h->counter_count = counters;
  h->name_size = 32;
  h->rows_offset = h->names_offset + counters * h->name_size;
  h->counters_offset = sizeof(health::FileRow);
  h->row_size = h->counters_offset + counters * 8;
  h->row_count = 1;
  h->state = UCX_VERITY_HEALTH_RUNNING;
}

}  // namespace

// The first byte's lowest bit: whether the header's offsets and sizes are made right before the
// rest of the input is put over them, as few inputs would pass otherwise; then comes a list of
// changes (offset, byte) until one begins with 0xffff; the rest is the file.
void health_target(const uint8_t* data, size_t size) {
  Input input(data, size);
  const uint8_t how = input.u8();
  const uint32_t counters = 1 + (how >> 1) % 8;
  const size_t length = sizeof(health::FileHeader) + counters * 40 + sizeof(health::FileRow);
  // The file is of just this size, so that a read behind it is seen.
  const size_t total = (how & 1) != 0 ? length : size;
  const auto file = std::make_unique<uint8_t[]>(total + 1);
  if ((how & 1) != 0) {
    health::FileHeader header{};
    fill(&header, counters);
    std::memcpy(file.get(), &header, sizeof(header));
    for (uint32_t i = 0; i < counters; ++i)
      file[sizeof(header) + i * 32] = static_cast<uint8_t>('a' + i);
    while (!input.empty()) {
      const uint16_t at = input.u16();
      if (at == 0xffff) break;
      file[at % total] = input.u8();
    }
  } else {
    std::memcpy(file.get(), data, size);
  }
  const auto copy = std::make_unique<std::byte[]>(total);
  std::memcpy(copy.get(), file.get(), total);
  health::Snapshot snapshot;
  const std::string problem = health::parse_health_file({copy.get(), total}, &snapshot);
  require(is_printable(problem), "a problem is not printable");
  if (!problem.empty()) return;
  require(is_printable(snapshot.host + snapshot.program + snapshot.rank + snapshot.mode),
          "a text is not printable");
  const health::ProcessView view = health::view_of(snapshot);
  require(view.paths.size() <= snapshot.rows.size(), "more paths than rows");
  for (const health::SnapshotRow& row : snapshot.rows) {
    require(row.foreign.size() == snapshot.foreign_names.size(), "a row lacks counters");
    require(is_printable(row.transport + row.device + row.peer), "a label is not printable");
  }
}

}  // namespace verity::fuzz
