// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstring>

#include "fuzz/rma_world.h"

namespace verity::fuzz {

namespace {

// One interface that is owner and reader. Its peers are hostile, or it is itself its honest peer,
// as the input says.
class Target final : public RmaWorld {
 public:
  explicit Target(Input& input) : RmaWorld(input) {}

  void run() {
    while (!input_.empty()) {
      step();
      check_rules();
    }
  }

  // Whatever happened, all ends, once.
  void close() {
    for (Line& line : lines_) {
      client_.abort(line.peer);
      server_.forget(line.peer);
      require(line.peer.requests == 0, "a job survives its link");
    }
    check_rules();
    while (!flights_.empty()) land(input_.u8() & 1);
    release();
    require(started_ == ended_, "a read has no end");
    require(fetches_ == fetched_, "a fetch has no end");
    for (Line& line : lines_) {
      require(line.peer.open == 0 && line.peer.chunks == 0, "a peer's reads are counted wrong");
      require(client_.may_put(line.peer), "puts wait for no read");
      claim(line.peer);
      require(client_.has_room(line.peer), "a peer that has answered all is left without room");
    }
    require(!client_.busy() && !server_.busy(), "something is left");
    check_rules();
  }

 private:
  // What was requested and aborted counts until its answers come, and here some were lost.
  void claim(rma::Peer& peer) {
    wire::RmaHeader header{};
    header.kind = static_cast<uint8_t>(RmaKind::kGot);
    for (unsigned n = peer.unclaimed; n != 0; --n)
      client_.answer(peer, reinterpret_cast<const uint8_t*>(&header), sizeof(header));
    require(peer.unclaimed == 0 && peer.unclaimed_bytes == 0, "more is claimed than was answered");
  }

  Line& line() { return lines_[input_.u8() % kPeers]; }

  void step() {
    switch (input_.u8() & 15) {
      case 0: input_.u8() < 160 ? put() : atomic(); break;
      case 1: ask(); break;
      case 2: raw(); break;
      case 3: answer(); break;
      case 4:
      case 5: start_read(); break;
      case 6: start_fetch(); break;
      case 7:
        for (unsigned n = input_.u8() % 32; n != 0; --n) go_on();
        break;
      case 8: (void)(input_.u8() < 128 ? client_.poll() : server_.poll()); break;
      case 9: deliver(line(), input_.u8() % 64); break;
      case 10:
        for (unsigned n = input_.u8() % 16; n != 0 && !flights_.empty(); --n) land(true);
        break;
      case 11: end_something(); break;
      case 12: change_rights(); break;
      case 13: change_lower(); break;
      case 14: fence(); break;
      default: release(); break;
    }
  }

  // --- what hostile peers send ---

  const Region& region() { return table_[input_.u8() % table_.size()]; }

  // Mostly of one registration and near its edges.
  wire::RmaRequest request(RmaKind kind) {
    const Region& r = region();
    const uint8_t odd = input_.u8();
    wire::RmaRequest q{};
    q.header = {static_cast<uint8_t>(kind), static_cast<uint8_t>(odd & 1), 0, 0, input_.u16()};
    q.token = odd < 230 ? r.token : odd < 245 ? region().token : input_.u64();
    q.address = address(r.begin) +
                static_cast<uint64_t>(int64_t{input_.u8()} - 4) * (odd % 3 == 0 ? 16 : 1);
    q.length = odd % 5 == 0 ? static_cast<uint32_t>(r.length) : input_.u8();
    if (odd % 7 == 0) q.length += input_.u16();
    if (odd % 31 == 0) q.address = input_.u64();
    if (odd % 37 == 0) q.length = ~input_.u8();
    if (odd % 11 == 0) q.header.segment = input_.u8() % 12;
    if (odd % 13 == 0) q.header.what = input_.u8();
    if (odd % 17 == 0) q.known = input_.u8();
    return q;
  }
  void put() {
    const wire::RmaRequest q = request(RmaKind::kPut);
    const wire::RmaPut head{q.header, q.token, q.address};
    const size_t bytes = std::min<size_t>(q.length, 4000);
    const auto message = std::make_unique<uint8_t[]>(sizeof(head) + bytes);
    std::memcpy(message.get(), &head, sizeof(head));
    std::memset(message.get() + sizeof(head), input_.u8(), bytes);
    server_.put(line().peer, message.get(), sizeof(head) + bytes);
    check_memory();
  }
  // Any operation, mostly aligned.
  void atomic() {
    const wire::RmaRequest q = request(RmaKind::kAtomic);
    wire::RmaAtomic a{q.header, q.token, q.address, input_.u64(), input_.u64()};
    const uint8_t odd = input_.u8();
    if (odd < 200) a.address &= ~uint64_t{7};
    if (odd < 220) a.header.segment = 2 + (odd & 1);
    a.header.what = odd < 230 ? static_cast<uint8_t>((odd & 2) << 6 | odd % 6) : input_.u8();
    const auto* message = reinterpret_cast<const uint8_t*>(&a);
    server_.atomic(line().peer, message, odd < 250 ? sizeof(a) : input_.u8() % sizeof(a));
    check_memory();
  }
  void ask() {
    const uint8_t kind = input_.u8();
    const wire::RmaRequest q = request(kind < 120   ? RmaKind::kGet
                                       : kind < 240 ? RmaKind::kHash
                                                    : static_cast<RmaKind>(kind));
    server_.request(line().peer, reinterpret_cast<const uint8_t*>(&q), sizeof(q));
  }
  void raw() {
    const size_t length = input_.u8() % 80;
    const auto message = std::make_unique<uint8_t[]>(length);
    for (size_t i = 0; i < length; ++i) message[i] = input_.u8();
    rma::Peer& peer = line().peer;
    switch (input_.u8() % 4) {
      case 0: server_.put(peer, message.get(), length); break;
      case 3: server_.atomic(peer, message.get(), length); break;
      case 1: server_.request(peer, message.get(), length); break;
      default:
        honest_ = false;
        client_.answer(peer, message.get(), length);
        break;
    }
    check_memory();
  }
  void answer() {
    honest_ = false;
    const uint8_t odd = input_.u8();
    wire::RmaLeaves head{};
    head.header.kind = static_cast<uint8_t>(odd % 8 < 4   ? RmaKind::kHashed
                                            : odd % 8 < 7 ? RmaKind::kGot
                                                          : RmaKind::kRefused);
    if (odd % 16 == 15) head.header.kind = input_.u8();
    head.header.what = odd < 200 ? 0 : input_.u8();
    head.header.id = ids_[input_.u8() % ids_.size()];
    if (odd % 9 == 0) head.header.id = input_.u32();
    head.first = odd % 10 == 0 ? input_.u64() : input_.u8() % 5;
    // A root, leaves, or bytes.
    const size_t length = odd % 4 == 0   ? 8
                          : odd % 4 == 1 ? 8 + 8 * (input_.u8() % 6u)
                                         : input_.u16() % 1100;
    const auto message = std::make_unique<uint8_t[]>(sizeof(head) + length);
    std::memcpy(message.get(), &head, sizeof(head));
    std::memset(message.get() + sizeof(head), odd, length);
    const size_t total = odd % 4 == 1 ? sizeof(head) + length - 8 : sizeof(head.header) + length;
    client_.answer(line().peer, message.get(), total);
  }

  // --- what the program and honest peers do ---

  void start_read() {
    rma::Read* read = client_.make_read();
    require((read != nullptr) == (open() < Client::kMaxReads), "the limit of reads");
    if (read == nullptr) return;
    const Region& r = region();
    const uint8_t odd = input_.u8();
    read->peer = &line().peer;
    read->token = odd < 240 ? r.token : input_.u64();
    read->length = odd < 128 ? r.length : input_.u16() % (r.length + 1);
    read->address = address(r.begin) + (odd % 8 == 0 ? input_.u8() : 0u);
    read->least = 1 + (odd % 4 == 0 ? input_.u16() % 400u : 0u);
    read->most = odd % 16 == 1 ? 2 * read->least + input_.u8() : ~uint64_t{0};
    read->owner = &owners_[odd & 1];
    auto reading = std::make_unique<Reading>();
    reading->from = odd % 8 == 0 ? kMemory : r.begin;
    reading->version = version_;
    read->count = 1 + odd % rma::kMaxPieces;
    uint64_t left = read->length;
    for (uint32_t i = 0; i < read->count; ++i) {
      const uint64_t n =
          i + 1 == read->count ? left : std::min<uint64_t>(left, input_.u16() % 1024);
      reading->pieces.push_back(std::make_unique<uint8_t[]>(n));
      read->pieces[i] = {reading->pieces.back().get(), n};
      left -= n;
    }
    read->upper = reading.get();
    readings_.push_back(std::move(reading));
    ++started_;
    client_.start(*read);
  }
  [[nodiscard]] uint64_t open() const { return started_ - ended_; }

  void start_fetch() {
    rma::Peer& peer = line().peer;
    const uint64_t free = Client::kMaxFetches - (fetches_ - fetched_);
    const uint32_t bytes = peer.fetching + peer.unclaimed_bytes;
    const bool may = peer.fetches < free && peer.unclaimed_bytes <= Client::kMaxFetching &&
                     0u + peer.chunks + peer.fetches + peer.unclaimed < Client::kMaxRequests &&
                     (bytes == 0 || bytes + most_ <= Client::kMaxFetching);
    rma::Fetch* fetch = client_.make_fetch(peer);
    require((fetch != nullptr) == may, "the limit of fetches");
    if (fetch == nullptr) return;
    const Region& r = region();
    fetch->peer = &peer;
    fetch->token = r.token;
    fetch->address = address(r.begin);
    fetch->length = input_.u8();
    fetch->owner = &owners_[fetch->length & 1];
    fetch->is_atomic = fetch->length == 4 || fetch->length == 8;
    ++fetches_;
    client_.start(*fetch);
  }

  // This interface is its own peer.
  void deliver(Line& line, unsigned count) {
    for (; count != 0 && !line.out.empty(); --count) {
      const Message message = std::move(line.out.front());
      line.out.pop_front();
      ++line.taken;
      wire::RmaHeader header{};
      if (!wire::read_message(message.data(), message.size(), &header)) continue;
      const auto kind = static_cast<RmaKind>(header.kind);
      if (kind == RmaKind::kAtomic) {
        server_.atomic(line.peer, message.data(), message.size());
        check_memory();
      } else if (kind == RmaKind::kGet || kind == RmaKind::kHash) {
        server_.request(line.peer, message.data(), message.size());
      } else {
        client_.answer(line.peer, message.data(), message.size());
      }
    }
  }
  // What it takes for honest reads to get on.
  void go_on() {
    (void)client_.poll();
    for (size_t n = flights_.size(); n != 0; --n) land(true);
    for (unsigned twice = 0; twice < 2; ++twice) {
      for (Line& l : lines_) deliver(l, 256);
      (void)server_.poll();
    }
  }
  void land(bool good) {
    std::swap(flights_.front(), flights_[input_.u8() % flights_.size()]);
    const Flight flight = flights_.front();
    flights_.pop_front();
    bring(flight);
    client_.landed(*flight.chunk, good);
  }
  void end_something() {
    Line& l = line();
    switch (input_.u8() % 8) {
      case 0: client_.abort(l.peer); break;
      case 1: server_.forget(l.peer); break;
      case 2: l.out.clear(); break;
      default: client_.abort(l.peer, &owners_[input_.u8() & 1]); break;
    }
  }
  void change_rights() {
    const size_t i = input_.u8() % table_.size();
    if (input_.u8() < 100) {
      regions_.revoke(table_[i].token);
      table_[i].alive = false;
    } else if (table_.size() < 30) {
      const size_t begin = input_.u16() % kMemory;
      add(begin, std::min<size_t>(input_.u16(), kMemory - begin), input_.u8() & 3);
    }
  }
  void change_lower() {
    const uint8_t how = input_.u8();
    switch (how % 6) {
      case 0: line().room ^= true; break;
      case 1: lower_ = static_cast<Started>(input_.u8() & 3); break;
      case 2: lower_ = Started::kUnderWay; break;
      case 3: unreadable_ = how > 200; break;
      case 4: break;  // free: the corpus keeps its numbers
      default:        // the program writes to its memory
        memory_[input_.u16() % kMemory] ^= 1;
        ++version_;
        shadow_.assign(memory_.get(), memory_.get() + kMemory);
        break;
    }
  }
  void fence() {
    Line& l = line();
    switch (input_.u8() % 5) {
      case 0: client_.fence(l.peer); break;
      case 1: put_sent(l); break;
      case 2: l.taken = l.sent; break;
      case 3: before_fence_ ^= true; break;
      default: (void)client_.puts_done(l.peer); break;
    }
  }
  void put_sent(Line& l) {
    const size_t begin = input_.u16() % kMemory;
    l.sent++;
    client_.put_sent(l.peer, {address(begin), std::min<size_t>(input_.u16(), kMemory - begin)});
    require(before_fence_ <= l.peer.fenced, "a put of before a fence is not waited for");
  }
  void release() {
    for (rma::Read* read : over_) {
      const auto* reading = static_cast<const Reading*>(read->upper);
      std::erase_if(readings_, [&](const auto& r) { return r.get() == reading; });
      client_.release(*read);
    }
    over_.clear();
  }
};

}  // namespace

void rma_target(const uint8_t* data, size_t size) {
  Input input(data, size);
  Target target(input);
  target.run();
  target.close();
}

}  // namespace verity::fuzz
