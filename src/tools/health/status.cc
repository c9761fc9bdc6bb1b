// SPDX-License-Identifier: BSD-3-Clause
#include <cstdio>
#include <memory>

#include "tools/commands.h"
#include "tools/health/status_text.h"

namespace verity::tools {

namespace {

struct Request {
  Wanted wanted;
  StatusOptions text;
  bool running = false;
  bool json = false;
  bool collect = false;
  double keep = 3600;  // seconds
};

int remove_old(const Request& request) {
  int code = kExitOk;
  std::size_t removed = 0;
  for (const std::string& path :
       request.wanted.folders.empty() ? health::default_directories() : request.wanted.folders) {
    health::Directory directory;
    const std::string problem = directory.open(path);
    if (!problem.empty()) {
      std::fprintf(stderr, "ucx-verity status: %s: %s\n", path.c_str(), problem.c_str());
      code = kExitError;
      continue;
    }
    bool more;
    removed +=
        health::collect(directory, directory.names(~std::size_t{0}, &more), health::realtime_ns(),
                        static_cast<std::uint64_t>(request.keep * 1e9));
  }
  std::printf("%zu file%s removed\n", removed, removed == 1 ? "" : "s");
  return code;
}

int run(const Request& request) {
  if (request.collect) return remove_old(request);
  const Found found =
      find_processes({request.wanted.folders, !request.running, request.wanted.job});
  std::fputs((request.json ? status_json(found) : render_status(found, request.text)).c_str(),
             stdout);
  return found.folders.size() < request.wanted.folders.size() ? kExitError : kExitOk;
}

}  // namespace

void add_status_command(CLI::App& app, int* exit_code) {
  auto request = std::make_shared<Request>();
  CLI::App* command = app.add_subcommand(
      "status", "Show what the processes of this host have verified and repaired");
  command
      ->add_option(
          "folders", request->wanted.folders,
          "Directories of health files; default: UCX_VERITY_HEALTH_DIR, /dev/shm/ucx-verity and "
          "/dev/shm/ucx-verity-UID (root: of all users), all that exist")
      ->type_name("DIR");
  command->add_flag("--all", request->text.peers, "Add a line for each peer host");
  command->add_flag_callback(
      "--brief", [request] { request->text.paths = false; }, "Print one line for each process");
  command
      ->add_option("--job", request->wanted.job,
                   "Show only processes of that job of the batch system")
      ->type_name("ID");
  command->add_flag("--running", request->running, "Show only running processes");
  command->add_flag("--json", request->json, "Print JSON: all counters of all paths and peers");
  command->add_flag("--collect", request->collect,
                    "Remove the files of processes that ended long ago");
  command
      ->add_option("--keep", request->keep,
                   "With --collect: age from which files are removed, default 3600")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.0, 1e9));
  command->footer("The columns: ucx-verity-status(1)");
  command->callback([request, exit_code] { *exit_code = run(*request); });
}

}  // namespace verity::tools
