// SPDX-License-Identifier: BSD-3-Clause
//
// Between the plugin and the preloaded companion (libverity_mpi), which meet in one process without
// being linked: the companion exports `verity_companion`, the plugin looks for it once. Tagged
// messages begin with one of a few active messages whose payload starts with the 64-bit tag; the
// companion may give each of them a trailer, which travels in the frame and so under its hash, and
// is told of the trailers that arrive. Plain C: either may be built with another compiler.
#ifndef VERITY_UTIL_COMPANION_H
#define VERITY_UTIL_COMPANION_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Of this table and of the trailers on the wire; 1 to 15. Peers of unlike versions send each other
// none.
#define VERITY_COMPANION_VERSION 4
// Most bytes of a trailer. In words of 8.
#define VERITY_MAX_TRAILER 240

// A message that is about to leave, through the endpoint `serial`, a number from 1 on that no other
// endpoint of the process ever has. `origin` is the argument of its pack callback, its completion,
// or NULL; then `data` is where the upper layer's bytes lie (am_short).
struct verity_leaving {
  uint64_t serial;
  const void* origin;
  const void* data;
  uint8_t am_id;
};

struct verity_companion {
  uint32_t version;
  // Bitmap of the upper active messages that begin a tagged message. 0: nothing is wanted.
  uint32_t am_ids;
  // An interface of this uct_worker_h was opened, inside of ucp_worker_create().
  void (*opened)(void* uct_worker);
  // The message of `length` bytes at `message` is about to leave. Writes its trailer, in words of 8
  // bytes of which the last one may end with zeros, at most `room` bytes, and returns its length
  // without these; 0: none.
  size_t (*departs)(const struct verity_leaving* leaving, const void* message, size_t length,
                    uint8_t* trailer, size_t room);
  // The message of the last departs(), with or without a trailer, could not leave after all: it
  // will be offered again.
  void (*stayed)(void);
  // A message arrived, on an interface of this worker, and is handed to the upper layer next. No
  // trailer: NULL, 0. Returns NULL, or where to look when the upper layer is done with it: a number
  // other than 0 there asks for arrived(), before the message's bytes go.
  const uint64_t* (*arrives)(void* uct_worker, uint8_t am_id, const void* message, size_t length,
                             const uint8_t* trailer, size_t trailer_length);
  void (*arrived)(void* uct_worker);
  // How many sends it has begun to watch: taken when bytes leave, told to changed() when they turn
  // out to have changed.
  uint64_t (*watched)(void);
  // The program wrote to these bytes while they were on their way to a peer. Not 0: they belong to
  // a send that is under way, one of the first `watched`, and the companion tells of it. May be
  // called in any thread that makes progress.
  int (*changed)(const void* address, size_t length, uint64_t watched);
  // Three numbers, there until the process ends: messages compared, mismatched, not compared. They
  // get what was counted so far, and all that is counted from now on.
  void (*count_into)(uint64_t* counts);
};

#ifdef __cplusplus
}
#endif

#endif
