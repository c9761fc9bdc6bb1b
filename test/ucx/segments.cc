// SPDX-License-Identifier: BSD-3-Clause
//
// The variables by which the plugin makes lower transports' buffers larger
// (src/uct/compat/segments.h) are those of this UCX: each that a transport has is read, set, and
// read again. Needs no device: the transports' tables are there without. Prints TAP.
#include <ucs/config/parser.h>
#include <uct/api/uct.h>

#include <cstdio>
#include <memory>
#include <string>

#include "uct/compat/segments.h"

namespace {

constexpr size_t kMostOfTable = 1 << 16;

using Entry = ucs_config_global_list_entry_t;

// Two functions of UCX take other arguments from 1.15 and from 1.17 on: whichever this one has.
[[maybe_unused]] ucs_status_t fill(ucs_status_t (*function)(void*, ucs_config_field_t*, const char*,
                                                            const char*, int),
                                   void* data, const Entry& entry) {
  return function(data, entry.table, "UCX_", entry.prefix, 0);
}
[[maybe_unused]] ucs_status_t fill(ucs_status_t (*function)(void*, Entry*, const char*, int),
                                   void* data, const Entry& entry) {
  return function(data, const_cast<Entry*>(&entry), "UCX_", 0);
}
[[maybe_unused]] ucs_status_t set_in(ucs_status_t (*function)(void*, ucs_config_field_t*,
                                                              const char*, const char*),
                                     void* data, const Entry& entry, const char* name,
                                     const char* value) {
  return function(data, entry.table, name, value);
}
[[maybe_unused]] ucs_status_t set_in(
    ucs_status_t (*function)(void*, ucs_config_field_t*, const char*, const char*, const char*),
    void* data, const Entry& entry, const char* name, const char* value) {
  return function(data, entry.table, entry.prefix, name, value);
}

// One transport's configuration, as it is by default.
class Table {
 public:
  explicit Table(const Entry& entry) : entry_(entry), data_(new char[kMostOfTable]()) {
    filled_ = fill(ucs_config_parser_fill_opts, data_.get(), entry) == UCS_OK;
  }
  ~Table() {
    if (filled_) ucs_config_parser_release_opts(data_.get(), entry_.table);
  }
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  [[nodiscard]] std::string get(const char* name) const {
    char text[64] = "";
    const bool found = filled_ && ucs_config_parser_get_value(data_.get(), entry_.table, name, text,
                                                              sizeof(text)) == UCS_OK;
    return found ? text : "";
  }
  // As the plugin sets it: by its name, or, for UCX from 1.17 on, with the transport's prefix.
  [[nodiscard]] bool set(const std::string& name, const char* value) {
    const auto set_named = [&](const std::string& full) {
      return set_in(ucs_config_parser_set_value, data_.get(), entry_, full.c_str(), value) ==
             UCS_OK;
    };
    return set_named(name) || set_named(entry_.prefix + name);
  }

 private:
  const Entry& entry_;
  std::unique_ptr<char[]> data_;
  bool filled_;
};

// Of the variables that this transport has, whether all can be set, and how many there are.
bool all_grow(const ucs_config_global_list_entry_t& entry, unsigned* count) {
  for (const auto& variable : verity::uct::kSegmentVariables) {
    Table table(entry);
    if (table.get(variable.read).empty()) continue;
    ++*count;
    if (!table.set(variable.set, "12345") || table.get(variable.read) != "12345") return false;
  }
  return true;
}

const ucs_config_global_list_entry_t* find(const std::string& name) {
  ucs_config_global_list_entry_t* entry;
  ucs_list_for_each(entry, &ucs_config_global_list, list) {
    if (entry->name == name + " transport") return entry;
  }
  return nullptr;
}

}  // namespace

int main() {
  // Has UCX load the transports' modules.
  uct_component_h* components;
  unsigned count;
  if (uct_query_components(&components, &count) == UCS_OK) uct_release_component_list(components);
  unsigned tests = 0;
  for (const char* name : {"self", "tcp", "posix", "sysv", "rc_verbs", "rc_mlx5", "dc_mlx5"}) {
    const auto* entry = find(name);
    unsigned variables = 0;
    if (entry == nullptr) {
      std::printf("ok %u - %s # SKIP this UCX has no %s\n", ++tests, name, name);
      continue;
    }
    const bool good = all_grow(*entry, &variables) && variables != 0;
    std::printf("%s %u - %s: the size of its buffers can be read and set\n", good ? "ok" : "not ok",
                ++tests, name);
  }
  std::printf("1..%u\n", tests);
}
