// SPDX-License-Identifier: BSD-3-Clause
//
// The ledger as a file. Counters by name, so that versions with other counters read it; numbers
// that are missing are 0.
#include <nlohmann/json.hpp>

#include "tools/export/ledger.h"

namespace verity::tools {
namespace {

using nlohmann::json;

constexpr int kSchema = 1;

// A file's name is any bytes, and JSON text is not: each byte is the character of that number.
std::string text_of(const std::string& name) {
  std::string text;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) {
      text += c;
    } else {
      text += {static_cast<char>(0xc0 | (byte >> 6)), static_cast<char>(0x80 | (byte & 0x3f))};
    }
  }
  return text;
}

std::string name_of(const std::string& text) {
  std::string name;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const bool is_pair = (byte == 0xc2 || byte == 0xc3) && i + 1 < text.size();
    if (is_pair) ++i;
    name += is_pair ? static_cast<char>(((byte & 3) << 6) | (text[i] & 0x3f)) : text[i];
  }
  return name;
}

json json_of(const health::PathKey& key) {
  return json::array({key.transport, key.device, key.peer, key.injected, key.user});
}

health::PathKey key_of(const json& value) {
  return {value.at(0).get<std::string>(), value.at(1).get<std::string>(),
          value.at(2).get<std::string>(), value.size() > 3 && value.at(3).get<bool>(),
          value.size() > 4 ? value.at(4).get<std::uint32_t>() : kNoUser};
}

json json_of(const Troubles& troubles) {
  json list = json::array();
  for (const auto& [key, trouble] : troubles) {
    list.push_back({json_of(key), trouble.bytes, trouble.in, trouble.out, trouble.memory});
  }
  return list;
}

Troubles troubles_of(const json& list) {
  Troubles troubles;
  for (const json& item : list) {
    troubles.place(key_of(item.at(0))) += {.bytes = item.at(1).get<std::uint64_t>(),
                                           .in = item.at(2).get<std::uint64_t>(),
                                           .out = item.at(3).get<std::uint64_t>(),
                                           .memory = item.at(4).get<std::uint64_t>()};
  }
  return troubles;
}

json json_of(const health::PathSums& paths) {
  json list = json::array();
  for (const auto& [key, counters] : paths) {
    json values = json::object();
    for (const health::CounterInfo& info : health::kCounterInfo) {
      if (counters.*info.field != 0) values[std::string(info.name)] = counters.*info.field;
    }
    list.push_back({json_of(key), values});
  }
  return list;
}

health::PathSums paths_of(const json& list) {
  health::PathSums paths;
  for (const json& item : list) {
    health::PathKey key = key_of(item.at(0));
    key.user = 0;
    health::Counters& counters = paths[key];
    for (const health::CounterInfo& info : health::kCounterInfo) {
      counters.*info.field = item.at(1).value(std::string(info.name), std::uint64_t{0});
    }
  }
  return paths;
}

Ledger ledger_of(const json& root) {
  Ledger ledger;
  ledger.ended = paths_of(root.at("ended"));
  ledger.ended_trouble = troubles_of(root.at("ended_trouble"));
  for (const json& name : root.at("taken")) ledger.taken.insert(name_of(name.get<std::string>()));
  for (const json& name : root.value("folders", json::array()))
    ledger.folders.insert(name_of(name.get<std::string>()));
  ledger.seen = troubles_of(root.at("seen"));
  ledger.counted = paths_of(root.value("counted", json::array()));
  ledger.seen_paths = paths_of(root.value("seen_paths", json::array()));
  ledger.boot = root.value("boot", std::string());
  ledger.host = root.value("host", std::string());
  ledger.written = root.value("written", std::uint64_t{0});
  ledger.behind_since = root.value("behind_since", std::uint64_t{0});
  ledger.ahead_since = root.value("ahead_since", std::uint64_t{0});
  for (const json& key : root.value("shown", json::array())) ledger.shown.insert(key_of(key));
  for (const json& series : root.value("begun", json::array()))
    ledger.begun[key_of(series.at(0))] = series.at(1).get<std::uint64_t>();
  for (const json& hour : root.at("hours"))
    ledger.hours[hour.at(0).get<std::uint64_t>()] = troubles_of(hour.at(1));
  return ledger;
}

}  // namespace

std::string to_json(const Ledger& ledger) {
  json hours = json::array();
  for (const auto& [hour, troubles] : ledger.hours) hours.push_back({hour, json_of(troubles)});
  json shown = json::array();
  for (const health::PathKey& key : ledger.shown) shown.push_back(json_of(key));
  json begun = json::array();
  for (const auto& [key, since] : ledger.begun) begun.push_back({json_of(key), since});
  json taken = json::array();
  for (const std::string& name : ledger.taken) taken.push_back(text_of(name));
  json folders = json::array();
  for (const std::string& name : ledger.folders) folders.push_back(text_of(name));
  const json root = {{"schema", kSchema},
                     {"ended", json_of(ledger.ended)},
                     {"ended_trouble", json_of(ledger.ended_trouble)},
                     {"taken", taken},
                     {"folders", folders},
                     {"seen", json_of(ledger.seen)},
                     {"counted", json_of(ledger.counted)},
                     {"seen_paths", json_of(ledger.seen_paths)},
                     {"boot", ledger.boot},
                     {"host", ledger.host},
                     {"written", ledger.written},
                     {"behind_since", ledger.behind_since},
                     {"ahead_since", ledger.ahead_since},
                     {"shown", shown},
                     {"begun", begun},
                     {"hours", hours}};
  return root.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

std::string from_json(std::string_view text, Ledger* ledger_p) {
  const json root = json::parse(text, nullptr, false);
  if (!root.is_object()) return "it is no JSON object";
  try {
    if (root.at("schema") != kSchema) return "it is of another version (schema)";
    *ledger_p = ledger_of(root);
  } catch (const json::exception& error) { return error.what(); }
  return {};
}

}  // namespace verity::tools
