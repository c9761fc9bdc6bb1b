// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <vector>

#include "fuzz/hostile_frames.h"
#include "link/hub.h"

namespace verity::fuzz {

namespace {

constexpr uint64_t kOwnUid = 1;
constexpr unsigned kPeers = 3;
constexpr size_t kHeldLimit = 64 * 1024;
// The most that a peer can make one class of a link hold above the limit: the frame that all others
// wait for.
constexpr size_t kLargestFrame = size_t{wire::kMaxFrameLeaves} << wire::kMaxSegmentLog2;

link::Config config() {
  link::Config c;
  c.segment_log2 = 8;
  c.window_frames = 16;
  c.window_bytes = 16 * 1024;
  c.max_repairs = 5;
  c.ack_polls = 4;
  c.max_send = c.max_frame = 1024;
  c.pool_limit = 128 * 1024;
  c.out_of_order_limit = kHeldLimit;
  c.compact = true;
  return c;
}

// A link and what its user keeps for it.
struct Peer {
  std::unique_ptr<link::Link> link;
  unsigned failures = 0;
};

class Target final : public link::Port {
 public:
  Target() : hub_(kOwnUid, config(), *this, counters_) {
    for (unsigned i = 0; i < 2; ++i) open(i);
    hub_.lifecycle.connect(*peers_[0].link, uid_of(0), 0x77, link::Mode::kVerify);
  }
  ~Target() override {
    for (Peer& peer : peers_) {
      if (peer.link != nullptr) hub_.lifecycle.remove(*peer.link);
    }
    finish_lower(~size_t{0});
    hub_.pool().trim(0);
    require(hub_.pool().footprint() == 0, "a slot was lost");
    for (const auto& b : buffers_) require(b->frees == 1, "source_free was not called just once");
  }

  void run(Input& input) {
    while (!input.empty()) {
      step(input);
      check_rules();
    }
  }

 private:
  struct Buffer {
    std::vector<uint8_t> bytes;
    unsigned frees = 0;
  };
  struct Reading {
    link::Link* link;
    link::Slot* slot;
  };

  static uint64_t uid_of(unsigned i) { return 100 + i; }

  void open(unsigned i) {
    peers_[i] = {std::make_unique<link::Link>(), 0};
    hub_.lifecycle.open(*peers_[i].link, uid_of(i), 0, link::Mode::kVerify);
  }

  void step(Input& input) {
    const uint8_t what = input.u8();
    Peer& peer = peers_[(what >> 4) % kPeers];
    switch (what & 15) {
      case 0:
      case 1:
      case 2:
      case 3:
      case 4:
      case 5:
      case 6: framed((what >> 4) % kPeers, input); break;
      case 7: compact((what >> 4) % kPeers, input); break;
      case 8: send_copy(peer, input); break;
      case 9: send_zero_copy(peer, input); break;
      case 10:
        for (unsigned n = input.u8() % 16; n != 0; --n) (void)hub_.poll();
        break;
      case 11: hub_.tick(now_ += uint64_t{1} << input.u8() % 36); break;
      case 12: toggle_busy(); break;
      case 13: finish_lower(input.u8()); break;
      case 14: close_something(peer, (what >> 4) % kPeers, input); break;
      default: raw_frame(input); break;
    }
  }

  void close_something(Peer& peer, unsigned i, Input& input) {
    switch (input.u8() % 8) {
      case 0: hub_.lifecycle.close_all(); break;
      case 1: (void)hub_.flush_control(); break;
      case 2:
        if (peer.link != nullptr) hub_.zero_copy.bounce_all(*peer.link);
        break;
      case 3:
        if (peer.link != nullptr) hub_.lifecycle.lower_failed(*peer.link);
        break;
      case 4:
        if (peer.link == nullptr) break;
        hub_.lifecycle.remove(*peer.link);
        graveyard_.push_back(std::move(peer.link));  // the lower transport may still read for it
        break;
      default:
        if (peer.link == nullptr) open(i);
        break;
    }
  }

  void framed(unsigned i, Input& input) {
    link::Link none;
    link::Link& l = peers_[i].link != nullptr ? *peers_[i].link : none;
    const HostileFrame frame = hostile_frame(uid_of(i), kOwnUid, l, input);
    receive(frame.c, frame.bytes);
  }

  void compact(unsigned i, Input& input) {
    if (peers_[i].link == nullptr) return;
    const link::Link& l = *peers_[i].link;
    const HostileFrame frame = hostile_compact_frame(*peers_[i].link, input);
    const uint64_t before = counters_.frames_verified;
    const bool wrong =
        frame.wrong &&
        l.mode() == link::Mode::kVerify;  // mode observe delivers it, and what was queued behind it
    receive(wire::Class::kSync, frame.bytes, true);
    require(!wrong || counters_.frames_verified == before, "a wrong compact frame was believed");
  }

  void raw_frame(Input& input) {
    std::vector<uint8_t> frame(input.u8());
    for (uint8_t& byte : frame) byte = input.u8();
    const uint8_t how = input.u8();
    receive(static_cast<wire::Class>(how & 1), frame, (how & 2) != 0);
  }

  void receive(wire::Class c, const std::vector<uint8_t>& frame, bool compact = false) {
    const auto copy = std::make_unique<uint8_t[]>(frame.size());
    std::copy(frame.begin(), frame.end(), copy.get());
    link::Received received;
    if (compact ? !hub_.receive_compact(copy.get(), frame.size(), &received)
                : !hub_.receive(c, copy.get(), frame.size(), &received)) {
      return;
    }
    if (compact) c = wire::Class::kSync;
    require(received.payload >= copy.get() &&
                received.payload + received.length <= copy.get() + frame.size(),
            "a delivered payload lies outside of its frame");
    deliver(*received.link, c, received.am_id, received.payload, received.length);
    hub_.delivered(received, c);
  }

  void send_copy(Peer& peer, Input& input) {
    if (peer.link == nullptr) return;
    const auto c = static_cast<wire::Class>(input.u8() & 1);
    const uint32_t length = input.u16() % (1024 - 32 - wire::kMaxHello);
    link::Slot* slot = hub_.sender.reserve(*peer.link, c, length);
    if (slot == nullptr) return;
    std::memset(slot->payload(), 0x11, length);
    if (hub_.sender.commit_open(*peer.link, c, slot, length, 5, input.u8() < 200))
      link::seal(*peer.link, c, slot);
    const util::Piece frame{slot->frame(), slot->size};
    handed(peer, c, slot,
           slot->compact ? send_compact(*peer.link, frame) : send(*peer.link, c, {&frame, 1}));
  }

  void send_zero_copy(Peer& peer, Input& input) {
    if (peer.link == nullptr) return;
    const auto c = static_cast<wire::Class>(input.u8() & 1);
    link::Slot* slot = hub_.sender.reserve(*peer.link, c, link::ZeroCopy::source_space(4));
    if (slot == nullptr) return;
    buffers_.push_back(std::make_unique<Buffer>());
    buffers_.back()->bytes.assign(input.u16() % 5000, 0x22);
    link::Source* source = link::ZeroCopy::make_source(slot, "head", 4);
    *reinterpret_cast<Buffer**>(source->port) = buffers_.back().get();
    source->pieces[source->count++] = {buffers_.back()->bytes.data(),
                                       buffers_.back()->bytes.size()};
    hub_.sender.commit_source(*peer.link, c, slot, 6);
    if (input.u8() < 30 && !buffers_.back()->bytes.empty())
      buffers_.back()->bytes[0] ^= 1;  // the user changes it
    handed(peer, c, slot, send_source(*peer.link, c, *slot));
  }

  void handed(Peer& peer, wire::Class c, link::Slot* slot, link::Sent sent) {
    if (sent == link::Sent::kBusy) {
      hub_.sender.stalled(*peer.link, c, slot);
    } else {
      hub_.sender.sent(*peer.link, c);
    }
  }

  void toggle_busy() {
    busy_ = !busy_;
    if (busy_) return;
    for (Peer& peer : peers_) {
      if (peer.link != nullptr)
        require(hub_.retransmitter.resume(*peer.link), "busy, but it is not");
    }
  }

  void finish_lower(size_t n) {
    for (; n != 0 && !reading_.empty(); --n) {
      const Reading r = reading_.back();
      reading_.pop_back();
      hub_.zero_copy.source_sent(*r.link, *r.slot);
    }
  }

  void check_rules() {
    size_t held = 0;
    for (const Peer& peer : peers_) {
      if (peer.link == nullptr) continue;
      const link::Link& l = *peer.link;
      require(l.control.any() == l.control.node.linked(), "pending control and queue disagree");
      require(!l.in_flight() || l.timer.deadline.armed(), "frames in flight without a timer");
      for (const link::ReceiveWindow& rx : l.rx) {
        size_t above = 0;
        for (link::QueuedFrame* h = rx.queue().first(); h != nullptr; h = h->next) {
          above += h->footprint();
          if (h->header.psn == rx.expected())
            above -= std::min(above, kLargestFrame + sizeof(link::QueuedFrame));
        }
        held += above;
      }
    }
    require(held <= kHeldLimit, "the out-of-order queues are above their limit");
    require(hub_.pool().footprint() <= config().pool_limit, "the pool is above its limit");
  }

  // link::Port
  link::Sent send(link::Link&, wire::Class, util::Pieces frame) noexcept override {
    if (busy_) return link::Sent::kBusy;
    std::vector<uint8_t> bytes(util::total_length(frame));
    util::copy_out(frame, 0, bytes.data(), bytes.size());  // reads all of it
    require(bytes.size() <= 1024, "a frame above max_send");
    return link::Sent::kOk;
  }
  link::Sent send_compact(link::Link& l, util::Piece frame) noexcept override {
    return send(l, wire::Class::kSync, {&frame, 1});
  }
  link::Sent send_source(link::Link& l, wire::Class, link::Slot& slot) noexcept override {
    if (busy_) return link::Sent::kBusy;
    slot.source->sending = true;
    reading_.push_back({&l, &slot});
    return link::Sent::kOk;
  }
  void deliver(link::Link& l, wire::Class, uint8_t am_id, const void* payload,
               size_t length) noexcept override {
    require(am_id < 32, "an active message of no number");
    uint64_t sum = 0;
    for (size_t i = 0; i < length; ++i) sum += static_cast<const uint8_t*>(payload)[i];
    // Some upcalls send, some give the link up.
    if (sum % 97 == 13) hub_.lifecycle.lower_failed(l);
    if (am_id == 3) {
      for (Peer& peer : peers_) {
        Input none(nullptr, 0);
        if (peer.link.get() == &l) send_copy(peer, none);
      }
    }
  }
  void source_free(link::Link&, link::Slot& slot) noexcept override {
    (*reinterpret_cast<Buffer**>(slot.source->port))->frees++;
    hub_.zero_copy.release(&slot);
  }
  void writable(link::Link&) noexcept override {}
  void failed(link::Link& l, link::Failure) noexcept override {
    for (Peer& peer : peers_) {
      if (peer.link.get() == &l) require(++peer.failures == 1, "failed called twice");
    }
  }
  void peer_closed(link::Link&) noexcept override {}
  link::Link* new_peer(const wire::HelloView& hello) noexcept override {
    const auto i = static_cast<unsigned>(hello.ext.uid - uid_of(0));
    if (i >= kPeers || hello.ext.path != 0) return nullptr;
    if (peers_[i].link != nullptr) {
      hub_.lifecycle.remove(*peers_[i].link);
      graveyard_.push_back(std::move(peers_[i].link));
    }
    open(i);
    return peers_[i].link.get();
  }
  void hello_received(link::Link& l, const wire::HelloView& hello) noexcept override {
    require(hello.ext.uid == l.peer_uid && hello.ext.path == l.path,
            "a link got another one's HELLO");
  }
  void write_addresses(wire::HelloExt& ext, uint8_t* out) noexcept override {
    ext.device_length = wire::kMaxDeviceAddress;
    ext.iface_length = wire::kMaxIfaceAddress;
    std::memset(out, 1, wire::kMaxDeviceAddress + wire::kMaxIfaceAddress);
  }
  void faulted(link::Link*, wire::Verdict, const wire::FrameHeader&) noexcept override {}
  // What is reported of a fault can be read, and lies within its frame.
  void diagnosed(link::Link*, const link::Fault& fault) noexcept override {
    if (fault.payload != nullptr) (void)merkle::hash(fault.payload, fault.header.length);
    if (fault.syndrome == nullptr) return;
    require(fault.syndrome->bytes != 0 && fault.syndrome->last < fault.header.length,
            "a syndrome outside of its frame");
    require(fault.syndrome->first <= fault.syndrome->last, "a syndrome that ends before it begins");
  }

  health::Counters counters_{};
  Peer peers_[kPeers];
  std::vector<std::unique_ptr<link::Link>> graveyard_;
  std::vector<std::unique_ptr<Buffer>> buffers_;
  std::vector<Reading> reading_;
  uint64_t now_ = 1;
  bool busy_ = false;
  link::Hub hub_;
};

}  // namespace

void hub_target(const uint8_t* data, size_t size) {
  Target target;
  Input input(data, size);
  target.run(input);
}

}  // namespace verity::fuzz
