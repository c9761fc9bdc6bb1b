// SPDX-License-Identifier: BSD-3-Clause
//
// `verity-types sig`: the tables of the papers on datatype signatures, made again.
#include <cstdio>
#include <memory>

#include "types/commands.h"
#include "types/tables/report.h"

namespace verity::types {

namespace {

using tables::all_hashes;

CensusReport census_report(const char* command, SampleSet set, bool with_paper) {
  CensusReport report{.command = command, .set = std::move(set), .rows = {}};
  std::vector<Sequence> sequences;
  for (const Sample& sample : report.set.samples) sequences.push_back(expand(sample));
  report.different = count_distinct(sequences);
  report.rows = take_census(report.set, all_hashes());
  if (!with_paper) return report;
  for (Census& row : report.rows) row.paper = langou_table1(row.hash.name);
  return report;
}

int print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  return kExitOk;
}

int run_table1(bool as_json) {
  const CensusReport report = census_report("verity-types sig table1", langou_samples(), true);
  if (as_json) return print(render_census_json(report));
  return print(render_census(report) + render_order(report.rows));
}

int run_table2(bool as_json) {
  const std::vector<Series> all = measure(all_hashes());
  return print(as_json ? render_timing_json(all) : render_timing(all));
}

int run_gropp(bool as_json) {
  const CensusReport report = census_report("verity-types sig gropp", gropp_samples(), false);
  if (as_json) return print(render_census_json(report));
  return print(render_census(report) +
               "\nThe paper's row with the fewest collisions, '+' with rotation (gropp-add), is\n"
               "not associative: ambig% of correct programs' types would be flagged.\n");
}

void add_table(CLI::App* sig, const char* name, const char* about, int (*run)(bool),
               int* exit_code) {
  auto as_json = std::make_shared<bool>(false);
  CLI::App* command = sig->add_subcommand(name, about);
  command->add_flag("--json", *as_json, "Print JSON");
  command->callback([=] { *exit_code = run(*as_json); });
}

}  // namespace

void add_sig_command(CLI::App& app, int* exit_code) {
  CLI::App* sig = app.add_subcommand("sig", "Signatures of datatypes, and the published hashes");
  sig->callback([sig] {
    if (sig->get_subcommands().empty()) {
      throw CLI::RequiredError("A command (table1, table2, gropp or of)");
    }
  });
  add_table(sig, "table1", "Collisions, beside Langou et al. 2005, Table 1", run_table1, exit_code);
  add_table(sig, "table2", "Time of concat and repeat as types grow", run_table2, exit_code);
  add_table(sig, "gropp", "Collisions on a sample of the size of Gropp 2000's", run_gropp,
            exit_code);
  add_of_command(*sig, exit_code);
}

}  // namespace verity::types
