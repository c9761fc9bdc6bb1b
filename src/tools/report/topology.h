// SPDX-License-Identifier: BSD-3-Clause
//
// Which hosts are attached to which switch, from a file of the site: Slurm's topology.conf, or what
// ibnetdiscover prints.
#ifndef VERITY_TOOLS_REPORT_TOPOLOGY_H
#define VERITY_TOOLS_REPORT_TOPOLOGY_H

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace verity::tools {

// Where a host's port is plugged in, as far as the file says.
struct Plug {
  std::string switch_name;
  std::string switch_port{};  // "5"; empty: topology.conf does not say
  std::string device{};       // "mlx5_0:1"; empty: all of the host
  std::string guid{};         // of the host's port
  std::uint32_t lid = 0;
};

class Topology {
 public:
  static constexpr std::size_t kMostHosts = 1'000'000;

  // Returns what is wrong with the text, or an empty one.
  [[nodiscard]] std::string parse(std::string_view text);

  [[nodiscard]] bool empty() const noexcept { return plugs_.empty(); }
  // Of a device ("vrc_mlx5/mlx5_0:1") of a host, whose name may be longer than the file's by its
  // domain. Nothing: it is not in the file.
  [[nodiscard]] std::optional<Plug> find(const std::string& host, std::string_view device) const;
  // Hosts of a switch, in the file.
  [[nodiscard]] std::size_t hosts_of(const std::string& switch_name) const;

 private:
  void add(const std::string& host, Plug plug);
  [[nodiscard]] std::string parse_slurm(std::string_view text);
  void parse_ibnetdiscover(std::string_view text);

  std::map<std::string, std::vector<Plug>> plugs_;  // by host, without its domain
  std::map<std::string, std::size_t> hosts_of_switch_;
};

// "node[01-03,7],login" as names; empty and an error text when it is no host list, or of more than
// `most` hosts.
[[nodiscard]] std::string expand_hosts(std::string_view list, std::size_t most,
                                       std::vector<std::string>* hosts_p);

}  // namespace verity::tools

#endif
