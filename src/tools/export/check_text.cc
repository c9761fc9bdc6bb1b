// SPDX-License-Identifier: BSD-3-Clause
#include "tools/export/check_text.h"

#include <nlohmann/json.hpp>

#include "health/text.h"

namespace verity::tools {
namespace {

using blame::Level;

std::string time_text(std::uint64_t hours) {
  if (hours == 0) return "as far back as anything is known";
  return hours == 1 ? "in the last hour" : "in the last " + std::to_string(hours) + " h";
}

std::string files_text(std::uint64_t number) {
  return health::grouped(number) + (number == 1 ? " health file" : " health files");
}

std::string doubted_text(const Gathered& gathered, const blame::Trust& trust) {
  const Doubted& first = gathered.doubted.front();
  return files_text(gathered.not_believed) + " not believed, such as " + first.path + " of " +
         trust.text(first.user) + ": " + first.why;
}

}  // namespace

Checked conclude(blame::Verdict verdict, const Gathered& gathered, const blame::Trust& trust,
                 std::uint64_t hours, bool idle_warns) {
  Checked checked{.verdict = std::move(verdict),
                  .blind = gathered.blind,
                  .partial = gathered.partial,
                  .hours = hours,
                  .files = gathered.read,
                  .unreadable = gathered.unreadable,
                  .not_believed = gathered.not_believed,
                  .doubted = gathered.doubted};
  Level& level = checked.verdict.level;
  if (level == Level::kOk && checked.verdict.sums.bytes == 0 &&
      checked.verdict.sums.faults() == 0) {
    checked.idle = true;
    checked.verdict.text = "nothing verified " + time_text(hours);
    if (idle_warns) level = Level::kWarning;
  }
  if (gathered.delivered > 0) {
    checked.notes.push_back(
        health::grouped(gathered.delivered) +
        " faults DELIVERED by jobs in mode observe: their results may be wrong");
  }
  for (const std::string& text : gathered.partial)
    checked.notes.push_back("examined only a part of " + text);
  if (gathered.unreadable > 0) {
    checked.notes.push_back(
        files_text(gathered.unreadable) + " cannot be read" +
        (gathered.problems.empty() ? "" : ", such as " + gathered.problems.front()));
  }
  if (gathered.not_believed > 0) {
    checked.notes.push_back(doubted_text(gathered, trust));
    if (level == Level::kOk && gathered.doubted.front().faults) level = Level::kWarning;
  }
  // Who did not see everything cannot say that all is well.
  if (!checked.blind.empty() && level == Level::kOk) level = Level::kUnknown;
  return checked;
}

std::string check_line(const Checked& checked) {
  std::string line = std::string("UCX-VERITY ") + blame::level_name(checked.verdict.level) + ": ";
  if (checked.verdict.level == Level::kUnknown)
    line += "cannot read " + checked.blind.front() + "; otherwise ";
  line += checked.verdict.text;
  std::string notes;
  const auto add = [&](const std::string& note) { notes += (notes.empty() ? "" : "; ") + note; };
  for (std::size_t i = checked.verdict.level == Level::kUnknown ? 1 : 0; i < checked.blind.size();
       ++i) {
    add("cannot read " + checked.blind[i]);
  }
  for (const std::string& note : checked.notes) add(note);
  return notes.empty() ? line : line + " (" + notes + ")";
}

std::string check_json(const Checked& checked) {
  using Json = nlohmann::ordered_json;
  const blame::Verdict& verdict = checked.verdict;
  const blame::Sums& sums = verdict.sums;
  Json json{
      {"schema", kCheckSchema},
      {"level", blame::level_name(verdict.level)},
      {"status", static_cast<int>(verdict.level)},
      {"text", verdict.text},
      {"suspect", verdict.suspect.empty() ? Json() : Json(verdict.suspect)},
      {"hours", checked.hours},
      {"bytes_checked", sums.bytes},
      {"faults",
       {{"in", sums.in}, {"out", sums.out}, {"within_host", sums.within}, {"memory", sums.memory}}},
      {"injected_faults", checked.injected},
      {"hosts", sums.hosts},
      {"hosts_with_faults", sums.troubled},
      {"only_users", verdict.users},
      {"files",
       {{"read", checked.files},
        {"unreadable", checked.unreadable},
        {"not_believed", checked.not_believed}}}};
  json["not_believed"] = Json::array();
  for (const Doubted& d : checked.doubted)
    json["not_believed"].push_back({{"path", d.path}, {"uid", d.user}, {"why", d.why}});
  json["not_seen"] = checked.blind;
  json["notes"] = checked.notes;
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace verity::tools
