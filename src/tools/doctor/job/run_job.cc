// SPDX-License-Identifier: BSD-3-Clause
#include "tools/doctor/job/run_job.h"

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>
#include <stdexcept>

#include "tools/env/install.h"
#include "tools/subprocess.h"
#include "util/write_all.h"

namespace verity::tools {

namespace {

constexpr int kJobSeconds = 300;
constexpr int kVersionSeconds = 20;
constexpr useconds_t kPauseUs = 500;  // a launcher that reads meanwhile gets whole lines
constexpr int kCopies = 2;            // of each line, should one be cut all the same

std::string version_of(const std::string& program) {
  const ProcessResult child =
      run_process({program, "--version"}, {}, {"LD_PRELOAD"}, kVersionSeconds);
  return child.out + child.err;
}

std::string value_of(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

Answers answers_in(const std::string& output, const std::string& words) {
  Answers answers;
  answers.reports = reports_in(output, &answers.cut);
  if (answers.reports.empty()) throw std::runtime_error("no host answered" + words);
  return answers;
}

}  // namespace

void print_report(const HostReport& report) {
  const auto lines = to_lines(report, getpid());
  for (int copy = 0; copy < kCopies; ++copy) {
    for (const std::string& line : lines) {
      (void)util::write_all(STDOUT_FILENO, line + "\n");
      usleep(kPauseUs);
    }
  }
}

Launch find_launch(const std::string& named, const HostFacts& here) {
  if (named.empty() && !here.launcher.empty()) {
    throw std::runtime_error("doctor --job: this is a process of a job already; start 'LAUNCHER " +
                             own_path() + " doctor --record | ucx-verity doctor --merge -'");
  }
  const Launch launch = named.empty() ? choose_launch(value_of, find_program, version_of)
                                      : named_launch(named, version_of);
  if (!launch.error.empty()) throw std::runtime_error("doctor --job: " + launch.error);
  return launch;
}

Answers query_hosts(const Launch& launch, const std::vector<std::string>& options) {
  std::vector<std::string> command = launch.command;
  for (const std::string& word : {own_path(), std::string("doctor"), std::string("--record")})
    command.push_back(word);
  command.insert(command.end(), options.begin(), options.end());
  const ProcessResult child = run_process(command, {}, {}, kJobSeconds);
  std::string words = ": " + launch.name + " ended with status " + std::to_string(child.status);
  if (child.timed_out) words = ": " + launch.name + " took longer than 300 s";
  return answers_in(child.out, words + (child.err.empty() ? "" : "\n" + child.err));
}

Answers read_reports(const std::string& file) {
  std::ostringstream text;
  if (file == "-") {
    text << std::cin.rdbuf();
  } else {
    std::ifstream stream(file);
    if (!stream) throw std::runtime_error(file + ": cannot be read");
    text << stream.rdbuf();
  }
  return answers_in(text.str(), " in " + (file == "-" ? "the input" : file));
}

}  // namespace verity::tools
