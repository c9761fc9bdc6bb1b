// SPDX-License-Identifier: BSD-3-Clause
#include <time.h>

#include <cstdio>
#include <memory>
#include <thread>

#include "tools/commands.h"
#include "tools/health/terminal.h"
#include "tools/health/top_view.h"

namespace verity::tools {

namespace {

struct Request {
  Wanted wanted{{}, false};
  std::string group = "process";
  std::string sort = "rate";
  double seconds = 2;
  unsigned looks = 0;  // 0: until the user ends it
  bool batch = false;
};

std::uint64_t monotonic_ns() noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(now.tv_nsec);
}

std::string clock_now() {
  const time_t now = time(nullptr);
  tm local{};
  localtime_r(&now, &local);
  char text[16];
  return std::string(text, strftime(text, sizeof(text), "%H:%M:%S", &local));
}

int run_batch(const Request& request, TopText text) {
  TopView view;
  for (unsigned i = 0; request.looks == 0 || i < request.looks; ++i) {
    if (i != 0) {
      std::this_thread::sleep_for(std::chrono::duration<double>(request.seconds));
      std::puts("");
    }
    const Found found = find_processes(request.wanted);
    view.update(found, monotonic_ns());
    text.clock = clock_now();
    for (const std::string& line : render_top(found, view.rows(text.group, text.sort), text))
      std::puts(line.c_str());
    if (std::fflush(stdout) != 0) return kExitError;
  }
  return kExitOk;
}

enum class Then { kLook, kDraw, kEnd };

struct Live {
  Wanted* wanted;
  TopText text;
  bool keys = false;  // what they do is shown in place of the numbers
};

// What a key requests. Another view of the same files needs no new reading, whose rates would be
// those of a moment.
Then obey(int key, Live* live) noexcept {
  constexpr std::string_view kGroups = "1234";
  constexpr std::string_view kSorts = "bmvrfun";
  const auto c = static_cast<char>(key);
  if (key < 0 || c == 'q') return Then::kEnd;
  if (key == 0) return Then::kLook;
  if (c == '?') {
    live->keys = !live->keys;
    return Then::kDraw;
  }
  live->keys = false;
  if (const auto group = kGroups.find(c); group != std::string_view::npos) {
    live->text.group = static_cast<GroupBy>(group);
    return Then::kDraw;
  }
  if (const auto sort = kSorts.find(c); sort != std::string_view::npos) {
    live->text.sort = static_cast<SortBy>(sort);
    return Then::kDraw;
  }
  if (c == 'e') live->wanted->ended = !live->wanted->ended;
  return Then::kLook;
}

void draw(const Terminal& terminal, const Found& found, const TopView& view, Live* live) {
  TopText& text = live->text;
  text.lines = terminal.lines() > 1 ? terminal.lines() - 1 : 1;
  std::vector<std::string> lines =
      live->keys ? render_keys() : render_top(found, view.rows(text.group, text.sort), text);
  lines.resize(text.lines);
  lines.emplace_back(
      "1 process 2 path 3 device 4 peer | sort: b m v r f u n | e ended ? keys q quit");
  terminal.draw(lines);
}

// Draws, and obeys keys, until it is time for the next look.
Then show(Terminal& terminal, const Found& found, const TopView& view, double seconds, Live* live) {
  const std::uint64_t end = monotonic_ns() + static_cast<std::uint64_t>(seconds * 1e9);
  Then then = Then::kDraw;
  while (then == Then::kDraw) {
    draw(terminal, found, view, live);
    const std::uint64_t now = monotonic_ns();
    const int key = terminal.key(now < end ? static_cast<double>(end - now) / 1e9 : 0);
    if (key == 0 && monotonic_ns() < end) continue;  // a window of another size
    then = obey(key, live);
  }
  return then;
}

int run_live(Request request, const TopText& text) {
  Terminal terminal;
  TopView view;
  Live live{&request.wanted, text};
  for (unsigned i = 0; request.looks == 0 || i < request.looks; ++i) {
    const Found found = find_processes(request.wanted);
    view.update(found, monotonic_ns());
    live.text.clock = clock_now();
    if (show(terminal, found, view, request.seconds, &live) == Then::kEnd) break;
  }
  return kExitOk;
}

int run(const Request& request) {
  const auto group = parse_choice<GroupBy>(kGroupNames, request.group);
  const auto sort = parse_choice<SortBy>(kSortNames, request.sort);
  if (!group || !sort) {
    std::fprintf(stderr, "ucx-verity top: %s\n",
                 !group ? ("--by " + request.group + ": process, path, device or peer").c_str()
                        : ("--sort " + request.sort +
                           ": rate, frames, verified, repaired, faults, unverified or name")
                              .c_str());
    return kExitError;
  }
  const TopText text{.group = *group, .sort = *sort, .clock = {}, .lines = 0};
  if (request.batch) return run_batch(request, text);
  if (Terminal::is_there()) return run_live(request, text);
  std::fputs("ucx-verity top: this is no terminal: use --batch\n", stderr);
  return kExitError;
}

}  // namespace

void add_top_command(CLI::App& app, int* exit_code) {
  auto request = std::make_shared<Request>();
  CLI::App* command =
      app.add_subcommand("top", "Show what the processes of this host verify, live");
  command
      ->add_option("folders", request->wanted.folders, "Directories of health files, as of status")
      ->type_name("DIR");
  command
      ->add_option("--by", request->group, "One line per process (default), path, device or peer")
      ->type_name("WHAT");
  command
      ->add_option("--sort", request->sort,
                   "rate (default), frames, verified, repaired, faults, unverified, name")
      ->type_name("COLUMN");
  command->add_option("-d,--delay", request->seconds, "Time between two samples, default 2")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.05, 86400.0));
  command->add_option("-n,--count", request->looks, "End after that many samples")->type_name("N");
  command->add_flag("-b,--batch", request->batch, "Print for a file or a pipe, not for a terminal");
  command->add_flag("--ended", request->wanted.ended, "Also show ended processes");
  command->footer("Press ? for the keys");
  command->callback([request, exit_code] { *exit_code = run(*request); });
}

}  // namespace verity::tools
