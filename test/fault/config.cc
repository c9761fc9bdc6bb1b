// SPDX-License-Identifier: BSD-3-Clause
#include "fault/config.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdio>

#include "fault/injector.h"
#include "fault/settings.h"

namespace verity::fault {
namespace {

// What UCX's parser fills, one field for each setting.
struct FaultConfig {
  uct_md_config_t super;
  unsigned kinds;
  double rate;
  unsigned long every;
  char* frames;
  unsigned place;
  size_t header_size;
  unsigned long offset;
  unsigned long bit;
  unsigned long bits;
  unsigned long burst;
  unsigned ops;
  unsigned side;
  char* am_ids;
  char* match;
  size_t min_len;
  size_t max_len;
  char* ranks;
  char* peers;
  unsigned long my_rank;
  unsigned long seed;
  unsigned long limit;
  unsigned long after;
  double async;
  double complete;
  unsigned connect;
  int queue;
  char* report;
  unsigned long events;
};

const char* kind_names[kKindCount + 1];
const char* op_names[] = {"am", "get", "put", nullptr};
const char* place_names[] = {"any", "header", "payload", nullptr};
const char* connect_names[] = {"any", "ep", nullptr};
const char* side_names[] = {"tx", "rx", "both", nullptr};

// The names carry FAULT_ themselves, not through the table's prefix: UCX's own messages about a
// bad value print only the name.
#define OFFSET_OF(member) offsetof(FaultConfig, member)
ucs_config_field_t table[] = {
    {"FAULT_KINDS", "flip", "What to do to a frame that is hit; one of these at random.",
     OFFSET_OF(kinds), UCS_CONFIG_TYPE_BITMAP(kind_names)},
    {"FAULT_RATE", "0", "Probability for each frame to be hit.", OFFSET_OF(rate),
     UCS_CONFIG_TYPE_DOUBLE},
    {"FAULT_EVERY", "0", "Hit every n-th frame.", OFFSET_OF(every), UCS_CONFIG_TYPE_ULUNITS},
    {"FAULT_FRAMES", "", "Hit the frames of these numbers, such as 1,5,10-20.", OFFSET_OF(frames),
     UCS_CONFIG_TYPE_STRING},
    {"FAULT_PLACE", "any", "Where: header is the first FAULT_HEADER_SIZE bytes.", OFFSET_OF(place),
     UCS_CONFIG_TYPE_ENUM(place_names)},
    {"FAULT_HEADER_SIZE", "32", "Length of what counts as header.", OFFSET_OF(header_size),
     UCS_CONFIG_TYPE_MEMUNITS},
    {"FAULT_OFFSET", "auto", "Damage at this byte of the frame.", OFFSET_OF(offset),
     UCS_CONFIG_TYPE_ULUNITS},
    {"FAULT_BIT", "auto", "Flip this bit of the frame: 8 * byte + bit.", OFFSET_OF(bit),
     UCS_CONFIG_TYPE_ULUNITS},
    {"FAULT_BITS", "1", "How many bits a flip changes.", OFFSET_OF(bits), UCS_CONFIG_TYPE_ULUNITS},
    {"FAULT_BURST", "16", "How many bytes a burst changes.", OFFSET_OF(burst),
     UCS_CONFIG_TYPE_ULUNITS},
    {"FAULT_OPS", "am,get,put", "Kinds of operations whose bytes are damaged.", OFFSET_OF(ops),
     UCS_CONFIG_TYPE_BITMAP(op_names)},
    {"FAULT_SIDE", "tx", "Damage when sending, when receiving, or both.", OFFSET_OF(side),
     UCS_CONFIG_TYPE_ENUM(side_names)},
    {"FAULT_AM_IDS", "", "Only frames of these lower active message ids.", OFFSET_OF(am_ids),
     UCS_CONFIG_TYPE_STRING},
    {"FAULT_MATCH", "", "Only frames with these bytes: offset:mask:value,...", OFFSET_OF(match),
     UCS_CONFIG_TYPE_STRING},
    {"FAULT_MIN_LEN", "0", "Only frames of at least this length.", OFFSET_OF(min_len),
     UCS_CONFIG_TYPE_MEMUNITS},
    {"FAULT_MAX_LEN", "inf", "Only frames of at most this length.", OFFSET_OF(max_len),
     UCS_CONFIG_TYPE_MEMUNITS},
    {"FAULT_RANKS", "", "Only in processes of these ranks.", OFFSET_OF(ranks),
     UCS_CONFIG_TYPE_STRING},
    {"FAULT_PEERS", "", "Only what goes to these ranks; to be set in all processes.",
     OFFSET_OF(peers), UCS_CONFIG_TYPE_STRING},
    {"FAULT_MY_RANK", "auto", "This process's rank; auto: what the launcher says.",
     OFFSET_OF(my_rank), UCS_CONFIG_TYPE_ULUNITS},
    {"FAULT_SEED", "1", "Start of the random numbers.", OFFSET_OF(seed), UCS_CONFIG_TYPE_ULUNITS},
    {"FAULT_LIMIT", "inf", "At most this many faults in a process.", OFFSET_OF(limit),
     UCS_CONFIG_TYPE_ULUNITS},
    {"FAULT_AFTER", "0", "Leave this many frames alone first.", OFFSET_OF(after),
     UCS_CONFIG_TYPE_ULUNITS},
    {"FAULT_ASYNC", "0",
     "Receive asynchronously too, that often, as ud does; 0: only in calls of progress.",
     OFFSET_OF(async), UCS_CONFIG_TYPE_TIME},
    {"FAULT_COMPLETE", "0",
     "Complete zero-copy sends that much later, as ud and rc do; 0: as the lower transport does.",
     OFFSET_OF(complete), UCS_CONFIG_TYPE_TIME},
    {"FAULT_CONNECT", "any",
     "any: as the lower transport offers it; ep: endpoints to endpoints only, if it can.",
     OFFSET_OF(connect), UCS_CONFIG_TYPE_ENUM(connect_names)},
    {"FAULT_QUEUE", "n",
     "Receive from the worker's queue too, as tcp does when two connections become one; it ends "
     "the "
     "process where UCX's thread is not kept out.",
     OFFSET_OF(queue), UCS_CONFIG_TYPE_BOOL},
    {"FAULT_REPORT", "", "File for the counts; %p process, %h host; '-': stderr.",
     OFFSET_OF(report), UCS_CONFIG_TYPE_STRING},
    {"FAULT_EVENTS", "64", "How many faults the report describes one by one.", OFFSET_OF(events),
     UCS_CONFIG_TYPE_ULUNITS},
    {nullptr, nullptr, nullptr, 0, {}},
};

uint64_t or_unset(unsigned long value) {
  return value == UCS_ULUNITS_AUTO || value == UCS_ULUNITS_INF ? kUnset : value;
}

void copy_numbers(const FaultConfig& config, Settings* settings) {
  settings->kinds = config.kinds;
  settings->rate = config.rate;
  settings->every = config.every;
  settings->place = static_cast<Place>(config.place);
  settings->header_size = config.header_size;
  settings->offset = or_unset(config.offset);
  settings->bit = or_unset(config.bit);
  settings->bits = config.bits;
  settings->burst = config.burst;
  settings->ops = config.ops;
  settings->sides = config.side + 1;  // tx, rx, both as bits
  settings->min_len = config.min_len;
  settings->max_len = config.max_len;
  settings->seed = config.seed;
  settings->limit = or_unset(config.limit);
  settings->after = config.after;
  settings->async_interval = config.async;
  settings->complete_after = config.complete;
  settings->connects_ep_only = config.connect != 0;
  settings->uses_queue = config.queue != 0;
  settings->report = config.report;
  settings->events = config.events;
}

bool parse_list(const char* name, const char* text, Ranges* ranges, std::string* error) {
  if (parse_ranges(text, ranges, error)) { return true; }
  *error = std::string(name) + ": " + *error;
  return false;
}

bool choose_rank(const FaultConfig& config, Settings* settings, std::string* error) {
  settings->rank =
      config.my_rank == UCS_ULUNITS_AUTO ? rank_from_environment() : uint64_t{config.my_rank};
  Ranges ranks;
  if (!parse_list("UCX_FAULT_RANKS", config.ranks, &ranks, error) ||
      !parse_list("UCX_FAULT_PEERS", config.peers, &settings->peers, error)) {
    return false;
  }
  if ((!ranks.empty() || !settings->peers.empty()) && settings->rank == kUnset) {
    *error = std::string(ranks.empty() ? "UCX_FAULT_PEERS" : "UCX_FAULT_RANKS") +
             ": no launcher tells this process's rank; set UCX_FAULT_MY_RANK";
    return false;
  }
  settings->this_rank = contains(ranks, settings->rank);
  return true;
}

bool to_settings(const FaultConfig& config, Settings* settings, std::string* error) {
  copy_numbers(config, settings);
  settings->by_number = config.frames[0] != '\0';
  if (!parse_list("UCX_FAULT_FRAMES", config.frames, &settings->frames, error) ||
      !parse_list("UCX_FAULT_AM_IDS", config.am_ids, &settings->am_ids, error) ||
      !choose_rank(config, settings, error)) {
    return false;
  }
  if (!parse_match(config.match, &settings->match, error)) {
    *error = "UCX_FAULT_MATCH: " + *error;
    return false;
  }
  return check(*settings, error);
}

void report_once(const std::string& error) {
  static std::atomic_flag reported;
  if (!reported.test_and_set()) { std::fprintf(stderr, "%s\n", error.c_str()); }
}

}  // namespace

uct::MdConfigTable config_table() noexcept {
  std::copy(kKindNames.begin(), kKindNames.end(), kind_names);
  return {.title = uct::kInjectorTitle, .prefix = "", .table = table, .size = sizeof(FaultConfig)};
}

ucs_status_t configure(const uct_md_config_t* config) {
  Settings settings;
  std::string error;
  if (!to_settings(*reinterpret_cast<const FaultConfig*>(config), &settings, &error)) {
    report_once(error);
    return UCS_ERR_INVALID_PARAM;
  }
  injector().configure(settings);
  return UCS_OK;
}

}  // namespace verity::fault
