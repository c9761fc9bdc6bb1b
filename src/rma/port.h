// SPDX-License-Identifier: BSD-3-Clause
// What remote memory access needs from below and above it. Implemented by the UCT interface and by
// the tests.
#ifndef VERITY_RMA_PORT_H
#define VERITY_RMA_PORT_H

#include <cstddef>
#include <cstdint>

#include "health/faults/fault_kind.h"
#include "health/faults/syndrome.h"
#include "rma/peer.h"
#include "wire/rma.h"

namespace verity::rma {

struct Chunk;
struct Fetch;
class Hasher;
struct Read;

enum class Started : uint8_t {
  kUnderWay,  // Client::landed() will be called for it
  kDone,      // the bytes are there
  kBusy,      // no resources now: try again
  kFailed,
};

// A part of a read that was not what the peer had; reported once, when it is right.
struct ReadFault {
  health::FaultKind kind;
  uint64_t offset;    // of the part in the read, and of the syndrome's positions
  uint32_t length;    // bytes of the part
  uint32_t segments;  // of it that were damaged
  uint32_t attempts;  // times that bytes of it were read again
  const health::Syndrome*
      syndrome;  // nullptr: the program changed them, or no right bytes to compare
};

class Port {
 public:
  virtual ~Port() = default;

  // Room for a message of `length` bytes to the peer, at most max_message(); nullptr: none now, try
  // again. It is sent with send_message() before anything else is done; `length` may be less then.
  virtual uint8_t* open_message(Peer& peer, size_t length) noexcept = 0;
  virtual void send_message(Peer& peer, size_t length) noexcept = 0;
  // The same for the refusal of a put, which has room where nothing else has: the peer must not
  // have the acknowledgement of the put before it. nullptr: it is opened again later, and the
  // acknowledgement waits.
  virtual uint8_t* open_refusal(Peer& peer, size_t length) noexcept {
    return open_message(peer, length);
  }
  // Whether it is worth trying. When not, something will happen that makes it so: no need to stay
  // awake.
  [[nodiscard]] virtual bool has_room(const Peer& peer) const noexcept = 0;
  [[nodiscard]] virtual size_t max_message() const noexcept = 0;

  // How far the messages to the peer have got: what was sent until now, and whether the peer has
  // taken all of that.
  [[nodiscard]] virtual uint32_t mark(Peer& peer) noexcept = 0;
  [[nodiscard]] virtual bool has_taken(Peer& peer, uint32_t mark) noexcept = 0;

  // Whether what is started now had to wait while a fence came: it is of the time before the fence.
  [[nodiscard]] virtual bool is_before_fence() const noexcept { return false; }

  // Somebody waits for has_taken(): the peer is not to wait for traffic of its own before it says
  // so.
  virtual void request_ack(Peer&) noexcept {}

  // Has the lower transport read bytes [offset, offset + length) of the chunk's Read from the
  // peer's memory into place. Each kUnderWay is answered by one Client::landed(), never inside this
  // call.
  virtual Started read(Chunk& chunk, uint64_t offset, uint64_t length) noexcept = 0;

  // Other threads that hash; nullptr: none. The same as long as anything is submitted there.
  [[nodiscard]] virtual Hasher* hasher() noexcept { return nullptr; }

  // Calls use(arg), which reads and writes `length` bytes of our own memory at `address` and does
  // nothing else. False: the program took them away; use() then ended somewhere in between.
  [[nodiscard]] virtual bool access(uint64_t address, size_t length, void (*use)(void*),
                                    void* arg) noexcept = 0;

  // The Read is over: the port completes the upper operation, later, and calls Client::release().
  virtual void finished(Read& read) noexcept = 0;
  // The same for a Fetch, which is gone on return. `data`: nullptr unless fetch.status is kOk.
  virtual void fetched(Fetch& fetch, const uint8_t* data, size_t length) noexcept = 0;

  // The peer refused a put: the endpoint is to fail, as with hardware. `revoked`: because its
  // program has deregistered the memory since, so that nothing there waits for the bytes; the next
  // flush is to fail.
  virtual void refused(Peer& peer, bool revoked) noexcept = 0;
  // The bytes that `read` asked for were not what the peer had, and are right now; for the log.
  // `by_program`: the peer's own program wrote to them meanwhile; of each Read only the first time.
  virtual void mismatched(const Read& read, uint64_t offset, uint64_t length, const char* what,
                          bool by_program) noexcept = 0;
  // At the owner: while the peer read these bytes of ours, our own program wrote to them.
  virtual void source_changed(Peer& peer, uint64_t address, uint32_t length) noexcept = 0;
  // The same for the records, with what was wrong; also where nothing is repaired.
  virtual void diagnosed(const Read&, const ReadFault&) noexcept {}
};

}  // namespace verity::rma

#endif
