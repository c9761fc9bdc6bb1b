// SPDX-License-Identifier: BSD-3-Clause
#include "health/files/table.h"

#include <algorithm>
#include <atomic>
#include <new>

#include "health/process_id.h"

namespace verity::health {

namespace {

// Another thread may be incrementing: read each word once and whole. Its increments are no atomic
// ones, which would cost the data path; ThreadSanitizer need not say so.
__attribute__((no_sanitize("thread"))) void add_live(Counters& sum,
                                                     const Counters& counters) noexcept {
  for (const CounterInfo& info : kCounterInfo) {
    sum.*info.field += const_cast<const volatile std::uint64_t&>(counters.*info.field);
  }
}

void fill(FileHeader& header, const Origin& origin) noexcept {
  header.layout = UCX_VERITY_HEALTH_LAYOUT;
  header.header_size = sizeof(FileHeader);
  header.counter_count = kCounterInfo.size();
  header.name_size = kNameSize;
  header.names_offset = kNamesOffset;
  header.rows_offset = kRowsOffset;
  header.row_size = kRowSize;
  header.counters_offset = sizeof(FileRow);
  header.state = UCX_VERITY_HEALTH_RUNNING;
  header.pid = origin.pid;
  header.start_ticks = origin.start_ticks;
  header.stack_mark = origin.stack_mark;
  header.created_ns = origin.created_ns;
  header.uid = origin.uid;
  put_text(header.mode, origin.mode);
  put_text(header.host, origin.host);
  put_text(header.peer_name, origin.peer_name);
  put_text(header.program, origin.program);
  put_text(header.rank, origin.rank);
  put_text(header.version, origin.version);
  put_text(header.ucx_version, origin.ucx_version);
  put_text(header.boot_id, origin.boot_id);
  put_text(header.job, origin.job);
  put_text(header.step, origin.step);
  std::memcpy(header.magic, UCX_VERITY_HEALTH_MAGIC, sizeof(header.magic));
}

void write_names(std::byte* names) noexcept {
  for (const CounterInfo& info : kCounterInfo) {
    std::memcpy(names, info.name.data(), info.name.size());
    names += kNameSize;
  }
}

constexpr bool names_fit() noexcept {
  for (const CounterInfo& info : kCounterInfo) {
    if (info.name.size() >= kNameSize) return false;
  }
  return true;
}
static_assert(names_fit());

bool same_labels(const FileRow& a, const FileRow& b) noexcept {
  return a.kind == b.kind && std::strcmp(a.transport, b.transport) == 0 &&
         std::strcmp(a.device, b.device) == 0 && a.flags == b.flags;
}

}  // namespace

Table::Table(Ground& ground, const Origin& origin) : ground_(ground), base_(ground.base()) {
  fill(header(), origin);
  write_names(base_ + kNamesOffset);
  process_ = take(UCX_VERITY_HEALTH_PROCESS, {}, 0, origin.created_ns);
  if (process_ == nullptr) process_ = &beyond_.emplace_back();
}

// A row of these labels whose interface has closed.
FileRow* Table::closed_row(const FileRow& like, HostId host) const noexcept {
  for (std::size_t i = 0; i < rows_; ++i) {
    if (row(i).open == 0 && row_hosts_[i] == host && same_labels(row(i), like)) return &row(i);
  }
  return nullptr;
}

FileRow* Table::append(const FileRow& like, HostId host) noexcept {
  if (rows_ == kMostRows || (host != 0 && peers_ == kMostPeers)) return nullptr;
  if (!ground_.grow(size_for_rows(rows_ + 1))) return nullptr;
  FileRow* added = &row(rows_);
  *added = like;
  row_hosts_[rows_] = host;
  peers_ += host != 0;
  ++rows_;
  std::atomic_ref(header().row_count)
      .store(static_cast<std::uint32_t>(rows_), std::memory_order_release);
  return added;
}

// The name first: who reads the kind of a row with a name finds all of that.
void Table::put_name(FileRow& row, HostId host) const noexcept {
  const auto named = hosts_.find(host);
  if (named == hosts_.end()) return;
  put_text(row.peer, named->second);
  std::atomic_ref(row.kind).store(UCX_VERITY_HEALTH_PEER, std::memory_order_release);
}

HostId Table::host_id(std::string_view name) noexcept {
  if (name.empty()) return 0;
  const std::lock_guard lock(mutex_);
  try {
    for (HostId id = name_hash(name);; id += id + 1 != 0 ? 1 : 2) {
      const auto [host, fresh] = hosts_.try_emplace(id, name);
      if (!fresh && host->second != name) continue;
      for (std::size_t i = 0; fresh && i < rows_; ++i) {
        if (row_hosts_[i] == id) put_name(row(i), id);
      }
      return id;
    }
  } catch (...) { return 0; }
}

std::string Table::host_name(HostId host) const {
  const std::lock_guard lock(mutex_);
  const auto named = hosts_.find(host);
  return named != hosts_.end() ? named->second : std::string();
}

Counters* Table::take(std::uint32_t kind, const Path& path, HostId host,
                      std::uint64_t now_ns) noexcept {
  FileRow like{};
  like.kind = kind;
  like.opened_ns = now_ns;
  put_text(like.transport, path.transport);
  put_text(like.device, path.device);
  like.flags = path.injected ? UCX_VERITY_HEALTH_INJECTED : 0;
  put_name(like, host);
  FileRow* found = closed_row(like, host);
  if (found == nullptr) found = append(like, host);
  if (found == nullptr) return nullptr;
  found->open = 1;
  return &counters(*found);
}

Counters& Table::open_interface(const Path& path, std::uint64_t now_ns) {
  const std::lock_guard lock(mutex_);
  Counters* found = take(UCX_VERITY_HEALTH_INTERFACE, path, 0, now_ns);
  return found != nullptr ? *found : beyond_.emplace_back();
}

Counters* Table::open_peer(const Path& path, HostId host, std::uint64_t now_ns) noexcept {
  const std::lock_guard lock(mutex_);
  return take(UCX_VERITY_HEALTH_OTHERS, path, host, now_ns);
}

Counters* Table::open_others(const Path& path, std::uint64_t now_ns) noexcept {
  const std::lock_guard lock(mutex_);
  return take(UCX_VERITY_HEALTH_OTHERS, path, 0, now_ns);
}

void Table::close(const Counters& closed) noexcept {
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < rows_; ++i) {
    if (&counters(row(i)) == &closed) row(i).open = 0;
  }
}

void Table::set_mode(std::string_view mode) noexcept {
  const std::lock_guard lock(mutex_);
  put_text(header().mode, mode);
}

void Table::end(std::uint64_t now_ns) noexcept {
  const std::lock_guard lock(mutex_);
  header().ended_ns = now_ns;
  std::atomic_ref(header().state).store(UCX_VERITY_HEALTH_ENDED, std::memory_order_release);
}

Counters Table::sum() const noexcept {
  const std::lock_guard lock(mutex_);
  Counters sum;
  for (std::size_t i = 0; i < rows_; ++i) add_live(sum, counters(row(i)));
  for (const Counters& counters : beyond_) add_live(sum, counters);
  return sum;
}

std::vector<LinkFaults> Table::links_with_faults(std::size_t most) const {
  const std::lock_guard lock(mutex_);
  std::vector<LinkFaults> links;
  for (std::size_t i = 0; i < rows_; ++i) {
    const FileRow& from = row(i);
    Counters counters;
    add_live(counters, *reinterpret_cast<const Counters*>(&from + 1));
    const std::uint64_t faults = faults_in(counters) + counters.reads_ambiguous;
    if (faults == 0) continue;
    const auto* own = reinterpret_cast<const FileHeader*>(base_);
    links.push_back({from.kind == UCX_VERITY_HEALTH_PEER ? from.peer : "", own->peer_name,
                     path_name(from.transport, from.device), faults});
  }
  std::stable_sort(links.begin(), links.end(),
                   [](const LinkFaults& a, const LinkFaults& b) { return a.faults > b.faults; });
  if (links.size() > most) links.resize(most);
  return links;
}

}  // namespace verity::health
