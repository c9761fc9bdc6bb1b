// SPDX-License-Identifier: BSD-3-Clause
#include "uct/process/options.h"

#include <strings.h>

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
#include "uct/process/site_policy.h"
#include "util/complain.h"

namespace verity::uct {

namespace {

// What UCX's parser fills: plain C, starts with the base structure.
struct ConfigTable {
  uct_md_config_t super;
  int mode;
  int transparent;
  size_t segment_size;
  unsigned window;
  size_t window_bytes;
  size_t chunk;
  int progress_thread;
  unsigned threads;
  unsigned max_repairs;
  int on_failure;
  double linger;
  int attest;
  char* attest_file;
  int attest_ranks;
  char* fault_log;
  unsigned fault_log_limit;
  int fault_text;
  int health;
  char* health_dir;
  char* health_mode;
  double health_keep;
  char* host;
  unsigned ack_polls;
  double copy_after;
  double probe_after;
  size_t pool_limit;
  size_t held_limit;
  char* extra_modules;
  char* typecheck;
  char* typecheck_level;
  char* typecheck_log;
  int typecheck_digest;
};

// Filled on purpose as far as the enumerations go: the parser's index is the value.
const char* const kModeNames[] = {"off", "observe", "verify", nullptr};
const char* const kFaultTextNames[] = {"none", "info", "warn", "syslog", nullptr};
const char* const kOnFailureNames[] = {"auto", "abort", "error", nullptr};

#define FIELD(member) offsetof(ConfigTable, member)

ucs_config_field_t kFields[] = {
    {"", "", nullptr, FIELD(super), UCS_CONFIG_TYPE_TABLE(uct_md_config_table)},
    {"MODE", "verify",
     "verify:  check every payload, retransmit what is damaged.\n"
     "observe: check and count, deliver unrepaired, keep no copy.\n"
     "off:     pass everything through unchecked.\n"
     "Two peers use the lower of their modes (off < observe < verify).",
     FIELD(mode), UCS_CONFIG_TYPE_ENUM(kModeNames)},
    {"TRANSPARENT", "n",
     "y: wrapped transports have the names of UCX's own, which are hidden: UCX_TLS, its aliases\n"
     "and MPI libraries' filters need no change, and nothing can bypass the plugin on them.\n"
     "Set it for every process of a job: peers without it are refused.",
     FIELD(transparent), UCS_CONFIG_TYPE_BOOL},
    {"SEGMENT_SIZE", "8k",
     "Bytes of a segment (Merkle leaf), the unit of retransmission: a power of two from 256\n"
     "to 64k. Payloads up to this size cost a single hash.",
     FIELD(segment_size), UCS_CONFIG_TYPE_MEMUNITS},
    {"WINDOW", "512", "Frames in flight per link before the sender waits for acknowledgement.",
     FIELD(window), UCS_CONFIG_TYPE_UINT},
    {"WINDOW_BYTES", "512k",
     "Bytes in flight per link before the sender waits for acknowledgement.", FIELD(window_bytes),
     UCS_CONFIG_TYPE_MEMUNITS},
    {"CHUNK", "256k",
     "Bytes of a chunk, the unit in which large remote reads (rendezvous, MPI_Get) are "
     "transferred\n"
     "and verified, several at a time: from the segment size to 32m; at most 512 segments are "
     "used.",
     FIELD(chunk), UCS_CONFIG_TYPE_MEMUNITS},
    {"PROGRESS_THREAD", "n",
     "y: while the program makes no progress, UCX's asynchronous thread acknowledges, "
     "retransmits,\n"
     "answers digest requests and serves one-sided operations. Costs a lock per message.",
     FIELD(progress_thread), UCS_CONFIG_TYPE_BOOL},
    {"THREADS", "0",
     "Threads of each process that compute the digests of remote reads larger than 128k, in place "
     "of\n"
     "the program's thread. Useful where cores are idle.",
     FIELD(threads), UCS_CONFIG_TYPE_UINT},
    {"MAX_REPAIRS", "16", "Retransmissions of one frame before the link fails.", FIELD(max_repairs),
     UCS_CONFIG_TYPE_UINT},
    {"ON_FAILURE", "auto",
     "When a link fails. auto: the endpoint's error handler is called; where there is none,\n"
     "the process aborts with one line, because pending receives cannot complete. abort: always "
     "abort.\n"
     "error: only the error handler.",
     FIELD(on_failure), UCS_CONFIG_TYPE_ENUM(kOnFailureNames)},
    {"LINGER", "1s",
     "Bound on the wait of a closing interface for its last acknowledgements. The wait ends after "
     "an\n"
     "eighth of this when none arrives.",
     FIELD(linger), UCS_CONFIG_TYPE_TIME},
    {"ATTEST", "auto",
     "Attestation on stderr at the end of a job: one for its ranks on each host, one per process\n"
     "elsewhere. always, never, or auto: if anything was damaged or repaired, bypassed the plugin, "
     "or\n"
     "no message used it.",
     FIELD(attest), UCS_CONFIG_TYPE_ENUM(health::kAttestPolicyNames)},
    {"ATTEST_FILE", "",
     "File to which each process appends its own attestation as a line of JSON. %h: host, %j: job "
     "id,\n"
     "%s: job step, %r: rank, %p: process id, %x: program, %%: a percent sign.",
     FIELD(attest_file), UCS_CONFIG_TYPE_STRING},
    {"ATTEST_RANKS", "n", "y: one attestation per rank instead of one per host.",
     FIELD(attest_ranks), UCS_CONFIG_TYPE_BOOL},
    {"FAULT_LOG", "",
     "File to append a line of JSON to for each fault: what was wrong, where, and between whom.\n"
     "%h: host, %j: job id, %s: job step, %r: rank, %p: process id, %x: program, %%: a percent "
     "sign.",
     FIELD(fault_log), UCS_CONFIG_TYPE_STRING},
    {"FAULT_LOG_LIMIT", "10000",
     "Most lines that one process writes there: the first 1000 at once, then ten per second; the "
     "next\n"
     "line counts those omitted.",
     FIELD(fault_log_limit), UCS_CONFIG_TYPE_UINT},
    {"FAULT_TEXT", "info",
     "Where faults appear as lines of text, key=value, the first ten at once and then one in ten\n"
     "seconds. info, warn: UCX's log at that level (UCX_LOG_LEVEL, by default warn). syslog. none.",
     FIELD(fault_text), UCS_CONFIG_TYPE_ENUM(kFaultTextNames)},
    {"HEALTH", "y",
     "Keep the counters in a file, read by 'ucx-verity status' while the process runs and after "
     "its\n"
     "end. n: in private memory.",
     FIELD(health), UCS_CONFIG_TYPE_BOOL},
    {"HEALTH_DIR", "",
     "Existing directory for that file: owned by the user, or root-owned with mode 1777. Empty:\n"
     "/dev/shm/ucx-verity-UID, which is created.",
     FIELD(health_dir), UCS_CONFIG_TYPE_STRING},
    {"HEALTH_MODE", "0600", "Permissions of that file, in octal; 0644 lets others read it.",
     FIELD(health_mode), UCS_CONFIG_TYPE_STRING},
    {"HEALTH_KEEP", "60m",
     "Age at which files of ended processes are removed by processes that start.",
     FIELD(health_keep), UCS_CONFIG_TYPE_TIME},
    {"HOST", "",
     "Name of this host in counters and records; peers receive at most 20 bytes of it. Empty: the\n"
     "host name up to the first dot.",
     FIELD(host), UCS_CONFIG_TYPE_STRING},
    {"ACK_POLLS", "64",
     "Progress calls without reverse traffic after which an acknowledgement is sent in its own "
     "frame.",
     FIELD(ack_polls), UCS_CONFIG_TYPE_UINT},
    {"COPY_AFTER", "100us",
     "Time after which an unacknowledged zero-copy send is copied to a bounce buffer and "
     "completed.",
     FIELD(copy_after), UCS_CONFIG_TYPE_TIME},
    {"PROBE_AFTER", "1ms", "Initial probe timeout; backs off by a factor of four.",
     FIELD(probe_after), UCS_CONFIG_TYPE_TIME},
    {"POOL_LIMIT", "64m",
     "Bytes per interface of frames that await acknowledgement. At the limit, sends wait.",
     FIELD(pool_limit), UCS_CONFIG_TYPE_MEMUNITS},
    {"HELD_LIMIT", "32m",
     "Bytes per interface of the out-of-order queue, in which frames wait for an earlier one to "
     "be\n"
     "repaired. At the limit, further frames are dropped; the sender retransmits them.",
     FIELD(held_limit), UCS_CONFIG_TYPE_MEMUNITS},
    {"EXTRA_MODULES", "",
     "Further transport modules that the preload library makes UCX load, separated by ':'.",
     FIELD(extra_modules), UCS_CONFIG_TYPE_STRING},
    // Read by the MPI interposer (src/mpi): here so that UCX lists them and does not take them for
    // misspelt ones.
    {"TYPECHECK", "off",
     "With libverity_mpi_openmpi or libverity_mpi_mpich preloaded: compare the MPI datatypes of "
     "each\n"
     "message's send and receive. off, warn (report on stderr), or error (and MPI_ERR_TYPE by the\n"
     "communicator's error handler).",
     FIELD(typecheck), UCS_CONFIG_TYPE_STRING},
    {"TYPECHECK_LEVEL", "layout",
     "layout: elements differ in class (signed, float, ...) or size. names: their names differ "
     "too,\n"
     "as MPI_INT and MPI_INT32_T do.",
     FIELD(typecheck_level), UCS_CONFIG_TYPE_STRING},
    {"TYPECHECK_DIGEST", "n",
     "y: also compare a digest of each point-to-point message's data, from the sender's buffer "
     "when the\n"
     "send is called and from the receiver's on arrival. Set it in all processes, with TYPECHECK; "
     "host\n"
     "memory only.",
     FIELD(typecheck_digest), UCS_CONFIG_TYPE_BOOL},
    {"TYPECHECK_LOG", "", "File to append each report of datatypes to, as a line of JSON.",
     FIELD(typecheck_log), UCS_CONFIG_TYPE_STRING},
    {nullptr, "", nullptr, 0, {}}};

#undef FIELD

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
  if (!(c.health_keep >= 0 && c.health_keep <= 1e9))
    return BadValue{"HEALTH_KEEP", "0 to 1000000000s"};
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

ucs_status_t check_patterns(const ConfigTable& c) {
  const ucs_status_t status = check_pattern("ATTEST_FILE", c.attest_file);
  return status != UCS_OK ? status : check_pattern("FAULT_LOG", c.fault_log);
}

uint64_t nanoseconds(double seconds) noexcept { return static_cast<uint64_t>(seconds * 1e9); }

}  // namespace

const MdConfigTable kVerityConfigTable = {
    .title = "Verified memory domain",
    .prefix = "VERITY_",
    .table = kFields,
    .size = sizeof(ConfigTable),
};

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
  static SitePolicy* const policy =
      new SitePolicy({.fields = std::span(kFields).subspan(1, std::size(kFields) - 2),
                      .size = sizeof(ConfigTable),
                      .check = find_any_bad},
                     reports_for_job());
  return *policy;
}

}  // namespace

namespace {

// UCX refuses the memory domains of a component whose variables it cannot read, and goes on with
// those of others: the raw ones must be hidden all the same, unless that was surely not wished.
bool is_transparent_unparsed(const SitePolicy& policy) noexcept {
  const char* value = policy.unparsed("UCX_VERITY_TRANSPARENT");
  constexpr const char* kNo[] = {"n", "no", "0", "off", "false"};
  return std::none_of(std::begin(kNo), std::end(kNo),
                      [&](const char* no) { return strcasecmp(value, no) == 0; });
}

}  // namespace

bool read_first(uct_component_t* component) noexcept {
  uct_md_config_t* config = nullptr;
  try {
    SitePolicy& policy = site_policy();
    if (uct_md_config_read(component, nullptr, nullptr, &config) == UCS_OK) {
      policy.apply(config);
      transparent = reinterpret_cast<const ConfigTable*>(config)->transparent != 0;
    } else {
      transparent = is_transparent_unparsed(policy);
    }
  } catch (const std::bad_alloc&) {}
  if (config != nullptr) uct_config_release(config);
  return transparent;
}

bool is_transparent() noexcept { return transparent.load(std::memory_order_relaxed); }

// A lock, or a limit, replaces what UCX's parser has read.
ucs_status_t configure(const uct_md_config_t* config) {
  auto& c = *reinterpret_cast<ConfigTable*>(const_cast<uct_md_config_t*>(config));
  site_policy().apply(&c);
  if (const auto bad = find_bad(c)) return refuse(bad->variable, bad->allowed);
  const ucs_status_t status = check_patterns(c);
  if (status != UCS_OK) return status;
  auto made = std::make_unique<Options>();
  Options& o = *made;
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
  o.attest = static_cast<health::AttestPolicy>(c.attest);
  o.fault_log = text(c.fault_log);
  o.fault_log_limit = c.fault_log_limit;
  o.fault_text = static_cast<FaultText>(c.fault_text);
  o.attest_file = text(c.attest_file);
  o.attest_ranks = c.attest_ranks != 0;
  o.health.enabled = c.health != 0;
  o.health.directory = text(c.health_dir);
  o.health.mode = parse_mode(c.health_mode);
  o.health_keep = nanoseconds(c.health_keep);
  o.host = text(c.host);
  // Nearly always the same: each memory domain reads the same variables.
  if (o != options()) current.store(made.release(), std::memory_order_release);
  return UCS_OK;
}

}  // namespace verity::uct
