// SPDX-License-Identifier: BSD-3-Clause
//
// Without damage: one exchange of roots and one reduction. After it, ranks exchange the messages of
// their sessions in turns until all sessions of all ranks have ended.
#include "validate/collective.h"

#include <algorithm>
#include <climits>
#include <optional>

namespace verity::validate {

namespace {

using typelib::check;
using typelib::MpiError;

constexpr uint64_t kMostInTurn = uint64_t{1}
                                 << 30;  // bytes of SEGMENTS that one rank sends or receives

int size_of(MPI_Comm comm) {
  int size = 0;
  check(MPI_Comm_size(comm, &size));
  return size;
}
int rank_of(MPI_Comm comm) {
  int rank = 0;
  check(MPI_Comm_rank(comm, &rank));
  return rank;
}
int greatest(int value, MPI_Comm comm) {
  check(MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_MAX, comm));
  return value;
}

Limits in_turns(Limits limits, int ranks) {
  limits.max_message =
      std::min<uint64_t>(limits.max_message, kMostInTurn / static_cast<uint64_t>(ranks));
  return limits;
}

// The sessions of this rank with one other.
struct Peer {
  std::optional<Owner> owner;    // of our block there
  std::optional<Holder> holder;  // of its block here
  Bytes from_owner, from_holder;

  // Each side's messages have a place of their own, which says whose one is that cannot be read.
  void receive_from_owner(std::span<const uint8_t> bytes) {
    Message message;
    if (holder) from_holder = holder->receive(reading_of(bytes, 0, &message), message);
  }
  void receive_from_holder(std::span<const uint8_t> bytes) {
    Message message;
    if (owner) from_owner = owner->receive(reading_of(bytes, 1, &message), message);
  }

 private:
  static Reading reading_of(std::span<const uint8_t> bytes, uint8_t sender, Message* message_p) {
    const Reading reading = read(bytes, message_p);
    const bool is_right = reading == Reading::kGood && message_p->header.sender == sender;
    if (is_right) return reading;
    return bytes.size() == kEndSize ? Reading::kLostEnd : Reading::kBadHeader;
  }
};

// Turns of messages between all ranks.
class Exchange {
 public:
  explicit Exchange(MPI_Comm comm)
      : comm_(comm), rank_(rank_of(comm)), peers_(static_cast<size_t>(size_of(comm))) {}

  [[nodiscard]] Peer& peer(int rank) { return peers_[static_cast<size_t>(rank)]; }
  [[nodiscard]] int ranks() const noexcept { return static_cast<int>(peers_.size()); }
  [[nodiscard]] int rank() const noexcept { return rank_; }

  CollectiveResult run() {
    if (greatest(has_more_than_good(), comm_) == 0) return finish(Outcome::kEqual);
    while (greatest(!is_ended(), comm_) != 0) turn();
    Outcome worst = Outcome::kEqual;
    for (const Peer& p : peers_) {
      if (p.owner) worst = std::max(worst, p.owner->outcome());
      if (p.holder) worst = std::max(worst, p.holder->outcome());
    }
    return finish(static_cast<Outcome>(greatest(static_cast<int>(worst), comm_)));
  }

 private:
  // Whether any session here has something to say but GOOD.
  [[nodiscard]] int has_more_than_good() const {
    return std::any_of(peers_.begin(), peers_.end(), [](const Peer& p) {
      return p.holder && p.holder->outcome() != Outcome::kEqual;
    });
  }
  [[nodiscard]] bool is_ended() const {
    return std::all_of(peers_.begin(), peers_.end(), [](const Peer& p) {
      return p.from_owner.empty() && p.from_holder.empty() &&
             (!p.owner || p.owner->outcome() != Outcome::kRunning) &&
             (!p.holder || p.holder->outcome() != Outcome::kRunning);
    });
  }

  // To each rank: the length of the owner's message, that of the holder's, then both.
  void turn() {
    const size_t n = peers_.size();
    std::vector<uint64_t> out_lengths(2 * n), in_lengths(2 * n);
    Bytes out;
    std::vector<int> out_counts(n), out_places(n), in_counts(n), in_places(n);
    uint64_t out_bytes = 0, in_bytes = 0;
    for (size_t i = 0; i < n; ++i) {
      out_lengths[2 * i] = peers_[i].from_owner.size();
      out_lengths[2 * i + 1] = peers_[i].from_holder.size();
      out_bytes += out_lengths[2 * i] + out_lengths[2 * i + 1];
    }
    check(MPI_Alltoall(out_lengths.data(), 2, MPI_UINT64_T, in_lengths.data(), 2, MPI_UINT64_T,
                       comm_));
    for (const uint64_t length : in_lengths) in_bytes += length;
    if (greatest(out_bytes > INT_MAX || in_bytes > INT_MAX, comm_) != 0)
      throw MpiError{MPI_ERR_COUNT};
    int place = 0;
    for (size_t i = 0; i < n; ++i) {
      in_places[i] = place;
      in_counts[i] = static_cast<int>(in_lengths[2 * i] + in_lengths[2 * i + 1]);
      place += in_counts[i];
    }
    out.reserve(out_bytes);
    for (size_t i = 0; i < n; ++i) {
      out_places[i] = static_cast<int>(out.size());
      for (Bytes* message : {&peers_[i].from_owner, &peers_[i].from_holder}) {
        out.insert(out.end(), message->begin(), message->end());
        message->clear();
      }
      out_counts[i] = static_cast<int>(out.size()) - out_places[i];
    }
    Bytes in(in_bytes);
    check(MPI_Alltoallv(out.data(), out_counts.data(), out_places.data(), MPI_BYTE, in.data(),
                        in_counts.data(), in_places.data(), MPI_BYTE, comm_));
    for (size_t i = 0; i < n; ++i) {
      std::span<const uint8_t> bytes(in.data() + in_places[i], static_cast<size_t>(in_counts[i]));
      const uint64_t length = in_lengths[2 * i];
      if (length != 0) peers_[i].receive_from_owner(bytes.first(length));
      if (length != bytes.size()) peers_[i].receive_from_holder(bytes.subspan(length));
    }
  }

  CollectiveResult finish(Outcome outcome) const {
    CollectiveResult all{outcome, {}};
    for (const Peer& p : peers_) {
      if (p.owner) all.own.bytes_sent_again += p.owner->result().bytes_sent_again;
      if (!p.holder) continue;
      const Result& held = p.holder->result();
      all.own.segments += held.segments;
      all.own.damaged += held.damaged;
      all.own.rounds = std::max(all.own.rounds, held.rounds);
    }
    return all;
  }

  MPI_Comm comm_;
  int rank_;
  std::vector<Peer> peers_;
};

}  // namespace

CollectiveResult validate_bcast(const Typed& block, int root, MPI_Comm comm, uint32_t segment_size,
                                const Limits& all) {
  Exchange exchange(comm);
  const Limits limits = in_turns(all, exchange.ranks());
  std::optional<merkle::Tree> tree;
  Bytes message(kRootSize);
  if (exchange.rank() == root) {
    tree = hash_buffer(block.buffer(), segment_size);
    for (int i = 0; i < exchange.ranks(); ++i) {
      if (i != root) exchange.peer(i).owner.emplace(block.buffer(), *tree, 0, limits);
    }
    message = Owner(block.buffer(), *tree, 0, limits).start();
  } else {
    exchange.peer(root).holder.emplace(block.buffer(), 0, limits);
  }
  check(MPI_Bcast(message.data(), static_cast<int>(message.size()), MPI_BYTE, root, comm));
  if (exchange.rank() != root) exchange.peer(root).receive_from_owner(message);
  const CollectiveResult result = exchange.run();
  if (exchange.rank() != root) block.store();
  return result;
}

CollectiveResult validate_allgather(const std::vector<std::unique_ptr<Typed>>& blocks,
                                    MPI_Comm comm, uint32_t segment_size, const Limits& all) {
  Exchange exchange(comm);
  const auto ranks = static_cast<size_t>(exchange.ranks());
  const auto self = static_cast<size_t>(exchange.rank());
  const Limits limits = in_turns(all, exchange.ranks());
  const Buffer& own = blocks[self]->buffer();
  const merkle::Tree tree = hash_buffer(own, segment_size);
  for (size_t i = 0; i < ranks; ++i) {
    if (i == self) continue;
    exchange.peer(static_cast<int>(i)).owner.emplace(own, tree, 0, limits);
    exchange.peer(static_cast<int>(i)).holder.emplace(blocks[i]->buffer(), 0, limits);
  }
  const Bytes root = Owner(own, tree, 0, limits).start();
  Bytes roots(ranks * kRootSize);
  check(MPI_Allgather(root.data(), kRootSize, MPI_BYTE, roots.data(), kRootSize, MPI_BYTE, comm));
  for (size_t i = 0; i < ranks; ++i) {
    if (i != self)
      exchange.peer(static_cast<int>(i))
          .receive_from_owner({roots.data() + i * kRootSize, kRootSize});
  }
  const CollectiveResult result = exchange.run();
  for (size_t i = 0; i < ranks; ++i) {
    if (i != self) blocks[i]->store();
  }
  return result;
}

}  // namespace verity::validate
