// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/collectives/report.h"

#include <ctime>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "health/text.h"
#include "mpi/check/findings.h"
#include "mpi/check/report.h"
#include "mpi/collectives/reduction.h"
#include "mpi/process/this_process.h"
#include "mpi/sites/sites.h"

namespace verity::mpi {

#ifdef VERITY_MPI4_CALLS
#define VERITY_INIT_PREFIX "MPI_"
#else
#define VERITY_INIT_PREFIX "MPIX_"
#endif

namespace {

const char* blocking_name(size_t operation) noexcept {
#define VERITY_NAME(enumerator, name) "MPI_" #name,
  static const char* const kBlocking[] = {"a collective operation",
                                          VERITY_COLLECTIVES(VERITY_NAME)};
#undef VERITY_NAME
  return kBlocking[operation < static_cast<size_t>(Collective::kLast) ? operation : 0];
}

// MPI_Ibcast: an I in front, and a small letter. MPI_Bcast_init, which had another prefix before
// MPI 4 had it.
std::string derived_name(std::string_view blocking, Form form) {
  if (!blocking.starts_with("MPI_")) return std::string(blocking);
  const std::string_view name = blocking.substr(4);
  if (form == Form::kPersistent) return VERITY_INIT_PREFIX + std::string(name) + "_init";
  return "MPI_I" + std::string(1, static_cast<char>(name[0] | 0x20)) + std::string(name.substr(1));
}

const std::vector<std::string>& derived_names(Form form) {
  const auto make = [](Form of) {
    auto& names = *new std::vector<std::string>;
    for (size_t i = 0; i < static_cast<size_t>(Collective::kLast); ++i)
      names.push_back(derived_name(blocking_name(i), of));
    return &names;
  };
  static const auto* const nonblocking = make(Form::kNonblocking);
  static const auto* const persistent = make(Form::kPersistent);
  return form == Form::kPersistent ? *persistent : *nonblocking;
}

}  // namespace

const char* collective_name(Collective operation, Form form) noexcept {
  const auto index = static_cast<size_t>(operation);
  if (form == Form::kBlocking || index >= static_cast<size_t>(Collective::kLast))
    return blocking_name(index);
  return derived_names(form)[index].c_str();
}

namespace {

std::string call_in_words(const CollectiveSide& side) {
  std::string text = collective_name(side.operation, side.form);
  std::string arguments;
  const auto add = [&](const std::string& argument) {
    arguments += (arguments.empty() ? "" : ", ") + argument;
  };
  if (!side.type.empty()) add(side.type);
  if (side.reduction != kNoReduction) add(reduction_name(side.reduction));
  if (side.root >= 0) add("root " + std::to_string(side.root));
  return arguments.empty() ? text : text + " (" + arguments + ")";
}

std::string line(const CollectiveSide& side) {
  const std::string who = side.rank < 0 ? "another rank" : process_in_words(side.rank);
  return "  " + who + std::string(who.size() < 11 ? 11 - who.size() : 1, ' ') +
         call_in_words(side) + "\n             in " + site_in_words(side.site) + "\n";
}

std::string json(const CollectiveSide& side) {
  return "{\"rank\":" + process_in_json(side.rank) +
         ",\"call\":" + health::json_string(collective_name(side.operation, side.form)) +
         ",\"root\":" + (side.root < 0 ? "null" : std::to_string(side.root)) + ",\"reduction\":" +
         (side.reduction == kNoReduction ? "null"
                                         : health::json_string(reduction_name(side.reduction))) +
         ",\"type\":" + (side.type.empty() ? "null" : health::json_string(side.type)) +
         ",\"site\":" + health::json_string(site_in_words(side.site)) + "}";
}

bool is_first(const CollectiveFinding& finding) {
  using Key = std::tuple<uint64_t, uint64_t, Collective, Collective, std::string>;
  static auto& reported = *new std::set<Key>;
  return reported
      .insert({finding.theirs.site, finding.own.site, finding.theirs.operation,
               finding.own.operation, finding.difference})
      .second;
}

}  // namespace

void report_collective(const CollectiveFinding& finding) {
  add_collective_mismatch(finding.communicator);
  // What the other rank reports is reported, and not again where this one is to report the next.
  if (!is_first(finding) || finding.known) return;
  const std::string comm = finding.comm.empty() ? "a communicator without a name" : finding.comm;
  const std::string number = std::to_string(finding.number);
  print("ucx-verity: mismatch in a collective operation (" + comm + ", call " + number + ")\n" +
        line(finding.theirs) + line(finding.own) + "  difference: " + finding.difference + "\n");
  if (settings().log == nullptr) return;
  append_to_log(
      "{\"event\":\"collective_mismatch\",\"time\":" + std::to_string(std::time(nullptr)) +
      ",\"communicator\":" + health::json_string(comm) + ",\"call\":" + number +
      ",\"other\":" + json(finding.theirs) + ",\"own\":" + json(finding.own) +
      ",\"difference\":" + health::json_string(finding.difference) + "}\n");
}

}  // namespace verity::mpi
