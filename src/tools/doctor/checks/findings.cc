// SPDX-License-Identifier: BSD-3-Clause
#include "tools/doctor/checks/findings.h"

#include <algorithm>

namespace verity::tools {

namespace {

// Words of `text` into lines of at most `width`; a longer word has a line of its own.
std::vector<std::string> wrap(const std::string& text, std::size_t width) {
  std::vector<std::string> lines;
  std::string line;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    if (!line.empty() && line.size() + 1 + word.size() > width) {
      lines.push_back(line);
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
    at = end + 1;
  }
  if (!line.empty()) lines.push_back(line);
  return lines;
}

constexpr std::size_t kTerminal = 80;
constexpr std::size_t kIndent = 22;

// `line` in the column of the texts; one long word (a path, a list to copy) starts further left, as
// breaking it would spoil it.
std::string in_column(const std::string& line) {
  const std::size_t room = kTerminal - std::min(line.size(), kTerminal);
  return std::string(std::clamp<std::size_t>(room, 2, kIndent), ' ') + line + "\n";
}

std::string head_of(const Finding& finding) {
  const char* grade = "  ok      ";
  if (finding.grade == Grade::kWarning) grade = "  warn    ";
  if (finding.grade == Grade::kBroken) grade = "  BROKEN  ";
  return grade + finding.topic;
}

std::string render_wrapped(const Finding& finding) {
  constexpr std::size_t kWidth = kTerminal - kIndent;
  std::string head = head_of(finding);
  std::string text;
  for (const std::string& line : wrap(finding.text, kWidth)) text += in_column(line);
  if (!text.starts_with(std::string(kIndent, ' '))) {
    head += "\n";
  } else {
    head.resize(kIndent, ' ');
    text.erase(0, kIndent);
  }
  std::string arrow = "-> ";
  for (const std::string& line : wrap(finding.advice, kWidth - arrow.size())) {
    text += in_column(arrow + line);
    arrow = "   ";
  }
  return head + text;
}

std::string render_line(const Finding& finding) {
  std::string line = head_of(finding);
  line.resize(std::max(kIndent, line.size() + 1), ' ');
  line += finding.text;
  if (!finding.advice.empty()) line += " -> " + finding.advice;
  return line + "\n";
}

bool has_broken(const Findings& findings, Effect effect) {
  return std::any_of(findings.begin(), findings.end(), [&](const Finding& finding) {
    return finding.grade == Grade::kBroken && finding.effect == effect;
  });
}

bool partly_unverified(const Findings& findings) {
  return std::any_of(findings.begin(), findings.end(), [](const Finding& finding) {
    return finding.grade == Grade::kWarning && finding.effect == Effect::kUnverified;
  });
}

std::string broken_verdict(const Findings& findings) {
  const bool abort = has_broken(findings, Effect::kAbort);
  const bool some = has_broken(findings, Effect::kSomeAbort);
  const bool unverified = has_broken(findings, Effect::kUnverified);
  if (abort && unverified) return "BROKEN: jobs started from this shell abort or run unverified";
  if (some && unverified) return "BROKEN: jobs started from this shell run unverified, some abort";
  if (abort) return "BROKEN: jobs started from this shell abort";
  if (some) return "BROKEN: some jobs started from this shell abort";
  if (unverified) return "BROKEN: jobs started from this shell run unverified";
  return "BROKEN: jobs started from this shell run verified, but without what the settings above "
         "ask for";
}

}  // namespace

Grade worst(const Findings& findings) {
  Grade grade = Grade::kOk;
  for (const Finding& finding : findings) grade = std::max(grade, finding.grade);
  return grade;
}

const char* grade_name(Grade grade) {
  switch (grade) {
    case Grade::kOk: return "ok";
    case Grade::kWarning: return "warning";
    case Grade::kInactive: return "inactive";
    case Grade::kBroken: return "broken";
  }
  return "";
}

std::string verdict(const Findings& findings) {
  switch (worst(findings)) {
    case Grade::kOk: return "ok: jobs started from this shell are verified";
    case Grade::kWarning:
      return partly_unverified(findings)
                 ? "jobs started from this shell are verified, except for what the warnings above "
                   "name"
                 : "jobs started from this shell are verified, with the warnings above";
    case Grade::kInactive:
      return "not active in this shell: jobs started from it run unverified -> eval \"$(ucx-verity "
             "env)\", or load the module";
    case Grade::kBroken: return broken_verdict(findings);
  }
  return "";
}

std::string render_findings(const Findings& findings) {
  std::string text;
  for (const Finding& finding : findings) {
    if (finding.grade == Grade::kInactive) continue;  // the verdict
    text += finding.grade == Grade::kOk ? render_wrapped(finding) : render_line(finding);
  }
  return text + verdict(findings) + "\n";
}

}  // namespace verity::tools
