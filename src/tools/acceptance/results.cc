// SPDX-License-Identifier: BSD-3-Clause
#include "tools/acceptance/results.h"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "tools/bench/report.h"
#include "tools/env/transports.h"

namespace verity::tools {

namespace {

using Words = std::vector<std::string>;

constexpr std::array<const char*, 4> kOutcomes = {"passed", "skipped", "warning", "failed"};

Outcome outcome_named(const std::string& name) {
  for (std::size_t i = 0; i < kOutcomes.size(); ++i) {
    if (name == kOutcomes[i]) return static_cast<Outcome>(i);
  }
  throw std::runtime_error("no outcome of a step: " + name);
}

Words split_tabs(const std::string& line) {
  Words words(1);
  for (const char c : line) {
    if (c == '\t')
      words.emplace_back();
    else
      words.back() += c;
  }
  return words;
}

std::size_t index_of(const std::string& word) {
  if (word != "0" && word != "1") throw std::runtime_error("no number of a host: " + word);
  return word == "1" ? 1 : 0;
}

std::string content_of(const std::string& file) {
  std::ifstream stream(file);
  std::ostringstream text;
  text << stream.rdbuf();
  if (!stream) throw std::runtime_error(file + ": cannot be read");
  return text.str();
}

// The findings of `doctor --merge --json` are steps of the set-up.
void add_doctor(const std::string& text, std::vector<AcceptanceStep>* steps) {
  const auto json = nlohmann::json::parse(text);
  const std::size_t hosts = json.value("hosts", Words{}).size();
  for (const auto& finding : json.at("findings")) {
    const std::string grade = finding.value("grade", "");
    const Words where = finding.value("hosts", Words{});
    AcceptanceStep step{.section = "Set-up",
                        .outcome = grade == "ok"        ? Outcome::kPassed
                                   : grade == "warning" ? Outcome::kWarning
                                                        : Outcome::kFailed,
                        .name = finding.value("topic", ""),
                        .text = finding.value("text", ""),
                        .remedy = finding.value("advice", "")};
    if (!where.empty() && where.size() < hosts) step.name += ", " + join(where, ", ");
    steps->push_back(std::move(step));
  }
}

template <typename Value>
Value& find_or_add(std::vector<Value>* values, std::string Value::*key, const std::string& wanted) {
  for (Value& value : *values) {
    if (value.*key == wanted) return value;
  }
  values->emplace_back().*key = wanted;
  return values->back();
}

// Wrappers have a line of their own; they belong to what they wrap.
void add_transport(const Words& words, Acceptance* a) {
  const Words all = {words[2]};
  auto& devices =
      find_or_add(&a->transports, &HostTransport::name, words[2]).devices[index_of(words[1])];
  const Words known = split_commas(devices);
  if (std::find(known.begin(), known.end(), words[3]) == known.end())
    devices += (devices.empty() ? "" : ",") + words[3];
}

void join_wrappers(std::vector<HostTransport>* transports) {
  std::vector<HostTransport> lower;
  const auto is_there = [&](const std::string& name) {
    return std::any_of(transports->begin(), transports->end(),
                       [&](const HostTransport& t) { return t.name == name; });
  };
  for (const HostTransport& transport : *transports) {
    const std::string& name = transport.name;
    if (name.starts_with('v') && is_there(name.substr(1))) continue;
    lower.push_back(transport);
    lower.back().wrapped = is_there(wrapper_of(name))
                               ? wrapper_of(name)
                               : "not wrapped: " + not_wrappable_because(name);
  }
  *transports = lower;
}

void need(const Words& words, std::size_t count) {
  if (words.size() < count) throw std::runtime_error("too short: " + join(words, " "));
}

void add_line(const Words& words, Acceptance* a) {
  need(words, 3);
  if (words[0] == "host") {
    a->hosts.at(index_of(words[1])) = words[2];
  } else if (words[0] == "fact") {
    need(words, 4);
    find_or_add(&a->facts, &HostFact::key, words[2]).values[index_of(words[1])] = words[3];
  } else if (words[0] == "transport") {
    need(words, 5);
    add_transport(words, a);
  } else if (words[0] == "step") {
    need(words, 5);
    a->steps.push_back(
        {words[1], outcome_named(words[2]), words[3], words[4], words.size() > 5 ? words[5] : ""});
  } else if (words[0] == "file" && words[1] == "doctor") {
    add_doctor(content_of(words[2]), &a->steps);
  } else if (words[0] == "file" && words[1] == "bench") {
    a->costs = bench::parse_results(content_of(words[2]));
  } else {
    throw std::runtime_error("no record of an acceptance: " + join(words, " "));
  }
}

// `name` as a word of its own in `text`.
void replace_word(std::string* text, const std::string& name, const std::string& by) {
  const auto is_part = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  for (std::size_t at = 0; (at = text->find(name, at)) != std::string::npos;) {
    const std::size_t end = at + name.size();
    if ((at > 0 && is_part(name.front()) && is_part((*text)[at - 1])) ||
        (end < text->size() && is_part((*text)[end]))) {
      at = end;
      continue;
    }
    text->replace(at, name.size(), by);
    at += by.size();
  }
}

void for_each_text(Acceptance* a, const std::function<void(std::string*)>& change) {
  for (std::string& host : a->hosts) change(&host);
  for (HostFact& fact : a->facts) {
    for (std::string& value : fact.values) change(&value);
  }
  for (AcceptanceStep& step : a->steps) {
    for (std::string* text : {&step.name, &step.text, &step.remedy}) change(text);
  }
  for (bench::Result& cost : a->costs) change(&cost.problem);
  change(&a->command);
}

std::string counted(std::size_t count, const std::string& one, const std::string& many) {
  return std::to_string(count) + " " + (count == 1 ? one : many);
}

}  // namespace

const char* name_of(Outcome outcome) { return kOutcomes.at(static_cast<std::size_t>(outcome)); }

Outcome Acceptance::outcome() const {
  Outcome worst = steps.empty() ? Outcome::kFailed : Outcome::kPassed;
  for (const AcceptanceStep& step : steps) worst = std::max(worst, step.outcome);
  return worst;
}

std::size_t Acceptance::count(Outcome wanted) const {
  return static_cast<std::size_t>(
      std::count_if(steps.begin(), steps.end(),
                    [&](const AcceptanceStep& step) { return step.outcome == wanted; }));
}

std::string Acceptance::verdict() const {
  std::string text = outcome() == Outcome::kFailed ? "FAILED: " : "PASSED: ";
  if (const std::size_t failed = count(Outcome::kFailed); failed != 0)
    text += counted(failed, "step", "steps") + " failed, ";
  text += counted(count(Outcome::kPassed), "step", "steps") + " passed";
  if (const std::size_t warnings = count(Outcome::kWarning); warnings != 0)
    text += ", " + counted(warnings, "warning", "warnings");
  if (const std::size_t skipped = count(Outcome::kSkipped); skipped != 0)
    text += ", " + std::to_string(skipped) + " skipped";
  return text;
}

Acceptance parse_acceptance(const std::string& lines) {
  Acceptance acceptance;
  std::istringstream stream(lines);
  for (std::string line; std::getline(stream, line);) add_line(split_tabs(line), &acceptance);
  join_wrappers(&acceptance.transports);
  return acceptance;
}

void anonymise(Acceptance* acceptance, const std::vector<std::string>& secrets) {
  std::vector<std::pair<std::string, std::string>> names;
  for (std::size_t i = 0; i < 2; ++i) {
    const std::string by = "node" + std::to_string(i + 1);
    Words own = {acceptance->hosts[i]};
    for (const HostFact& fact : acceptance->facts) {
      if (fact.key == "name") own.push_back(fact.values[i]);
    }
    for (const std::string& name : Words(own)) own.push_back(name.substr(0, name.find('.')));
    for (const std::string& name : own) {
      names.emplace_back(name, by);
      if (const std::size_t dot = name.find('.'); dot != name.npos)
        names.emplace_back(name.substr(dot), "");  // the site's domain, behind other names too
    }
  }
  for (const std::string& secret : secrets) names.emplace_back(secret, "...");
  // Longer names first: one may be part of another.
  std::stable_sort(names.begin(), names.end(),
                   [](const auto& a, const auto& b) { return a.first.size() > b.first.size(); });
  for_each_text(acceptance, [&](std::string* text) {
    for (const auto& [name, by] : names) {
      if (name.size() > 1) replace_word(text, name, by);
    }
  });
  acceptance->anonymous = true;
}

std::string contents_in_words(const Acceptance& a) {
  return std::string("This report holds ") +
         (a.anonymous ? "no names of hosts or users" : "the names of the two hosts") +
         ", versions of software and firmware, models of processors and adapters, names of "
         "transports and network devices, paths of libraries, and figures. It holds no address, no "
         "content of any message and no value of an environment variable other than those that a "
         "finding names.";
}

}  // namespace verity::tools
