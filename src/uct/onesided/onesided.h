// SPDX-License-Identifier: BSD-3-Clause
//
// Remote memory access of one interface: what src/rma needs of UCX, and the completions that wait
// for progress().
#ifndef VERITY_UCT_ONESIDED_ONESIDED_H
#define VERITY_UCT_ONESIDED_ONESIDED_H

#include <atomic>
#include <vector>

#include "rma/client.h"
#include "rma/server.h"
#include "uct/idle/hash_pool.h"
#include "uct/sending/frame_sender.h"

namespace verity::uct {

// One upper get_zcopy.
struct ReadRequest {
  UctLink* link;  // over which the digests come
  uct_ep_h path;  // the lower endpoint that reads
  ReadOwner* owner;
  const uct_iov_t* iov;
  size_t iovcnt;
  uint64_t address;
  uct_rkey_t rkey;
  uct_completion_t* comp;
  uint64_t most;  // bytes that the lower transport reads at a time
  uint64_t least;
  health::Counters* counts = nullptr;  // where it is counted; nullptr: with its link
};

// More than 30 member functions: 18 of them are rma::Port's.
class OneSided final : public rma::Port {
 public:
  explicit OneSided(FrameSender& sender);

  [[nodiscard]] const IfaceCore& core() const noexcept { return core_; }
  [[nodiscard]] LinkSet& links() const noexcept { return sender_.links(); }

  // As UCX's operations. NO_RESOURCE: too many are under way.
  [[nodiscard]] ucs_status_t get_zcopy(const ReadRequest& request) noexcept;
  struct FetchRequest {
    UctLink* link;
    ReadOwner* owner;
    uct_unpack_callback_t unpack;
    void* arg;
    size_t length;
    uint64_t address;
    uct_rkey_t rkey;
    uct_completion_t* comp;
  };
  [[nodiscard]] ucs_status_t get_bcopy(const FetchRequest& request) noexcept;
  // `bytes`: 4 or 8; `result` gets as many.
  struct AtomicRequest {
    UctLink* link;
    ReadOwner* owner;
    wire::AtomicOp op;
    uint32_t bytes;
    uint64_t value;
    uint64_t compare;
    void* result;
    uint64_t address;
    uct_rkey_t rkey;
    uct_completion_t* comp;
  };
  [[nodiscard]] ucs_status_t atomic_fetch(const AtomicRequest& request) noexcept;

  // Whether bytes of the peer may be written, or fetched in frames, now. False: the link is
  // deferred, and tries again.
  [[nodiscard]] bool may_write(UctLink& l, const rma::Range& range) noexcept;
  [[nodiscard]] bool may_fetch(UctLink& l, const rma::Range& range) noexcept;

  // A message of remote memory access arrived.
  void receive(UctLink& l, const uint8_t* message, size_t length) noexcept;

  // Of the interface's progress: the owner's work alone, and everything with the upper completions.
  // False: nothing could be done.
  bool serve() noexcept;
  // progress() has nothing to do. One load, since it is called in every call of the interface's
  // progress.
  [[nodiscard]] bool idle() const noexcept { return !work_.load(std::memory_order_relaxed); }
  unsigned progress() noexcept;
  // There is something to do that no event will announce.
  [[nodiscard]] bool must_poll() const noexcept {
    return client_.must_poll() || server_.must_poll() || !has_completed_all();
  }
  // progress() should be called again soon.
  [[nodiscard]] bool must_retry() const noexcept { return client_.must_retry(); }

  [[nodiscard]] rma::Client& client() noexcept { return client_; }
  // Nothing of the link is under way any more, or ends as soon as the lower transport lets go of
  // it.
  void abort(UctLink& l, const ReadOwner* owner = nullptr) noexcept;
  void abort_owner(const ReadOwner* owner) noexcept { client_.abort_owner(owner); }
  // The endpoint goes although the lower transport still reads for it: what was aborted ends
  // without it. With the guard held.
  void disown(ReadOwner& owner) noexcept;
  void forget(UctLink& l) noexcept { server_.forget(l); }
  // The peer's BYE came: puts that it had not taken by then are lost. With what is in flight still
  // known as such.
  void peer_closed(UctLink& l) noexcept;
  // The interface closes: all that is under way ends, be it of transports that read over its links,
  // whose progress is made here. The upper completions are left to complete_all().
  void end_all() noexcept;
  // Whether there is no room for another operation now; the link's pending requests are woken then
  // when there is.
  [[nodiscard]] bool must_wait(const UctLink& l) noexcept {
    const bool room = client_.has_room(l);
    if (!room) room_wanted_ = true;
    return !client_.may_put(l) || !room;
  }
  // Makes the upper completions that are due, in progress(); how many.
  unsigned complete_all() noexcept;
  // Those of an endpoint that goes, and no others: their callers count on progress.
  void complete_of(const ReadOwner& owner) noexcept;
  [[nodiscard]] bool has_completed_all() const noexcept { return completed_ == done_.size(); }

  // --- rma::Port ---
  uint8_t* open_message(rma::Peer& peer, size_t length) noexcept override;
  void send_message(rma::Peer& peer, size_t length) noexcept override;
  uint8_t* open_refusal(rma::Peer& peer, size_t length) noexcept override;
  [[nodiscard]] bool has_room(const rma::Peer& peer) const noexcept override;
  [[nodiscard]] size_t max_message() const noexcept override;
  [[nodiscard]] uint32_t mark(rma::Peer& peer) noexcept override;
  [[nodiscard]] bool has_taken(rma::Peer& peer, uint32_t mark) noexcept override;
  [[nodiscard]] bool is_before_fence() const noexcept override;
  void request_ack(rma::Peer& peer) noexcept override;
  rma::Started read(rma::Chunk& chunk, uint64_t offset, uint64_t length) noexcept override;
  bool access(uint64_t address, size_t length, void (*use)(void*), void* arg) noexcept override;
  [[nodiscard]] rma::Hasher* hasher() noexcept override {
    return pool_.opened != nullptr ? &hash_pool() : nullptr;
  }
  void finished(rma::Read& read) noexcept override;
  void fetched(rma::Fetch& fetch, const uint8_t* data, size_t length) noexcept override;
  void refused(rma::Peer& peer, bool revoked) noexcept override;
  void source_changed(rma::Peer& peer, uint64_t address, uint32_t length) noexcept override;
  void mismatched(const rma::Read& read, uint64_t offset, uint64_t length, const char* what,
                  bool by_program) noexcept override;
  void diagnosed(const rma::Read& read, const rma::ReadFault& fault) noexcept override;

 private:
  struct Done {
    ReadOwner* owner;
    uint32_t generation;  // of the owner's
    uct_completion_t* comp;
    ucs_status_t status;
  };
  void note_work() noexcept { work_.store(true, std::memory_order_relaxed); }
  rma::Fetch* new_fetch(const FetchRequest& request) noexcept;
  void serve(UctLink& l, wire::RmaKind kind, const uint8_t* message, size_t length) noexcept;
  [[nodiscard]] bool next_done(Done* done, const ReadOwner* owner) noexcept;
  template <typename Operation>
  void ended(UctLink& l, const Operation& operation, ucs_status_t status) noexcept;
  static void lower_done(uct_completion_t* comp) noexcept;

  // Before the server, which takes back what the pool has of it when it goes.
  struct Pool {
    explicit Pool(unsigned threads) noexcept;
    ~Pool();
    HashPool* const opened;  // nullptr: none was wanted
  } pool_;
  IfaceCore& core_;
  FrameSender& sender_;
  rma::Client client_;
  rma::Server server_;
  link::Slot* open_ = nullptr;  // between open_message() and send_message()
  bool sending_ = false;        // in send_message()
  std::atomic<bool> work_ =
      false;        // something was started, received or ended since progress() found nothing left
  ReadOwner gone_;  // in place of endpoints that went before the lower transport let go
  bool room_wanted_ = false;  // some link's pending requests wait for fewer reads to be open
  std::vector<Done> done_;
  size_t completed_ = 0;  // of done_
};

}  // namespace verity::uct

#endif
