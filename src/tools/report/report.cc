// SPDX-License-Identifier: BSD-3-Clause
//
// `ucx-verity report`: reads the files; src/blame ranks the suspects.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>

#include "health/text.h"
#include "tools/commands.h"
#include "tools/report/render.h"

namespace verity::tools {

using blame::EvidenceBuilder;

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLongestLine = 1 << 20;  // bytes; longer ones are none of ours

constexpr const char* kCompressed =
    " compressed, and not read: zcat -f FILE... | ucx-verity report /dev/stdin";

// As logrotate leaves old ones. False: it is not, or it cannot be examined.
bool is_compressed(int file) {
  constexpr std::string_view kMarks[] = {"\x1f\x8b", "BZh", "\3757zXZ", "(\265/\375"};
  std::array<char, 8> first;
  const ssize_t size = pread(file, first.data(), first.size(), 0);
  const std::string_view start(first.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  return std::any_of(std::begin(kMarks), std::end(kMarks),
                     [&](std::string_view mark) { return start.starts_with(mark); });
}

// 0: of none that has a size.
off_t size_of(int file) {
  struct stat info {};
  return fstat(file, &info) == 0 && S_ISREG(info.st_mode) ? info.st_size : 0;
}

// A sparse file may be longer than anything could be read in time. What is appended beyond `size`
// meanwhile is read.
void skip_hole(int file, off_t size) {
  const off_t here = lseek(file, 0, SEEK_CUR);
  if (here >= 0 && here < size && lseek(file, here, SEEK_DATA) < 0 && errno == ENXIO)
    (void)lseek(file, size, SEEK_SET);
}

struct Options {
  std::vector<std::string> paths;
  std::string html;
  std::vector<std::string> topologies;
  bool json = false;
  bool injected = false;
};

class Reading {
 public:
  explicit Reading(bool with_injected) : builder_(with_injected) {}
  // False: a path that was named cannot be read; said on stderr.
  [[nodiscard]] bool read(const std::string& path) {
    std::error_code error;
    if (!fs::is_directory(path, error)) return read_file(path, true);
    std::vector<std::string> files;
    fs::recursive_directory_iterator it(path, fs::directory_options::skip_permission_denied, error);
    for (; !error && it != fs::recursive_directory_iterator(); it.increment(error))
      files.push_back(it->path().string());
    if (error) return complain(path, error.message());
    std::sort(files.begin(), files.end());
    for (const std::string& file : files) (void)read_file(file, false);
    if (const std::uint64_t number = std::exchange(compressed_, 0); number != 0) {
      (void)complain(
          path, health::grouped(number) + (number == 1 ? " file is" : " files are") + kCompressed);
    }
    return true;
  }
  [[nodiscard]] Findings findings() const {
    Findings f{builder_.build(), lines_, files_, {}, {}};
    f.suspects = rank(f.evidence);
    return f;
  }

 private:
  static bool complain(const std::string& path, const std::string& why) {
    std::fprintf(stderr, "ucx-verity report: %s: %s\n", printable(path, 4096).c_str(), why.c_str());
    return false;
  }
  // Of a directory's entries only plain files are read; what is named may be a pipe or a link too.
  bool read_file(const std::string& path, bool named) {
    const int file =
        open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | (named ? 0 : O_NONBLOCK | O_NOFOLLOW));
    if (file < 0 && !named && errno == ELOOP) return true;
    if (file < 0) return complain(path, std::strerror(errno));
    struct stat info {};
    const bool is_file = fstat(file, &info) == 0 && S_ISREG(info.st_mode);
    const bool packed = is_file && is_compressed(file);
    const bool take = (named || is_file) && !packed;
    std::string problem = packed && named ? std::string("it is") + kCompressed : "";
    compressed_ += packed && !named;
    if (take) read_lines(file, &problem);
    close(file);
    files_ += take;
    return problem.empty() || complain(path, problem);
  }
  void read_lines(int file, std::string* problem) {
    std::array<char, 1 << 16> buffer;
    std::string line;
    bool skipping = false;
    const off_t size = size_of(file);
    ssize_t n;
    while ((n = ::read(file, buffer.data(), buffer.size())) > 0 || (n < 0 && errno == EINTR)) {
      for (ssize_t at = 0; at < n;) {
        const auto* end = static_cast<const char*>(
            std::memchr(buffer.data() + at, '\n', static_cast<std::size_t>(n - at)));
        const ssize_t stop = end != nullptr ? end - buffer.data() : n;
        if (!skipping) line.append(buffer.data() + at, static_cast<std::size_t>(stop - at));
        skipping = skipping || line.size() > kLongestLine;
        if (end != nullptr) {
          take_line(line, skipping);
        } else if (skipping) {
          skip_hole(file, size);
        }
        at = stop + 1;
      }
    }
    if (n < 0) *problem = std::strerror(errno);
    take_line(line, skipping);
  }
  void take_line(std::string& line, bool& skipped) {
    if (std::exchange(skipped, false)) {
      ++lines_.broken;
    } else {
      read_line(line, builder_, lines_);
    }
    line.clear();
  }

  EvidenceBuilder builder_;
  LineCounts lines_;
  std::uint64_t files_ = 0;
  std::uint64_t compressed_ = 0;  // of the folder that is being read
};

bool write_file(const std::string& path, const std::string& text) {
  FILE* file = std::fopen(path.c_str(), "w");
  const bool wrote =
      file != nullptr && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const bool closed = file != nullptr && std::fclose(file) == 0;
  if (!wrote || !closed)
    std::fprintf(stderr, "ucx-verity report: cannot write %s: %s\n", path.c_str(),
                 std::strerror(errno));
  return wrote && closed;
}

bool read_topology(const std::string& path, Topology* topology) {
  constexpr std::size_t kMost = std::size_t{64} << 20;
  std::ifstream file(path, std::ios::binary);
  std::string text;
  std::string part(std::size_t{1} << 16, '\0');
  while (text.size() <= kMost && (file.read(part.data(), part.size()), file.gcount() > 0))
    text.append(part, 0, static_cast<std::size_t>(file.gcount()));
  const std::string problem = text.size() > kMost         ? "it is longer than 64 MiB"
                              : file.bad() || !file.eof() ? std::strerror(errno)
                                                          : topology->parse(text);
  if (!problem.empty())
    std::fprintf(stderr, "ucx-verity report: --topology %s: %s\n", printable(path, 4096).c_str(),
                 printable(problem, 400).c_str());
  return problem.empty();
}

int run(const Options& options) {
  Reading reading(options.injected);
  bool good = true;
  for (const std::string& path : options.paths) good = reading.read(path) && good;
  Findings findings = reading.findings();
  for (const std::string& path : options.topologies)
    good = read_topology(path, &findings.topology) && good;
  if (!options.html.empty()) good = write_file(options.html, render_html(findings)) && good;
  std::fputs((options.json ? render_json(findings) : render_text(findings)).c_str(), stdout);
  const LineCounts& lines = findings.lines;
  if (good && lines.faults + lines.attestations + lines.type_mismatches == 0) {
    std::fprintf(stderr,
                 "ucx-verity report: no record in these files: jobs write them with "
                 "UCX_VERITY_FAULT_LOG and UCX_VERITY_ATTEST_FILE\n");
    good = false;
  }
  if (!good) return kExitError;
  return findings.evidence.faults != 0 ? kExitWarning : kExitOk;
}

}  // namespace

void add_report_command(CLI::App& app, int* exit_code) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "report", "Find the device, link or host that explains the faults of jobs");
  command
      ->add_option("paths", options->paths,
                   "Files, or directories of them, that jobs wrote: fault records and attestations")
      ->required();
  command->add_flag("--json", options->json, "Print JSON");
  command->add_option("--html", options->html, "Also write a page for browsers");
  command
      ->add_option("--topology", options->topologies,
                   "Group by switch and name switch ports: Slurm's topology.conf, or a file with "
                   "ibnetdiscover's output (repeatable)")
      ->type_name("FILE");
  command->add_flag("--injected", options->injected,
                    "Count faults that a test transport made on purpose as faults of machines");
  command->footer(
      "Exit status: 0 no faults of machines, 1 faults, 2 a file cannot be read or no record found");
  command->callback([options, exit_code] { *exit_code = run(*options); });
}

}  // namespace verity::tools
