// SPDX-License-Identifier: BSD-3-Clause
//
// The rows of a process's health file, or of private memory where there is none: each interface and
// each host it has links to count straight into a row of their own, so that nothing has to be
// copied or summed on the data path.
#ifndef VERITY_HEALTH_FILES_TABLE_H
#define VERITY_HEALTH_FILES_TABLE_H

#include <array>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "health/files/layout.h"
#include "health/paths.h"
#include "util/lock_soon.h"

namespace verity::health {

// The interface that a row belongs to.
struct Path {
  std::string_view transport;  // with its v
  std::string_view device;
  bool injected = false;  // its faults are made on purpose, by a test transport below
};

// A host's number in this process: the hash of its name, which its addresses carry; of two names
// with one hash the second gets the next free number when it advertises its name. 0: no host.
using HostId = std::uint32_t;

// Memory at a fixed place, of which only the first bytes can be used: the rest can when the file
// has grown.
class Ground {
 public:
  virtual ~Ground() = default;
  [[nodiscard]] virtual std::byte* base() noexcept = 0;
  // Makes the first `size` bytes usable, zeroed where they are new. False: not possible.
  [[nodiscard]] virtual bool grow(std::size_t size) noexcept = 0;
};

// Thread-safe; locks, so not for the data path. A row has one owner at a time, who counts in it
// without locks; when it is given back, the next interface of the same name goes on with it. So the
// sum never shrinks, and a program that opens interfaces again and again needs no more rows.
class Table {
 public:
  static constexpr std::size_t kMostRows = 1024;
  static constexpr std::size_t kMostPeers = 512;  // the others are left for interfaces
  static constexpr std::size_t kMostBytes = size_for_rows(kMostRows);
  static_assert(kMostBytes <= std::size_t{1} << 20, "a health file stays below a MiB");

  // Writes the header and the names. `ground` outlives the table and can hold a row at least.
  Table(Ground& ground, const Origin& origin);
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  // What belongs to no interface. Never given back.
  [[nodiscard]] Counters& process() noexcept { return *process_; }
  // For an interface that opens. Without room in the table it is a row that is only part of the
  // sum. Throws std::bad_alloc.
  [[nodiscard]] Counters& open_interface(const Path& path, std::uint64_t now_ns);
  // The number of the host of that name, whose rows have it from now on. 0: no name, or no memory
  // for it.
  [[nodiscard]] HostId host_id(std::string_view name) noexcept;
  // Empty: not known yet. Throws std::bad_alloc.
  [[nodiscard]] std::string host_name(HostId host) const;
  // For the links of one interface to `host`, and to the hosts for which there was no room.
  // nullptr: no room. As long as the host's name is not known its row is one of those of others.
  [[nodiscard]] Counters* open_peer(const Path& path, HostId host, std::uint64_t now_ns) noexcept;
  [[nodiscard]] Counters* open_others(const Path& path, std::uint64_t now_ns) noexcept;
  // Its owner counts no more.
  void close(const Counters& row) noexcept;

  // Calls use(bytes), of what is in use from the ground's base on, while no row can be added.
  template <typename Use>
  void with_used(Use&& use) {
    const std::lock_guard lock(mutex_);
    use(size_for_rows(rows_));
  }

  void set_mode(std::string_view mode) noexcept;
  // False: the lock stays taken, by a thread that a signal's handler has interrupted.
  [[nodiscard]] bool is_free() noexcept { return util::lock_soon(mutex_).owns_lock(); }
  // The process ends as it should.
  void end(std::uint64_t now_ns) noexcept;

  // Of all rows. What its owner increments meanwhile is read old or new, never torn; exact once the
  // owners rest.
  [[nodiscard]] Counters sum() const noexcept;
  // Where what arrived here was damaged, the worst first, at most `most`. Throws std::bad_alloc.
  [[nodiscard]] std::vector<LinkFaults> links_with_faults(std::size_t most) const;

 private:
  [[nodiscard]] FileHeader& header() noexcept { return *reinterpret_cast<FileHeader*>(base_); }
  [[nodiscard]] FileRow& row(std::size_t index) const noexcept {
    return *reinterpret_cast<FileRow*>(base_ + size_for_rows(index));
  }
  [[nodiscard]] static Counters& counters(FileRow& row) noexcept {
    return *reinterpret_cast<Counters*>(&row + 1);
  }
  [[nodiscard]] Counters* take(std::uint32_t kind, const Path& path, HostId host,
                               std::uint64_t now_ns) noexcept;
  void put_name(FileRow& row, HostId host) const noexcept;
  [[nodiscard]] FileRow* closed_row(const FileRow& like, HostId host) const noexcept;
  [[nodiscard]] FileRow* append(const FileRow& like, HostId host) noexcept;

  mutable std::mutex mutex_;
  Ground& ground_;
  std::byte* const base_;
  // Ours, not those in the file: whatever happens to it, they stay right.
  std::size_t rows_ = 0;
  std::size_t peers_ = 0;
  std::array<HostId, kMostRows> row_hosts_{};  // whose each row is; 0: no host's
  std::unordered_map<HostId, std::string> hosts_;
  Counters* process_ = nullptr;
  std::deque<Counters> beyond_;  // for interfaces without a row
};

}  // namespace verity::health

#endif
