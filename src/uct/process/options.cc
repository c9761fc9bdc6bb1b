// SPDX-License-Identifier: BSD-3-Clause
#include "uct/process/options.h"

#include <strings.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <new>
#include <optional>
#include <span>

#include "health/file_pattern.h"
#include "health/identity.h"
#include "merkle/geometry.h"
#include "uct/process/option_table.h"
#include "uct/process/site_policy.h"
#include "util/complain.h"

namespace verity::uct {

namespace {

constinit std::atomic<const Options*> current{nullptr};
constinit std::atomic<bool> transparent{false};

// One process of those of a job.
bool reports_for_job() {
  const std::string rank = health::identify_process().rank;
  return rank.empty() || rank == "0";
}

// Once per variable: every memory domain is refused for the same reason.
ucs_status_t refuse(const char* variable, const char* allowed) noexcept {
  static std::atomic<const char*> last{nullptr};
  if (last.exchange(variable) == variable) return UCS_ERR_INVALID_PARAM;
  util::complain("ucx-verity: UCX_VERITY_%s: bad value; allowed: %s\n", variable, allowed);
  return UCS_ERR_INVALID_PARAM;
}

// 0: none that may be.
mode_t parse_mode(const char* octal) noexcept {
  char* end = nullptr;
  const unsigned long mode = octal != nullptr ? std::strtoul(octal, &end, 8) : 0;
  const bool whole = end != nullptr && end != octal && *end == '\0';
  return whole && (mode & ~0666UL) == 0 && (mode & 0600) == 0600 ? static_cast<mode_t>(mode) : 0;
}

bool is_health_keep(double seconds) noexcept { return seconds >= 0 && seconds <= 1e9; }

std::optional<BadValue> find_bad(const ConfigTable& c) noexcept {
  if (!merkle::is_valid_segment_size(c.segment_size)) {
    return BadValue{"SEGMENT_SIZE", "a power of two from 256 to 65536"};
  }
  if (c.window < 2 || c.window > 32768) return BadValue{"WINDOW", "2 to 32768 frames"};
  if (c.window_bytes < 4096 || c.window_bytes > (size_t{1} << 30)) {
    return BadValue{"WINDOW_BYTES", "4k to 1g"};
  }
  if (c.chunk < c.segment_size || c.chunk > (size_t{32} << 20)) {
    return BadValue{"CHUNK", "from UCX_VERITY_SEGMENT_SIZE to 32m"};
  }
  if (c.threads > 64) return BadValue{"THREADS", "0 to 64"};
  if (c.max_repairs < 1 || c.max_repairs > 1000000) return BadValue{"MAX_REPAIRS", "1 to 1000000"};
  if (!(c.linger >= 0 && c.linger <= 3600)) return BadValue{"LINGER", "0 to 3600s"};
  if (parse_mode(c.health_mode) == 0)
    return BadValue{"HEALTH_MODE", "0600 to 0666, readable and writable by its owner"};
  if (!is_health_keep(c.health_keep)) return BadValue{"HEALTH_KEEP", "0 to 1000000000s"};
  if (c.ack_polls < 1) return BadValue{"ACK_POLLS", "1 or more"};
  if (!(c.copy_after > 0 && c.copy_after <= 60)) return BadValue{"COPY_AFTER", "1us to 60s"};
  if (!(c.probe_after > 0 && c.probe_after <= 60)) return BadValue{"PROBE_AFTER", "1us to 60s"};
  if (c.pool_limit < (1u << 20)) return BadValue{"POOL_LIMIT", "1m or more"};
  if (c.held_limit < (1u << 20)) return BadValue{"HELD_LIMIT", "1m or more"};
  return std::nullopt;
}

const char* text(const char* value) noexcept { return value != nullptr ? value : ""; }

// Once per variable and value, as refuse().
ucs_status_t check_pattern(const char* variable, const char* value) {
  const std::string unknown = health::unknown_pattern(text(value));
  if (unknown.empty()) return UCS_OK;
  static std::atomic<const char*> last{nullptr};
  if (last.exchange(variable) != variable) {
    util::complain("ucx-verity: UCX_VERITY_%s=%s: %s stands for nothing; allowed: %s\n", variable,
                   value, unknown.c_str(), health::kFilePatterns);
  }
  return UCS_ERR_INVALID_PARAM;
}

// Names what is wrong on stderr.
ucs_status_t check(const ConfigTable& c) {
  if (const auto bad = find_bad(c)) return refuse(bad->variable, bad->allowed);
  const ucs_status_t status = check_pattern("ATTEST_FILE", c.attest_file);
  return status != UCS_OK ? status : check_pattern("FAULT_LOG", c.fault_log);
}

uint64_t nanoseconds(double seconds) noexcept { return static_cast<uint64_t>(seconds * 1e9); }

// As peers will have it (Process::host_of()): by another name they would be other hosts.
std::string host_text(const char* value) {
  std::string host = text(value);
  std::replace_if(
      host.begin(), host.end(), [](char c) { return c <= 0x20 || c >= 0x7f; }, '?');
  return host;
}

// In the folder in which the process was at first: programs go to others.
std::string from_first_folder(const char* name, bool is_pattern) {
  static const char* const first = get_current_dir_name();
  if (text(name)[0] == '\0' || name[0] == '/' || first == nullptr) return text(name);
  std::string path;
  for (const char c : std::string_view(first))
    path += is_pattern && c == '%' ? "%%" : std::string(1, c);
  return path + "/" + name;
}

// Where the process reports, and to whom; a bad value leaves the default.
void set_reports(const ConfigTable& c, Options* o) {
  o->attest = static_cast<health::AttestPolicy>(c.attest);
  if (health::unknown_pattern(text(c.attest_file)).empty())
    o->attest_file = from_first_folder(c.attest_file, true);
  o->attest_ranks = c.attest_ranks != 0;
  if (health::unknown_pattern(text(c.fault_log)).empty())
    o->fault_log = from_first_folder(c.fault_log, true);
  o->fault_log_limit = c.fault_log_limit;
  o->fault_text = static_cast<FaultText>(c.fault_text);
  o->health.enabled = c.health != 0;
  o->health.directory = from_first_folder(c.health_dir, false);
  if (const mode_t mode = parse_mode(c.health_mode)) o->health.mode = mode;
  if (is_health_keep(c.health_keep)) o->health_keep = nanoseconds(c.health_keep);
  o->host = host_text(c.host);
}

// Nearly always the same as before: each memory domain reads the same variables.
void use(const Options& o) {
  if (o != options()) current.store(new Options(o), std::memory_order_release);
}

// Other variables are bad: no memory domain opens, and the process says so where it would report.
void use_reports(const ConfigTable& c) {
  if (current.load(std::memory_order_relaxed) != nullptr) return;
  Options o;
  set_reports(c, &o);
  use(o);
}

}  // namespace

const Options& options() noexcept {
  if (const Options* set = current.load(std::memory_order_acquire)) return *set;
  static const Options* const defaults = new Options;  // outlives every static destructor
  return *defaults;
}

const char* mode_name(link::Mode mode) noexcept { return kModeNames[static_cast<unsigned>(mode)]; }

namespace {

// Of the site's policy: what the parser takes and configure() does not.
std::optional<BadValue> find_any_bad(const void* values) {
  const auto& c = *static_cast<const ConfigTable*>(values);
  if (const auto bad = find_bad(c)) return bad;
  if (!health::unknown_pattern(text(c.attest_file)).empty())
    return BadValue{"ATTEST_FILE", health::kFilePatterns};
  if (!health::unknown_pattern(text(c.fault_log)).empty())
    return BadValue{"FAULT_LOG", health::kFilePatterns};
  return std::nullopt;
}

// Read by the first call, before the options are.
SitePolicy& site_policy() {
  static SitePolicy* const policy = new SitePolicy(
      {.fields = option_fields(), .size = sizeof(ConfigTable), .check = find_any_bad},
      reports_for_job());
  return *policy;
}

// A chunk holds a segment at least. Where the site bounds one of the two, a value of the user's
// other one that does not go with it gives way, as it does to a limit of its own.
void fit_segment_and_chunk(const SitePolicy& policy, ConfigTable* c) {
  if (c->chunk >= c->segment_size || !merkle::is_valid_segment_size(c->segment_size)) return;
  using End = SitePolicy::End;
  const std::string segment_size = "UCX_VERITY_SEGMENT_SIZE", chunk = "UCX_VERITY_CHUNK";
  std::string name = segment_size, by = policy.binding(chunk, End::kHighest, c);
  if (by.empty()) {
    name = chunk;
    by = policy.binding(segment_size, End::kLowest, c);
  }
  if (by.empty()) return;
  const std::string given = policy.text_of(name, c);
  if (name == segment_size) {
    c->segment_size = std::bit_floor(c->chunk);
  } else {
    c->chunk = c->segment_size;
  }
  static std::atomic<bool> is_said{false};
  if (!is_said.exchange(true) && reports_for_job()) {
    util::complain("ucx-verity: %s=%s is not used: %s; %s is used\n", name.c_str(), given.c_str(),
                   by.c_str(), policy.text_of(name, c).c_str());
  }
}

// A lock, or a limit, replaces what UCX's parser has read.
void apply_site(SitePolicy& policy, ConfigTable* c) {
  policy.apply(c);
  fit_segment_and_chunk(policy, c);
}

// UCX refuses the memory domains of a component whose variables it cannot read, and goes on with
// those of others: the raw ones must be hidden all the same, unless that was surely not wished.
bool is_transparent_unparsed(const SitePolicy& policy, uct_component_t* component) {
  const std::string value = policy.unparsed(component, "UCX_VERITY_TRANSPARENT");
  constexpr const char* kNo[] = {"n", "no", "0", "off", "false"};
  return std::none_of(std::begin(kNo), std::end(kNo),
                      [&](const char* no) { return strcasecmp(value.c_str(), no) == 0; });
}

void report_unparsed(SitePolicy& policy, uct_component_t* component) {
  ConfigTable values{};
  policy.read_each(component, &values);
  apply_site(policy, &values);
  use_reports(values);
  policy.release(&values);
}

}  // namespace

bool read_first(uct_component_t* component) noexcept {
  uct_md_config_t* config = nullptr;
  try {
    SitePolicy& policy = site_policy();
    if (uct_md_config_read(component, nullptr, nullptr, &config) == UCS_OK) {
      auto* values = reinterpret_cast<ConfigTable*>(config);
      apply_site(policy, values);
      transparent = values->transparent != 0;
    } else {
      transparent = is_transparent_unparsed(policy, component);
      report_unparsed(policy, component);
    }
  } catch (const std::bad_alloc&) {}
  if (config != nullptr) uct_config_release(config);
  return transparent;
}

bool is_transparent() noexcept { return transparent.load(std::memory_order_relaxed); }

ucs_status_t configure(const uct_md_config_t* config) {
  auto& c = *reinterpret_cast<ConfigTable*>(const_cast<uct_md_config_t*>(config));
  apply_site(site_policy(), &c);
  const ucs_status_t status = check(c);
  if (status != UCS_OK) {
    use_reports(c);
    return status;
  }
  Options o;
  set_reports(c, &o);
  o.link.mode = static_cast<link::Mode>(c.mode);
  o.link.segment_log2 = static_cast<unsigned>(std::countr_zero(c.segment_size));
  o.link.window_frames = c.window;
  o.link.window_bytes = static_cast<uint32_t>(c.window_bytes);
  o.chunk = c.chunk;
  o.progress_thread = c.progress_thread != 0;
  o.threads = c.threads;
  o.link.max_repairs = c.max_repairs;
  o.link.ack_polls = c.ack_polls;
  o.link.copy_after = nanoseconds(c.copy_after);
  o.link.probe_after = nanoseconds(c.probe_after);
  o.link.pool_limit = c.pool_limit;
  o.link.out_of_order_limit = c.held_limit;
  o.on_failure = static_cast<OnFailure>(c.on_failure);
  o.linger = nanoseconds(c.linger);
  use(o);
  return UCS_OK;
}

}  // namespace verity::uct
