// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/collective_report.h"

#include <ctime>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "health/text.h"
#include "mpi/findings.h"
#include "mpi/reduction.h"
#include "mpi/report.h"
#include "mpi/sites.h"
#include "mpi/state.h"

namespace verity::mpi {

const char* collective_name(Collective operation, bool nonblocking) noexcept {
#define VERITY_NAME(enumerator, name) "MPI_" #name,
  static const char* const kBlocking[] = {"a collective operation", VERITY_COLLECTIVES(VERITY_NAME)};
#undef VERITY_NAME
  // MPI_Ibcast: an I in front, and a small letter.
  static const auto& nonblocking_names = *new std::vector<std::string>([] {
    std::vector<std::string> names;
    for (const char* name : kBlocking) {
      std::string made(name);
      if (made.starts_with("MPI_")) made = "MPI_I" + std::string(1, static_cast<char>(made[4] | 0x20)) + made.substr(5);
      names.push_back(made);
    }
    return names;
  }());
  const auto index = static_cast<size_t>(operation);
  if (index >= static_cast<size_t>(Collective::kLast)) return kBlocking[0];
  return nonblocking ? nonblocking_names[index].c_str() : kBlocking[index];
}

namespace {

std::string call_in_words(const CollectiveSide& side) {
  std::string text = collective_name(side.operation, side.nonblocking);
  std::string arguments;
  const auto add = [&](const std::string& argument) { arguments += (arguments.empty() ? "" : ", ") + argument; };
  if (!side.type.empty()) add(side.type);
  if (side.reduction != kNoReduction) add(reduction_name(side.reduction));
  if (side.root >= 0) add("root " + std::to_string(side.root));
  return arguments.empty() ? text : text + " (" + arguments + ")";
}

std::string line(const CollectiveSide& side) {
  const std::string who = side.rank < 0 ? "another rank" : "rank " + std::to_string(side.rank);
  return "  " + who + std::string(who.size() < 11 ? 11 - who.size() : 1, ' ') + call_in_words(side) + "\n             in " +
         site_in_words(side.site) + "\n";
}

std::string json(const CollectiveSide& side) {
  return "{\"rank\":" + std::to_string(side.rank) +
         ",\"call\":" + health::json_string(collective_name(side.operation, side.nonblocking)) +
         ",\"root\":" + (side.root < 0 ? "null" : std::to_string(side.root)) +
         ",\"reduction\":" + (side.reduction == kNoReduction ? "null" : health::json_string(reduction_name(side.reduction))) +
         ",\"type\":" + (side.type.empty() ? "null" : health::json_string(side.type)) +
         ",\"site\":" + health::json_string(site_in_words(side.site)) + "}";
}

bool is_first(const CollectiveFinding& finding) {
  using Key = std::tuple<uint64_t, uint64_t, Collective, Collective, std::string>;
  static auto& told = *new std::set<Key>;
  return told.insert({finding.theirs.site, finding.own.site, finding.theirs.operation, finding.own.operation, finding.difference}).second;
}

}  // namespace

void report_collective(const CollectiveFinding& finding) {
  add_collective_mismatch();
  if (!is_first(finding)) return;
  const std::string comm = finding.comm.empty() ? "a communicator without a name" : finding.comm;
  const std::string number = std::to_string(finding.number);
  print("ucx-verity: mismatch in a collective operation (" + comm + ", call " + number + ")\n" + line(finding.theirs) +
        line(finding.own) + "  difference: " + finding.difference + "\n");
  if (settings().log == nullptr) return;
  append_to_log("{\"event\":\"collective_mismatch\",\"time\":" + std::to_string(std::time(nullptr)) +
                ",\"communicator\":" + health::json_string(comm) + ",\"call\":" + number + ",\"other\":" + json(finding.theirs) +
                ",\"own\":" + json(finding.own) + ",\"difference\":" + health::json_string(finding.difference) + "}\n");
}

}  // namespace verity::mpi
