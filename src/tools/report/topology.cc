// SPDX-License-Identifier: BSD-3-Clause
#include "tools/report/topology.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <utility>

#include "util/text.h"

namespace verity::tools {
namespace {

// Takes the text up to the separator, or all of it.
std::string_view take(std::string_view& text, char separator) {
  const std::size_t end = std::min(text.find(separator), text.size());
  const std::string_view piece = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return piece;
}

// Takes a NAME = VALUE as Slurm reads it: blanks and tabs are all the same, also around the sign,
// and none ends what stands in quotes. A pair without a name: there is none left.
std::pair<std::string_view, std::string_view> take_pair(std::string_view& line) {
  constexpr std::string_view kBlanks = " \t\r";
  std::string_view name = util::trimmed(take(line, '='));
  name.remove_prefix(name.find_last_of(kBlanks) + 1);  // npos + 1 is 0
  line = util::trimmed(line);
  if (line.starts_with('"')) {
    line.remove_prefix(1);
    return {name, take(line, '"')};
  }
  const std::string_view value = line.substr(0, line.find_first_of(kBlanks));
  line.remove_prefix(value.size());
  return {name, value};
}

bool same_word(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](unsigned char x, unsigned char y) {
    return std::tolower(x) == std::tolower(y);
  });
}

bool number_of(std::string_view text, std::uint64_t* number, int base = 10) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number, base);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

std::string short_host(std::string_view host) {
  return std::string(host.substr(0, host.find('.')));
}

// "03", "7", "01-12" between the brackets of a host list.
bool add_range(const std::string& prefix, std::string_view range, std::size_t most,
               std::vector<std::string>* hosts) {
  const std::string_view first_text = take(range, '-');
  const std::string_view last_text = range.empty() ? first_text : range;
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  if (!number_of(first_text, &first) || !number_of(last_text, &last) || last < first ||
      last - first >= most - std::min(most, hosts->size())) {
    return false;
  }
  for (std::uint64_t i = 0; i <= last - first; ++i) {
    std::string digits = std::to_string(first + i);
    if (digits.size() < first_text.size()) digits.insert(0, first_text.size() - digits.size(), '0');
    hosts->push_back(prefix + digits);
  }
  return true;
}

// Up to the next comma outside brackets.
std::string_view take_item(std::string_view& list) {
  std::size_t end = 0;
  for (bool inside = false; end < list.size() && (inside || list[end] != ','); ++end)
    inside = list[end] == '[' || (inside && list[end] != ']');
  const std::string_view item = util::trimmed(list.substr(0, end));
  list.remove_prefix(std::min(end + 1, list.size()));
  return item;
}

// Each name with `text` and, where there are ranges, with each number of them.
bool append(std::string_view text, std::string_view ranges, std::size_t most,
            std::vector<std::string>* names) {
  std::vector<std::string> longer;
  for (const std::string& name : *names) {
    if (ranges.empty()) longer.push_back(name + std::string(text));
    for (std::string_view rest = ranges; !rest.empty();) {
      if (!add_range(name + std::string(text), take(rest, ','), most, &longer)) return false;
    }
  }
  *names = std::move(longer);
  return true;
}

// Slurm's lines end with a backslash when they go on.
std::string next_line(std::string_view& text) {
  std::string line;
  do {
    if (!line.empty()) line.pop_back();
    line += util::trimmed(take(text, '\n'));
  } while (!text.empty() && line.ends_with('\\'));
  return line.substr(0, line.find('#'));
}

// The text in the first quotes behind `from`.
std::string_view quoted(std::string_view line, std::size_t from = 0) {
  const std::size_t open = line.find('"', from);
  const std::size_t close = open == std::string_view::npos ? open : line.find('"', open + 1);
  return close == std::string_view::npos ? std::string_view()
                                         : line.substr(open + 1, close - open - 1);
}

std::uint32_t lid_of(std::string_view line) {
  const std::size_t at = line.find(" lid ");
  if (at == std::string_view::npos) return 0;
  std::uint32_t lid = 0;
  (void)std::from_chars(line.data() + at + 5, line.data() + line.size(), lid);
  return lid;
}

// `[1](2c90300001491)  "S-0002c902400c1234"[5]  # lid 12 lmc 0 "leaf1" lid 2 4xQDR` of a channel
// adapter that is called "node3 mlx5_0".
Plug plug_of(std::string_view line, std::string_view adapter) {
  const std::size_t comment = std::min(line.find('#'), line.size());
  std::string_view head = line.substr(0, comment);
  Plug plug;
  plug.lid = lid_of(line.substr(comment));
  const std::string_view node = quoted(head);
  if (!node.starts_with("S-")) return plug;  // the other end is no switch
  plug.switch_name = quoted(line, comment);
  if (plug.switch_name.empty()) plug.switch_name = node;
  const std::size_t open = head.rfind('[');
  if (open != std::string_view::npos)
    plug.switch_port = head.substr(open + 1, head.find(']', open) - open - 1);
  const std::size_t guid = head.find("](");
  std::uint64_t number = 0;
  if (guid != std::string_view::npos &&
      number_of(head.substr(guid + 2, head.find(')', guid) - guid - 2), &number, 16)) {
    char text[19] = "0x0000000000000000";
    for (int i = 17; number != 0; --i, number >>= 4) text[i] = "0123456789abcdef"[number & 15];
    plug.guid = text;
  }
  if (!adapter.empty())
    plug.device = std::string(adapter) + ":" + std::string(head.substr(1, head.find(']') - 1));
  return plug;
}

}  // namespace

std::string expand_hosts(std::string_view list, std::size_t most,
                         std::vector<std::string>* hosts_p) {
  const std::string whole(list);
  while (!list.empty()) {
    std::string_view item = take_item(list);
    if (item.empty()) continue;
    std::vector<std::string> names{""};
    while (!item.empty()) {
      const bool has_ranges = item.find('[') != std::string_view::npos;
      const std::string_view before = take(item, '[');
      const bool is_closed = item.find(']') != std::string_view::npos;
      const std::string_view ranges = has_ranges && is_closed ? take(item, ']') : "";
      if (has_ranges == ranges.empty() ||
          !append(before, ranges, most - std::min(most, hosts_p->size()), &names))
        return "no host list: " + whole;
    }
    hosts_p->insert(hosts_p->end(), names.begin(), names.end());
    if (hosts_p->size() > most) return "too many hosts";
  }
  return {};
}

void Topology::add(const std::string& host, Plug plug) {
  if (plug.switch_name.empty() || host.empty() ||
      (plugs_.size() >= kMostHosts && !plugs_.contains(host)))
    return;
  std::vector<Plug>& plugs = plugs_[host];
  const bool is_new = std::none_of(
      plugs.begin(), plugs.end(), [&](const Plug& p) { return p.switch_name == plug.switch_name; });
  if (is_new) ++hosts_of_switch_[plug.switch_name];
  plugs.push_back(std::move(plug));
}

std::string Topology::parse_slurm(std::string_view text) {
  while (!text.empty()) {
    const std::string whole = next_line(text);
    std::string_view line = whole;
    std::string name;
    std::vector<std::string> hosts;
    while (!line.empty()) {
      const auto [key, value] = take_pair(line);
      if (same_word(key, "SwitchName")) name = value;
      if (!same_word(key, "Nodes")) continue;
      if (std::string problem = expand_hosts(value, kMostHosts, &hosts); !problem.empty())
        return problem;
    }
    for (const std::string& host : hosts) add(short_host(host), {.switch_name = name});
  }
  return {};
}

void Topology::parse_ibnetdiscover(std::string_view text) {
  std::string host;  // of the channel adapter whose ports follow; empty: a switch's
  std::string adapter;
  while (!text.empty()) {
    const std::string_view line = util::trimmed(take(text, '\n'));
    if (line.starts_with("Ca")) {
      std::string_view description = quoted(line, std::min(line.find('#'), line.size()));
      host = short_host(take(description, ' '));
      adapter = util::trimmed(description);
    } else if (line.starts_with("Switch") || line.starts_with("Rt")) {
      host.clear();
    } else if (line.starts_with('[') && !host.empty()) {
      add(host, plug_of(line, adapter));
    }
  }
}

std::string Topology::parse(std::string_view text) {
  // Both call a switch one, at the begin of a line.
  if (text.find("\nCa\t") != std::string_view::npos ||
      text.find("\nCa ") != std::string_view::npos || text.starts_with("Ca")) {
    parse_ibnetdiscover(text);
  } else if (std::string problem = parse_slurm(text); !problem.empty()) {
    return problem;
  }
  return plugs_.empty() ? "no host in it: neither Slurm's topology.conf (SwitchName=leaf1 "
                          "Nodes=node[1-18]) nor ibnetdiscover's output"
                        : "";
}

std::optional<Plug> Topology::find(const std::string& host, std::string_view device) const {
  const auto found = plugs_.find(short_host(host));
  if (found == plugs_.end()) return std::nullopt;
  const std::vector<Plug>& plugs = found->second;
  device.remove_prefix(std::min(device.find('/') + 1, device.size()));
  for (const Plug& plug : plugs) {
    if (plug.device == device) return plug;
  }
  // The adapter may be called otherwise there (HCA-1). A host's only port is that one; of several
  // the switch alone is known, if it is one.
  if (plugs.size() == 1) return plugs.front();
  const std::string& name = plugs.front().switch_name;
  const bool one =
      std::all_of(plugs.begin(), plugs.end(), [&](const Plug& p) { return p.switch_name == name; });
  return one ? std::optional(Plug{.switch_name = name}) : std::nullopt;
}

std::size_t Topology::hosts_of(const std::string& switch_name) const {
  const auto found = hosts_of_switch_.find(switch_name);
  return found == hosts_of_switch_.end() ? 0 : found->second;
}

}  // namespace verity::tools
