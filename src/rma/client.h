// SPDX-License-Identifier: BSD-3-Clause
// The reader's side of remote memory access, for one interface.
//
// A Read is cut into chunks. For each the lower transport reads the bytes and their digest is
// requested from the peer, both at once; when the bytes are there they are hashed, in bounded
// slices, and compared. Only a mismatch costs more:
//
//   kTransfer  read and HASH under way; hashing; equal: done
//   kLeaves    all leaves were requested from the peer: it reads its memory a second time, too
//   kReread    what differs is read again and compared; then kLeaves again
//   kSnapshot  after some rounds: the rest comes in frames, which are checked on their own
//
// A Fetch is a small read in frames, or an atomic operation whose result is wanted. One thread at a
// time, as for the links; upper callbacks never run in here (see Port).
#ifndef VERITY_RMA_CLIENT_H
#define VERITY_RMA_CLIENT_H

#include <algorithm>
#include <memory>
#include <vector>

#include "health/counters.h"
#include "merkle/geometry.h"
#include "merkle/hash.h"
#include "rma/descent.h"
#include "rma/port.h"
#include "rma/spares.h"
#include "rma/tickets.h"
#include "util/list.h"

namespace verity::rma {

inline constexpr size_t kMaxPieces = 16;

// More than 15 fields: what is read, how far it got, and what the port needs for its end.
struct Read {
  util::ListNode node;
  util::ListNode in_order;
  Peer* peer = nullptr;
  uint64_t token = 0;
  uint64_t address = 0;            // the peer's
  uint64_t length = 0;             // bytes
  util::Piece pieces[kMaxPieces];  // where they go: memory that is written
  uint32_t count = 0;              // of pieces
  uint64_t most = ~uint64_t{0};    // bytes that the lower transport reads at a time
  uint64_t least = 1;
  uint64_t next = 0;  // offset of the first byte not requested yet
  uint64_t done = 0;  // bytes verified
  uint32_t chunks = 0;
  wire::RmaStatus status = wire::RmaStatus::kOk;
  bool broken = false;  // the lower transport failed, or the link
  bool started = false;
  bool reported = false;  // that its source changed
  uint32_t epoch = 0;     // Peer::epoch when it began
  // The port's.
  void* path = nullptr;
  void* owner = nullptr;
  uint32_t generation = 0;  // of the owner's
  void* upper = nullptr;
  health::Counters* counts = nullptr;  // where it is counted; nullptr: with what concerns its peer
  uint64_t key = 0;
  int error = 0;
  void* handles[kMaxPieces] = {};
};

struct FetchInOrder : util::ListNode {};  // in Order::fetches

// More than 15 fields: what is requested, and what the port needs for its end.
struct Fetch : Ticket, FetchInOrder {
  Peer* peer = nullptr;
  uint64_t token = 0;
  uint64_t address = 0;
  uint32_t length = 0;  // bytes
  bool is_atomic = false;
  bool waits = false;  // counted in Peer::waiting
  uint32_t epoch = 0;  // Peer::epoch when it began
  wire::AtomicOp op = wire::AtomicOp::kAdd;
  uint64_t value = 0;
  uint64_t compare = 0;
  std::unique_ptr<uint8_t[]> parts;  // of an answer that comes in such
  uint32_t received = 0;             // bytes of it
  wire::RmaStatus status = wire::RmaStatus::kOk;
  bool broken = false;
  // The port's.
  void* owner = nullptr;
  uint32_t generation = 0;  // of the owner's
  void* unpack = nullptr;
  void* arg = nullptr;
  void* upper = nullptr;
};

enum class Stage : uint8_t { kTransfer, kLeaves, kReread, kSnapshot };

// More than 15 fields: where it lies, the two digests, and a flag for each of the events that come
// in any order.
struct Chunk : Ticket {
  Read* read = nullptr;
  uint64_t offset = 0;
  uint32_t length = 0;
  uint32_t flights = 0;  // reads under way
  uint32_t hashed = 0;   // leaves
  Stage stage = Stage::kTransfer;
  bool requested = false;  // its digest
  bool posted = false;
  bool landed = false;
  bool answered = false;
  bool digest_first =
      false;          // the digest came before the read began: a mismatch is not the program's
  bool dead = false;  // only the flights are waited for
  bool lower_busy = false;  // the lower transport took no read
  merkle::Digest theirs = 0;
  merkle::Digest mine = 0;
  std::unique_ptr<Descent> descent;  // after a mismatch
  alignas(8) unsigned char port[64];
};

[[nodiscard]] inline Chunk& chunk_of(Ticket& ticket) noexcept {
  return static_cast<Chunk&>(ticket);
}
[[nodiscard]] inline Fetch& fetch_of(Ticket& ticket) noexcept {
  return static_cast<Fetch&>(ticket);
}

struct ClientConfig {
  uint64_t chunk = 256 * 1024;  // bytes
  unsigned segment_log2 = 13;
  bool observe = false;  // count mismatches, repair nothing
};

// One class, for its members are the steps of one state machine over the same chunks; by file:
// operations and their ends (client.cc), requests (requests.cc), answers and hashing (answers.cc),
// after a mismatch (repair.cc, over descent.h), order.cc.
class Client {
 public:
  static constexpr unsigned kMaxChunks =
      64;  // in all; a peer gets as many as it leaves free: see start_chunk()
  static constexpr unsigned kChunksOfRead = 8;  // of one Read
  // Answers that find the owner's window full are kept there in copies. A peer gets no more
  // requests than answers fit: three quarters of a window of the usual size (link::Config), as
  // another quarter may wait for its acknowledgement. Many all the same, for where processors are
  // shared each round of fetches costs a turn of both sides. With its chunks a peer has no more
  // requests than it keeps (Server::kMaxJobs), and no more than it leaves free.
  static constexpr unsigned kMaxFetches = 384;
  static constexpr unsigned kMaxFetchesPerPeer = kMaxFetches / 2;
  // Requests that a peer has not answered, with those that ended here meanwhile: it keeps no more
  // (Server::kMaxJobs).
  static constexpr unsigned kMaxRequests = kMaxFetchesPerPeer + kMaxChunks;
  // Bytes that fetches of one peer request at a time, or one larger fetch, and those of one GET for
  // a chunk.
  static constexpr uint32_t kMaxFetching = 384 * 1024;
  static constexpr uint32_t kMaxGetBytes = 32 * 1024;
  // Bytes of the longest fetch.
  static constexpr uint32_t kMaxFetchBytes = 256 * 1024;
  static constexpr unsigned kMaxReads = 4096;
  static constexpr size_t kSlice = 256 * 1024;  // bytes hashed in one poll() at most
  static constexpr unsigned kRereads = 2;       // rounds before the rest comes in frames

  Client(Port& port, health::Counters& counters, const ClientConfig& config);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // An empty Read or Fetch to be filled and started; nullptr: too many are open, or no memory.
  [[nodiscard]] Read* make_read() noexcept;
  [[nodiscard]] Fetch* make_fetch(const Peer& peer) noexcept;
  void start(Read& read) noexcept;
  void start(Fetch& fetch) noexcept;
  [[nodiscard]] bool has_room(const Peer& peer) const noexcept {
    return reads_open_ < kMaxReads && may_fetch(peer);
  }

  // One of the lower transport's reads for that chunk ended.
  void landed(Chunk& chunk, bool good) noexcept;
  // GOT, HASHED.
  void answer(Peer& peer, const uint8_t* message, size_t length) noexcept;
  // Sends, posts, hashes a slice; the number of steps made.
  unsigned poll() noexcept;
  // poll() has something to do now.
  [[nodiscard]] bool busy() const noexcept {
    return waiting_.linked() || todo_.linked() || hashing_.linked();
  }
  // The same, without what waits for earlier reads or for room on a link: something will happen
  // then.
  [[nodiscard]] bool must_poll() const noexcept;
  // Something waits for the lower transport, which may not say when it can go on: to be polled
  // again soon.
  [[nodiscard]] bool must_retry() const noexcept;
  // The peer is lost, or the upper layer cancels: everything ends, broken, as soon as the lower
  // transport lets go of it. Of all owners, or of one; or of one owner whoever the peer is.
  void abort(Peer& peer, const void* owner = nullptr) noexcept { abort_if(&peer, owner); }
  void abort_owner(const void* owner) noexcept { abort_if(nullptr, owner); }
  // After its abort: the reads that the lower transport has not let go of end for `heir`, without
  // an upper completion. How many.
  [[nodiscard]] unsigned disown(const void* owner, void* heir) noexcept;
  // After an abort: one that the lower transport has not let go of, and that is not the heir's;
  // nullptr: there is none.
  [[nodiscard]] const Read* any_read(const void* heir) const noexcept;
  void release(Read& read) noexcept;

  // Later reads wait for the puts so far, later puts for the reads that are open now (see
  // may_put()). Without one, puts, fetches and atomic operations of a peer are done in the order in
  // which they were started, and for Reads and for other links see order.h.
  void fence(Peer& peer) noexcept;
  void put_sent(Peer& peer, const Range& range) noexcept;
  [[nodiscard]] bool may_put(const Peer& peer) const noexcept {
    return peer.before == 0 && peer.waiting == 0;
  }
  // Whether bytes of the peer may be written, or fetched, now; when not, to be tried again soon.
  [[nodiscard]] bool may_write(Peer& peer, const Range& range) noexcept;
  [[nodiscard]] bool may_fetch(Peer& peer, const Range& range) noexcept;
  // Whether all puts so far were applied, or those before the last fence.
  [[nodiscard]] bool puts_done(Peer& peer) noexcept;
  // Those up to that Peer::put_mark.
  [[nodiscard]] bool puts_done(Peer& peer, uint32_t mark) noexcept {
    return puts_done(peer) || port_.has_taken(peer, mark);
  }
  [[nodiscard]] bool fenced_puts_done(Peer& peer) noexcept;

 private:
  void abort_if(const Peer* peer, const void* owner) noexcept;
  [[nodiscard]] bool awaits_fenced_puts(Peer& peer) noexcept;
  void wait_for_writes(Read& read) noexcept;
  [[nodiscard]] static bool has_unsent_write(Peer& link, const Range& range) noexcept;
  [[nodiscard]] static bool awaits_unsent_writes(const Read& read) noexcept;
  static void sent_late(const Fetch& fetch) noexcept;
  [[nodiscard]] bool written_elsewhere(const Peer& peer, const Range& range) noexcept;

  unsigned start_chunks(Read& read) noexcept;
  bool start_chunk(Read& read) noexcept;
  bool step(Ticket& ticket) noexcept;
  [[nodiscard]] bool can_step(const Ticket& ticket) const noexcept;
  bool transfer(Chunk& chunk) noexcept;
  bool send_request(Peer& peer, wire::RmaKind kind, Ticket& ticket, uint8_t what,
                    const wire::RmaRequest& request) noexcept;
  bool request_hash(Chunk& chunk, uint8_t what) noexcept;
  bool send_request(Fetch& fetch) noexcept;
  [[nodiscard]] bool may_fetch(const Peer& peer) const noexcept {
    // As if the next one were as long as can be: whether there is room must not depend on the
    // caller.
    const size_t most = std::min<size_t>(port_.max_message(), kMaxFetchBytes);
    const uint32_t bytes = peer.fetching + peer.unclaimed_bytes;
    return peer.fetches < kMaxFetches - fetches_open_ && may_request(peer) &&
           (bytes == 0 || bytes + most <= kMaxFetching);
  }
  [[nodiscard]] static bool may_request(const Peer& peer) noexcept {
    return 0u + peer.chunks + peer.fetches + peer.unclaimed < kMaxRequests &&
           peer.unclaimed_bytes <= kMaxFetching;
  }
  // The ticket ends, and a request of it may be with the peer still; one of those was answered.
  static void leave_unclaimed(Peer& peer, Ticket& ticket, uint32_t bytes) noexcept;
  static void claim(Peer& peer, const uint8_t* message, size_t length) noexcept;
  bool request_atomic(Fetch& fetch) noexcept;
  bool request_in_turn(Fetch& fetch) noexcept;
  bool reread(Chunk& chunk) noexcept;
  bool request_bytes(Chunk& chunk) noexcept;
  void to_do(Chunk& chunk, Stage stage) noexcept;
  static void move(Ticket& ticket, util::ListNode& list) noexcept;

  unsigned hash_slice() noexcept;
  [[nodiscard]] merkle::Geometry geometry(const Chunk& chunk) const noexcept;
  [[nodiscard]] ChunkMemory memory(const Chunk& chunk) const noexcept;
  void compare_roots(Chunk& chunk) noexcept;
  void damaged(Chunk& chunk) noexcept;
  void take_leaves(Chunk& chunk, const uint8_t* message, size_t length) noexcept;
  void compare_leaves(Chunk& chunk) noexcept;
  void compare_rereads(Chunk& chunk) noexcept;
  void repaired(Chunk& chunk) noexcept;
  void count(const Chunk& chunk, const Descent::Found& found) noexcept;
  void diagnose(const Chunk& chunk, health::FaultKind kind) noexcept;
  void take_bytes(Chunk& chunk, const uint8_t* message, size_t length) noexcept;
  void take_part(Fetch& fetch, const uint8_t* message, size_t length) noexcept;

  void end(Fetch& fetch, wire::RmaStatus status, const uint8_t* bytes, size_t length) noexcept;
  void finish(Chunk& chunk, wire::RmaStatus status, bool broken = false) noexcept;
  void retire(Chunk& chunk) noexcept;
  void check_end(Read& read) noexcept;
  [[nodiscard]] health::Counters& counts(const Peer& peer) noexcept {
    return peer.counts != nullptr ? *peer.counts : counters_;
  }
  [[nodiscard]] health::Counters& counts(const Chunk& chunk) noexcept;
  void opened(Peer& peer, uint32_t* epoch) noexcept;
  static void closed(Peer& peer, uint32_t epoch) noexcept;

  Port& port_;
  health::Counters& counters_;
  const ClientConfig config_;
  util::ListNode waiting_;  // Reads of which something is not requested yet
  util::ListNode started_;  // the other open ones
  util::ListNode todo_;     // tickets with a message to send or a read to post
  util::ListNode hashing_;  // chunks; the first one's leaves so far stand in leaves_
  util::ListNode idle_;     // chunks and fetches that wait for an answer or the lower transport
  TicketTable tickets_{kMaxChunks + kMaxFetches};
  Spares<Read> spare_reads_{64};
  Spares<Chunk> spare_chunks_{kMaxChunks};
  Spares<Fetch> spare_fetches_{kMaxFetchesPerPeer};
  unsigned chunks_open_ = 0;
  unsigned fetches_open_ = 0;
  unsigned reads_open_ = 0;
  uint32_t polls_ = 1;
  merkle::Digest leaves_[wire::kMaxHashLeaves];
};

}  // namespace verity::rma

#endif
