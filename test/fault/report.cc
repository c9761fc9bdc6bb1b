// SPDX-License-Identifier: BSD-3-Clause
#include "fault/report.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include "fault/injector.h"

namespace verity::fault {
namespace {

std::string host_name() {
  char name[256] = {};
  gethostname(name, sizeof(name) - 1);
  return name;
}

std::string expand(const std::string& path) {
  std::string out;
  for (size_t i = 0; i < path.size(); ++i) {
    const char next = i + 1 < path.size() ? path[i + 1] : '\0';
    if (path[i] == '%' && (next == 'p' || next == 'h')) {
      out += next == 'p' ? std::to_string(getpid()) : host_name();
      ++i;
    } else {
      out += path[i];
    }
  }
  return out;
}

// "name":value pairs; every text that goes in is one of our own names, nothing needs escaping.
class Json {
 public:
  explicit Json(std::string* out) : out_(*out) { out_ += '{'; }
  ~Json() { out_ += '}'; }
  Json(const Json&) = delete;
  Json& operator=(const Json&) = delete;

  void add(const char* name, uint64_t value) { key(name) += std::to_string(value); }
  void add(const char* name, const std::string& text) { key(name) += '"' + text + '"'; }
  std::string& key(const char* name) {
    if (out_.back() != '{') { out_ += ','; }
    return ((out_ += '"') += name) += "\":";
  }

 private:
  std::string& out_;
};

template <typename Values, typename Names>
void add_group(Json& json, const char* name, const Values& values, const Names& names) {
  Json group(&json.key(name));
  for (size_t i = 0; i < values.size(); ++i) { group.add(names[i], values[i]); }
}

}  // namespace

std::string Injector::report() {
  const std::lock_guard lock(mutex_);
  std::string out;
  {
    Json json(&out);
    json.add("host", host_name());
    json.add("pid", static_cast<uint64_t>(getpid()));
    if (settings_.rank != kUnset) { json.add("rank", settings_.rank); }
    json.add("seed", settings_.seed);
    json.add("seen", counts_.seen);
    json.add("matched", counts_.matched);
    json.add("faults", counts_.faults);
    json.add("no_effect", counts_.no_effect);
    json.add("bytes", counts_.bytes);
    json.add("bits", counts_.bits);
    add_group(json, "kinds", counts_.by_kind, kKindNames);
    add_group(json, "sides", counts_.by_side, kSideNames);
    add_group(json, "ops", counts_.by_op, kOpNames);
    json.add("header", counts_.in_header);
    json.add("payload", counts_.in_payload);
    json.add("whole", counts_.whole);
    json.key("events") += '[';
    for (const Event& event : events_) {
      if (&event != events_.data()) { out += ','; }
      Json entry(&out);
      entry.add("frame", event.number);
      entry.add("op", std::string(kOpNames[static_cast<size_t>(event.info.op)]));
      entry.add("side", std::string(kSideNames[static_cast<size_t>(event.info.side)]));
      if (event.info.am_id >= 0) { entry.add("am_id", static_cast<uint64_t>(event.info.am_id)); }
      entry.add("kind", std::string(kKindNames[static_cast<size_t>(event.kind)]));
      entry.add("length", event.length);
      entry.add("offset", event.damage.offset);
      entry.add("bytes", event.damage.bytes);
      entry.add("bits", event.damage.bits);
      entry.add("new_length", event.damage.new_length);
    }
    out += ']';
  }
  return out += '\n';
}

void write_report() noexcept {
  try {
    const std::string path = expand(injector().settings().report);
    if (path.empty()) { return; }
    const std::string line = injector().report();
    const int fd = path == "-"
                       ? STDERR_FILENO
                       : open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    // One write, so that processes sharing the file do not mix their lines.
    if (fd < 0 || write(fd, line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
      std::fprintf(stderr, "UCX_FAULT_REPORT: cannot write %s: %s\n", path.c_str(),
                   std::strerror(errno));
    }
    if (fd > STDERR_FILENO) { close(fd); }
  } catch (...) { std::fputs("UCX_FAULT_REPORT: out of memory, no report\n", stderr); }
}

}  // namespace verity::fault
