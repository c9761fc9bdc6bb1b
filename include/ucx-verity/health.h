/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The health file: what one process counts, readable while it runs and after it was killed.
 * `ucx-verity status` reads it, and anything else may: this header is its documentation and needs
 * nothing but C99.
 *
 * Where: /dev/shm/ucx-verity-UID/, or the folder in UCX_VERITY_HEALTH_DIR. One file per process,
 * "PID-RANDOM.health"; other names there, those that begin with a dot above all, are none. A file
 * appears complete (it is renamed into place), only grows, and stays when its process ends.
 *
 *   0                +--------------------------------------------+
 *                    |  ucx_verity_health_header                  |  header_size bytes
 *   names_offset     +--------------------------------------------+
 *                    |  name of counter 0, zero padded            |  name_size bytes each
 *                    |  name of counter 1                         |
 *                    |  ...                                       |
 *   rows_offset      +--------------------------------------------+
 *                    |  row 0: ucx_verity_health_row              |  row_size bytes each
 *                    |         counters, from counters_offset on  |  counter_count x uint64_t
 *                    |  row 1                                     |
 *                    |  ...                                       |  row_count of them
 *                    +--------------------------------------------+
 *
 * Numbers are in the machine's own byte order. Times are nanoseconds of CLOCK_REALTIME, 0 where
 * there is none. Texts are cut to their field and always end with a zero byte. Reserved bytes are
 * zero.
 *
 * How to read it: the file is another process's, and may be damaged or made by somebody else on
 * purpose. Open it without following links and without blocking, see that it is a regular file,
 * copy it (pread; a mapping of a file that is cut meanwhile ends in SIGBUS), then check every
 * offset and size against the length of the copy. Find counters by name: their number and order
 * change from version to version, the layout of what is above only with `layout`.
 *
 * A counter belongs to one thread of its process, which increments it without locks: a copy holds
 * what was there at some moment while it was made, and is exact once the process rests. Sums of a
 * path or of the process are sums of rows: nothing is counted in two of them.
 *
 * Whether the process still runs: it does if somebody holds a write lock (fcntl, F_GETLK) on the
 * file, or if the process `pid` of this boot has the start time `start_ticks` and, where both are
 * known, the mark `stack_mark`. If neither, and `state` is still UCX_VERITY_HEALTH_RUNNING, it was
 * killed, or runs another program.
 *
 * Several hosts may share a folder. Where `boot_id` and `host` are both those of another host, and
 * no process holds the lock, only that host knows whether the process runs.
 */
#ifndef UCX_VERITY_HEALTH_H
#define UCX_VERITY_HEALTH_H

#include <stdint.h>

#define UCX_VERITY_HEALTH_MAGIC "UCXVHLTH" /* eight bytes, without the zero */
#define UCX_VERITY_HEALTH_LAYOUT 1u
#define UCX_VERITY_HEALTH_SUFFIX ".health"

/* ucx_verity_health_header.state */
enum {
  UCX_VERITY_HEALTH_RUNNING = 1,
  UCX_VERITY_HEALTH_ENDED = 2, /* at `ended_ns`, as processes should */
  UCX_VERITY_HEALTH_KILLED = 3 /* found dead by another process, at `ended_ns` */
};

/* Whether a message ever passed the plugin: if one did, the sum of the counter `links_opened` over
 * all rows is not 0. The ranks of an MPI job make their files when they load the plugin, other
 * processes when they open the first link. */

/* ucx_verity_health_row.kind */
enum {
  UCX_VERITY_HEALTH_PROCESS = 1,   /* what belongs to no interface */
  UCX_VERITY_HEALTH_INTERFACE = 2, /* what belongs to an interface and to no peer */
  UCX_VERITY_HEALTH_PEER = 3,      /* all links of an interface to one host */
  UCX_VERITY_HEALTH_OTHERS =
      4 /* links to hosts that found no row of their own, or one whose name is not known: such a row
           becomes a _PEER's when the host has told it, after `peer` was filled in */
};

/* ucx_verity_health_row.flags */
enum {
  UCX_VERITY_HEALTH_INJECTED =
      1 /* a test transport below makes faults on purpose: they say nothing of this host */
};

/* One structure, with a field for all that a reader may want to know of the process: the first page
 * of the file, which a reader maps and checks as a whole. */
struct ucx_verity_health_header {
  char magic[8];
  uint32_t layout;      /* UCX_VERITY_HEALTH_LAYOUT */
  uint32_t header_size; /* at least the size of this structure */
  uint32_t counter_count;
  uint32_t name_size;
  uint32_t names_offset;
  uint32_t rows_offset;
  uint32_t row_size;
  uint32_t counters_offset; /* within a row */
  uint32_t row_count;       /* rows in use; only grows, after the new row was filled in */
  uint32_t state;
  uint64_t pid; /* as the process sees it: in a container another one than outside */
  uint64_t
      start_ticks; /* of /proc/PID/stat (field 22): tells a process from a later one with its pid */
  uint64_t created_ns;
  uint64_t ended_ns;
  uint32_t uid;
  uint32_t stack_mark; /* field 28 of that, which exec() changes, folded into 1 to 255, as it is no
                          other user's to know; 0: not known, and from versions that had none */
  char mode[8];        /* verify, observe, off */
  char host[64];
  char peer_name[24]; /* the host as peers know it: `host`, or an abbreviation */
  char program[64];
  char rank[16];    /* empty: not started by a launcher that tells */
  char version[24]; /* of ucx-verity */
  char ucx_version[24];
  char boot_id[40]; /* of /proc/sys/kernel/random/boot_id */
  char job[64];     /* of the batch system; this and `step` are empty where there is none, and from
                       versions that had none */
  char step[16];    /* of the job, where the batch system started the process itself */
  uint8_t reserved[80];
};

struct ucx_verity_health_row {
  uint32_t kind;
  uint32_t open; /* 1: an interface counts here; 0: it is closed, another one of the same name may
                    go on with the row */
  uint64_t opened_ns;
  char transport[24]; /* as UCX_TLS names it, with its v: "vtcp" */
  char device[32];    /* as UCX names it: "eth0", "mlx5_0:1" */
  uint32_t flags;     /* UCX_VERITY_HEALTH_INJECTED; versions that had no flags wrote zero */
  uint8_t reserved[12];
  char peer[40]; /* host; only of rows of the kind _PEER */
  /* uint64_t counters[counter_count] follow at counters_offset */
};

#endif
