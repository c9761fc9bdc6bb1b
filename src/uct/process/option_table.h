// SPDX-License-Identifier: BSD-3-Clause
//
// The UCX_VERITY_* variables as UCX's parser knows them: names, defaults, help and where it puts
// their values.
#ifndef VERITY_UCT_PROCESS_OPTION_TABLE_H
#define VERITY_UCT_PROCESS_OPTION_TABLE_H

#include <span>

#include "uct/wrap/registry.h"

namespace verity::uct {

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

// Of the plugin alone: neither the base structure's nor the end. The site's policy changes
// defaults.
[[nodiscard]] std::span<ucs_config_field_t> option_fields() noexcept;

extern const MdConfigTable kVerityConfigTable;

// Ends with nullptr.
extern const char* const kModeNames[4];

}  // namespace verity::uct

#endif
