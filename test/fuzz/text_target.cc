// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "automap/plan/directive.h"
#include "fuzz/targets.h"
#include "tools/export/ledger.h"
#include "tools/report/topology.h"
#include "types/expression.h"
#include "types/layout.h"

namespace verity::fuzz {

namespace {

using Words = std::vector<std::string_view>;

bool is_printable(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return c >= 0x20 && c != 0x7f; });
}

void read_topology(const std::string& text) {
  tools::Topology topology;
  const std::string problem = topology.parse(text);
  require(problem.size() < 1000 || problem.size() < text.size() + 1000, "a problem is too long");
  if (!problem.empty()) return;
  for (const char* host : {"n1", "n01", "leaf.domain", ""})
    (void)topology.find(host, "vrc_mlx5/mlx5_0:1");
  (void)topology.hosts_of("leaf1");
}

void read_ledger(const std::string& text) {
  tools::Ledger ledger;
  if (!tools::from_json(text, &ledger).empty()) return;
  const std::string written = tools::to_json(ledger);
  tools::Ledger again;
  require(tools::from_json(written, &again).empty(), "a ledger does not read what it wrote");
  require(tools::to_json(again) == written, "a ledger is another one when it was read again");
  const tools::Totals totals = tools::totals_of(ledger);
  tools::observe(ledger, totals, 3'600'000'000);
  tools::grow(ledger, totals);
  auto faults = tools::recent(ledger, totals, 3'600'000'000, 24);
  (void)tools::leave_out_injected(faults);
}

// Items of a ledger's lists, as few texts are a whole one.
void read_ledger_items(const std::string& text) {
  std::string ledger = R"({"schema":1)";
  size_t from = 0;
  for (const char* name : {"ended", "counted", "seen_paths", "ended_trouble", "seen", "taken",
                           "shown", "begun", "hours"}) {
    const size_t end = std::min(text.find('|', from), text.size());
    ledger += std::string(",\"") + name + "\":[" + text.substr(from, end - from) + "]";
    from = std::min(end + 1, text.size());
  }
  read_ledger(ledger + "}");
}

void read_type(const std::string& text) {
  signature::Type type;
  require(is_printable(types::parse_type(text, &type)) || !is_printable(text),
          "a problem is not printable");
  (void)type.signature(1, signature::Level::kNames);
}

void read_layout(const std::string& text) {
  types::Layout layout;
  const std::string problem = types::parse_layout(text, &layout);
  require(is_printable(problem) || !is_printable(text), "a problem is not printable");
  require(!problem.empty() || layout.basic.size != 0, "a layout without a basic type");
}

void read_displacements(const std::string& text) {
  types::Layout layout;
  const auto basic = signature::find_basic("MPI_INT");
  const std::string problem = types::parse_displacements(text, *basic, &layout);
  require(is_printable(problem) || !is_printable(text), "a problem is not printable");
}

void read_directives(const std::string& text) {
  std::vector<automap::OutsideDirective> all;
  const std::string problem = automap::parse_directive_file("d", text, &all);
  require(problem.empty() || problem.starts_with("d:"), "a problem without its line");
}

struct Kind {
  void (*read)(const std::string&);
  Words words;  // what is in such texts, as few random bytes make one
};

const std::array<Kind, 8>& kinds() {
  static const std::array<Kind, 8> all = {{
      {read_topology,
       {"SwitchName=", "leaf1", " ", "Nodes=", "Switches=", "n[", "0-", "1", "07", "99999999", "]",
        ",", "\n", "#", "login", " LinkSpeed=900", "\\"}},
      {read_topology,
       {"Switch\t36 \"S-0002c902400c1234\"", "\t\t# \"leaf1\" enhanced port 0 lid 2 lmc 0\n", "[1]",
        "\t\"H-0002c90300fee1d0\"", "[1](", "2c90300fee1d1)", " \t\t# \"n1 mlx5_0\" lid 12 4xHDR\n",
        "Ca\t1 \"H-", "\"", "\n", "#", "switchguid=0x", "[", "(", ")"}},
      {read_ledger,
       {"{", "}", "[", "]", ",", ":", "\"schema\":1", "\"ended\"", "\"hours\"", "\"written\":", "7",
        "-1", "1e99", "null"}},
      {read_ledger_items,
       {"|",
        "|",
        "|",
        ",",
        ",",
        "[",
        "]",
        R"(["vtcp","lo","",false,0])",
        R"([["vtcp","lo","",false,7],{"bytes_verified":7,"faults_payload":3}])",
        R"([["vfposix","memory"," n1",true,0],{"faults_header":18446744073709551615}])",
        R"([["vtcp","lo","n1",false,0],1,2,3,4])",
        R"([["vtcp","lo","n2",true],1,2,3,4])",
        R"([1000000,[[["vtcp","lo","n2",true],1,2,3,4]]])",
        R"("/dev/shm/a")",
        R"("\u00e9")",
        R"([["vtcp","lo",""],18446744073709551615])",
        "1000000",
        "-1",
        "true",
        "null"}},
      {read_type,
       {"{", "}", ",", " ", "x", "3", "0", "18446744073709551615", "99", "int", "double",
        "MPI_CHAR", "MPI_2INT", "long double", "-"}},
      {read_layout,
       {"contiguous(",
        "vector(",
        "MPI_Type_create_hvector(",
        "indexed_block(",
        "hindexed_block(",
        "indexed(",
        "hindexed(",
        "subarray(",
        "resized(",
        "dup(",
        "<",
        ">",
        ",",
        ")",
        " ",
        "1",
        "2",
        "-3",
        "0",
        "2305843009213693952",
        "MPI_INT",
        "MPI_SHORT",
        "MPI_CHAR"}},
      {read_displacements, {"<", ">", ",", " ", "\n", "0", "1", "2", "-7", "99999999999999999999"}},
      {read_directives,
       {"struct ", "a", "b", ".", "*", ":", " ", "\n", "#", "ignore", "bytes", "count", "=",
        "owned", "reference", "3", "(", ")", "n + 1"}},
  }};
  return all;
}

}  // namespace

// The first byte: of what kind the text is, and whether the others are its bytes or the numbers of
// words.
void text_target(const uint8_t* data, size_t size) {
  Input input(data, size);
  const uint8_t how = input.u8();
  const Kind& kind = kinds()[(how >> 1) % kinds().size()];
  std::string text;
  while (!input.empty()) {
    const uint8_t next = input.u8();
    if ((how & 1) != 0 || next == 0xff) {
      text += static_cast<char>(next == 0xff ? input.u8() : next);
    } else {
      text += kind.words[next % kind.words.size()];
    }
  }
  kind.read(text);
}

}  // namespace verity::fuzz
