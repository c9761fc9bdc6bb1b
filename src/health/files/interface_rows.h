// SPDX-License-Identifier: BSD-3-Clause
//
// Where one interface counts: a row of its own and one for each host that it has links to. Used by
// one thread at a time.
#ifndef VERITY_HEALTH_FILES_INTERFACE_ROWS_H
#define VERITY_HEALTH_FILES_INTERFACE_ROWS_H

#include <string>
#include <string_view>
#include <unordered_map>

#include "health/files/table.h"

namespace verity::health {

class InterfaceRows {
 public:
  // `table` outlives this. Throws std::bad_alloc.
  InterfaceRows(Table& table, std::string transport, std::string device, std::uint64_t now_ns,
                bool injected = false)
      : table_(table),
        transport_(std::move(transport)),
        device_(std::move(device)),
        own_(table.open_interface({transport_, device_, injected}, now_ns)),
        injected_(injected) {}
  ~InterfaceRows();
  InterfaceRows(const InterfaceRows&) = delete;
  InterfaceRows& operator=(const InterfaceRows&) = delete;

  // What belongs to no peer.
  [[nodiscard]] Counters& own() const noexcept { return own_; }
  // What belongs to links to `host`; without one, or without room for it, a row that others share.
  [[nodiscard]] Counters& peer(HostId host, std::uint64_t now_ns) noexcept;
  [[nodiscard]] Counters& peer(std::string_view name, std::uint64_t now_ns) noexcept {
    return peer(table_.host_id(name), now_ns);
  }

 private:
  [[nodiscard]] Path path() const noexcept { return {transport_, device_, injected_}; }

  Table& table_;
  const std::string transport_;
  const std::string device_;
  Counters& own_;
  Counters* others_ = nullptr;
  std::unordered_map<HostId, Counters*> peers_;
  const bool injected_;
};

}  // namespace verity::health

#endif
