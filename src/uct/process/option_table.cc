// SPDX-License-Identifier: BSD-3-Clause
#include "uct/process/option_table.h"

#include <cstddef>
#include <iterator>

#include "health/report/attestation.h"

namespace verity::uct {

const char* const kModeNames[] = {"off", "observe", "verify", nullptr};

namespace {

// Filled on purpose as far as the enumerations go: the parser's index is the value.
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

}  // namespace

const MdConfigTable kVerityConfigTable = {
    .title = "Verified memory domain",
    .prefix = "VERITY_",
    .table = kFields,
    .size = sizeof(ConfigTable),
};

std::span<ucs_config_field_t> option_fields() noexcept {
  return std::span(kFields).subspan(1, std::size(kFields) - 2);
}

}  // namespace verity::uct
