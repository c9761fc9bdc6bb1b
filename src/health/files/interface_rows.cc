// SPDX-License-Identifier: BSD-3-Clause
#include "health/files/interface_rows.h"

namespace verity::health {

InterfaceRows::~InterfaceRows() {
  table_.close(own_);
  if (others_ != nullptr) table_.close(*others_);
  for (const auto& [host, row] : peers_) table_.close(*row);
}

Counters& InterfaceRows::peer(HostId host, std::uint64_t now_ns) noexcept {
  if (host != 0) {
    try {
      Counters*& row = peers_[host];
      if (row == nullptr) row = table_.open_peer(path(), host, now_ns);
      if (row != nullptr) return *row;
      peers_.erase(host);
    } catch (...) {  // no memory to record it
    }
  }
  if (others_ == nullptr) others_ = table_.open_others(path(), now_ns);
  return others_ != nullptr ? *others_ : own_;
}

}  // namespace verity::health
