// SPDX-License-Identifier: BSD-3-Clause
//
// Between the plugin and the preloaded MPI interposer (libverity_mpi): two libraries of one process
// that are not linked. The interposer exports `verity_interposer`; the plugin looks it up once.
// Tagged messages begin with one of a few active messages whose payload starts with the 64-bit tag.
// The interposer may add a trailer to each, which travels in the frame and so under its hash, and
// gets the trailers of those that arrive. Plain C: either may be built with another compiler.
#ifndef VERITY_UTIL_INTERPOSER_H
#define VERITY_UTIL_INTERPOSER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Of this table and of the trailers on the wire; 1 to 15. Peers of unlike versions send each other
// none.
#define VERITY_INTERPOSER_VERSION 5
// Most bytes of a trailer. In words of 8.
#define VERITY_MAX_TRAILER 240

// A message that is about to be sent, through the endpoint `serial`, a number from 1 on that no
// other endpoint of the process ever has. `origin` is the argument of its pack callback, its
// completion, or NULL; then `data` is where the upper layer's bytes lie (am_short).
struct verity_outgoing {
  uint64_t serial;
  const void* origin;
  const void* data;
  uint8_t am_id;
};

struct verity_interposer {
  uint32_t version;
  // Bitmap of the upper active messages that begin a tagged message. 0: the interposer needs none,
  // or does not yet: it may be set at any time, after all other fields.
  uint32_t am_ids;
  // An interface of this uct_worker_h is being opened, inside of ucp_worker_create(). 0: the worker
  // is not MPI's, and none of the functions is to be called for its messages.
  int (*interface_opened)(void* uct_worker);
  // The message of `length` bytes at `message` is about to be sent. Writes its trailer, in words of
  // 8 bytes of which the last one may end with zeros, at most `room` bytes, and returns its length
  // without these; 0: none.
  size_t (*outgoing)(const struct verity_outgoing* info, const void* message, size_t length,
                     uint8_t* trailer, size_t room);
  // The message of the last outgoing(), with or without a trailer, was not sent after all: it will
  // be offered again.
  void (*not_sent)(void);
  // A message arrived, on an interface of this worker, and is handed to the upper layer next. No
  // trailer: NULL, 0. Returns NULL, or the address of a number. When that is not 0 after the upper
  // layer is done with the message, handled() is called before the message's bytes are released.
  const uint64_t* (*incoming)(void* uct_worker, uint8_t am_id, const void* message, size_t length,
                              const uint8_t* trailer, size_t trailer_length);
  void (*handled)(void* uct_worker);
  // How many sends it has begun to watch: read when a send starts, passed to changed() when its
  // bytes turn out to have changed.
  uint64_t (*watched)(void);
  // The program wrote to these bytes while they were being sent. Not 0: they belong to a pending
  // send, one of the first `watched`, and the interposer reports it. May be called in any thread
  // that makes progress.
  int (*changed)(const void* address, size_t length, uint64_t watched);
  // Three numbers, valid until the process ends: messages compared, mismatched, not compared. They
  // get what was counted so far, and all that is counted from now on.
  void (*count_into)(uint64_t* counts);
};

#ifdef __cplusplus
}
#endif

#endif
