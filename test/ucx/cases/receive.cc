// SPDX-License-Identifier: BSD-3-Clause
//
// What handlers may do: keep descriptors, answer at once; and who receives from many endpoints.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>

#include "cases.h"

namespace verity::test {
namespace {

constexpr uint8_t kId = 5;
constexpr uint8_t kHeadroomByte = 0x77;

struct Kept {
  uint8_t* data;
  size_t length;
  uint64_t sequence;
};

// Descriptors that a handler keeps: the headroom is written over, the content checked on release.
class Shelf {
 public:
  explicit Shelf(size_t headroom) : headroom_(headroom) {}
  ucs_status_t keep(uint8_t* data, size_t length, unsigned flags, uint64_t sequence) {
    if ((flags & UCT_CB_PARAM_FLAG_DESC) == 0) { return UCS_OK; }
    std::memset(data - headroom_, kHeadroomByte, headroom_);
    kept_.push_back({data, length, sequence});
    ++total_;
    return UCS_INPROGRESS;
  }
  // Releases until at most `limit` are left, in an order of no pattern.
  void shrink(size_t limit) {
    while (kept_.size() > limit) {
      size_t index = dice(total_, kept_.size()) % kept_.size();
      Kept item = kept_[index];
      kept_[index] = kept_.back();
      kept_.pop_back();
      release(item);
    }
  }
  [[nodiscard]] uint64_t total() const { return total_; }

 private:
  void release(const Kept& item) const {
    require(first_wrong(item.data, item.length, kId, item.sequence) == item.length,
            "a kept message changed");
    require(std::all_of(item.data - headroom_, item.data,
                        [](uint8_t byte) { return byte == kHeadroomByte; }),
            "the headroom of a kept message changed");
    uct_iface_release_desc(item.data - headroom_);
  }
  size_t headroom_;
  std::vector<Kept> kept_;
  uint64_t total_ = 0;
};

// 20,000 messages kept in the normal form, up to 200 of them at a time.
void keep_with_headroom(Side& side, size_t headroom) {
  side.options.rx_headroom = headroom;
  Iface iface(side.options);
  size_t longest = std::min<size_t>(Outbound::longest(iface, Kind::kBcopy), 9000);
  auto length_of = [&](uint64_t i) {
    return static_cast<size_t>(dice(4, i) % (dice(5, i) % 4 == 0 ? longest + 1 : 200));
  };
  Inbound in(iface, kId, length_of);
  Shelf shelf(headroom);
  in.on_message = [&](uint8_t* data, size_t length, unsigned flags, uint64_t sequence) {
    return shelf.keep(data, length, flags, sequence);
  };
  Endpoints eps(iface, side.channel, 1);
  Outbound out(iface, eps[0], kId, length_of);
  uint64_t messages = 200 * static_cast<uint64_t>(side.rounds);
  for (uint64_t i = 0; i < messages; ++i) {
    out.send(Kind::kBcopy);
    if (i % 16 == 0) {
      iface.progress();
      shelf.shrink(200);
    }
  }
  in.expect(messages, 60);
  finish(side, iface);
  shelf.shrink(0);
  if (shelf.total() == 0) { throw Skip("no message came in a descriptor"); }
}

void keep_0(Side& side) { keep_with_headroom(side, 0); }
void keep_8(Side& side) { keep_with_headroom(side, 8); }
void keep_64(Side& side) { keep_with_headroom(side, 64); }
void keep_200(Side& side) { keep_with_headroom(side, 200); }

// A message is answered inside its handler, the answer again, for many turns; what finds no
// resources is sent from the main loop.
class Rally {
 public:
  Rally(Iface& iface, uct_ep_h ep) : iface_(iface), ep_(ep) {
    check(uct_iface_set_am_handler(iface.handle(), kId, handle, this, 0), "set_am_handler");
  }
  void start(uint64_t turns) { post(turns); }
  void run(uint64_t balls) {
    iface_.progress_until([&] { return retry() && ended_ == balls; }, "answers from handlers", 60);
  }
  // Sends what found no resources. Goes on after the own balls ended: the other side's may wait.
  bool retry() {
    for (size_t i = waiting_.size(); i > 0; --i) {
      uint64_t turns = waiting_.front();
      waiting_.pop_front();
      post(turns);
    }
    return waiting_.empty();
  }

 private:
  static ucs_status_t handle(void* argument, void* data, size_t length, unsigned) {
    auto* self = static_cast<Rally*>(argument);
    uint64_t turns = 0;
    if (length == 8) { std::memcpy(&turns, data, 8); }
    if (turns == 0) {
      ++self->ended_;
    } else {
      self->post(turns - 1);
    }
    return UCS_OK;
  }
  void post(uint64_t turns) {
    ucs_status_t status;
    if (iface_.has(UCT_IFACE_FLAG_AM_SHORT)) {
      status = uct_ep_am_short(ep_, kId, turns, nullptr, 0);
    } else {
      ssize_t packed = uct_ep_am_bcopy(ep_, kId, pack, &turns, 0);
      status = packed < 0 ? static_cast<ucs_status_t>(packed) : UCS_OK;
    }
    if (status == UCS_ERR_NO_RESOURCE) {
      waiting_.push_back(turns);
    } else {
      check(status, "send in a handler");
    }
  }
  static size_t pack(void* target, void* argument) {
    std::memcpy(target, argument, 8);
    return 8;
  }
  Iface& iface_;
  uct_ep_h ep_;
  std::deque<uint64_t> waiting_;
  uint64_t ended_ = 0;
};

void answer_in_handler(Side& side) {
  Iface iface(side.options);
  Endpoints eps(iface, side.channel, 1);
  Rally rally(iface, eps[0]);
  side.channel.barrier({});
  // An even number of turns ends at the side that started, on self at the only one. Turns nest
  // there, so few of them.
  constexpr uint64_t kBalls = 50;
  uint64_t turns = side.channel.alone() ? 40 : 20 * static_cast<uint64_t>(side.rounds) + 1;
  for (uint64_t i = 0; i < kBalls; ++i) { rally.start(turns); }
  rally.run(kBalls);
  side.channel.barrier([&] {
    iface.progress();
    rally.retry();
  });
  finish(side, iface);
}

// Several endpoints to one interface, each with a flow of its own.
void many_endpoints(Side& side) {
  constexpr size_t kCount = 24;
  Iface iface(side.options);
  size_t longest = std::min<size_t>(Outbound::longest(iface, Kind::kBcopy), 2000);
  auto length_of = [&](uint64_t i) { return static_cast<size_t>(dice(6, i) % (longest + 1)); };
  std::vector<std::unique_ptr<Inbound>> in;
  for (size_t i = 0; i < kCount; ++i) {
    in.push_back(std::make_unique<Inbound>(iface, static_cast<uint8_t>(i), length_of));
  }
  Endpoints eps(iface, side.channel, kCount);
  std::vector<std::unique_ptr<Outbound>> out;
  for (size_t i = 0; i < kCount; ++i) {
    out.push_back(std::make_unique<Outbound>(iface, eps[i], static_cast<uint8_t>(i), length_of));
  }
  auto each = static_cast<uint64_t>(side.rounds);
  for (uint64_t i = 0; i < each * kCount; ++i) {
    out[(i * 7 + i / kCount) % kCount]->send(Kind::kBcopy);
  }
  for (auto& flow : in) { flow->expect(each); }
  finish(side, iface);
}

struct Aligned {
  uint64_t described = 0, misplaced = 0;
};

// Counts the messages that come in descriptors, and those whose byte at `offset` is not aligned.
Aligned count_aligned(Side& side, const std::string& transport, size_t offset) {
  constexpr size_t kAlignment = 64;
  Options options = side.options;
  options.transport = transport;
  options.am_alignment = kAlignment;
  options.am_align_offset = offset;
  Iface iface(options);
  auto length_of = [&](uint64_t i) { return static_cast<size_t>(dice(8, i) % 1000); };
  Inbound in(iface, kId, length_of);
  Aligned counts;
  in.on_message = [&](uint8_t* data, size_t, unsigned flags, uint64_t) {
    if ((flags & UCT_CB_PARAM_FLAG_DESC) != 0) {
      ++counts.described;
      counts.misplaced += (reinterpret_cast<uintptr_t>(data) + offset) % kAlignment != 0;
    }
    return UCS_OK;
  };
  Endpoints eps(iface, side.channel, 1);
  Outbound out(iface, eps[0], kId, length_of);
  connect_idle(side, iface, eps[0], in, out);  // from here on frames have the short header
  for (int i = 0; i < 200; ++i) { out.send(Kind::kBcopy); }
  in.expect(201);
  finish(side, iface);
  return counts;
}

constexpr size_t kAlignOffsets[] = {0, 24};

void skip_if_unaligned_below(Side& side) {
  std::string raw = side.options.transport;
  raw.erase(0, raw.starts_with("vf") ? 2 : raw.starts_with("v") || raw.starts_with("f") ? 1 : 0);
  for (const size_t offset : kAlignOffsets) {
    const Aligned counts = count_aligned(side, raw, offset);
    if (counts.described == 0 || counts.misplaced != 0)
      throw Skip("the raw transport does not align");
  }
}

void require_aligned(const Aligned& counts, size_t offset) {
  require(counts.misplaced == 0,
          std::to_string(counts.misplaced) + " of " + std::to_string(counts.described) +
              " descriptors are not aligned, with an offset of " + std::to_string(offset));
}

// The alignment that the upper layer requests holds for data in descriptors, whatever header a
// wrapper has in front, wherever the raw transport keeps it. What comes behind a damaged frame
// waits for its repair, and comes in none.
void alignment(Side& side) {
  const bool is_damaged = std::getenv("UCX_FAULT_RATE") != nullptr;
  skip_if_unaligned_below(side);
  for (const size_t offset : kAlignOffsets) {
    const Aligned counts = count_aligned(side, side.options.transport, offset);
    require_aligned(counts, offset);
    require(counts.described != 0 || is_damaged, "no message came in a descriptor");
  }
}

// A peer in mode off sends without a header, for which the lower transport has been opened.
void alignment_of_unframed(Side& side) {
  if (side.channel.alone()) throw Skip("needs two processes");
  if (side.options.transport.front() != 'v') throw Skip("only the wrapper has modes");
  if (std::getenv("UCX_FAULT_RATE") != nullptr) throw Skip("damage is not repaired in mode off");
  skip_if_unaligned_below(side);
  if (side.role == 1) setenv("UCX_VERITY_MODE", "off", 1);
  for (const size_t offset : kAlignOffsets)
    require_aligned(count_aligned(side, side.options.transport, offset), offset);
}

// UCP posts a receive in the call that sends an RTR: on self the rendezvous would be over within
// it.
void rendezvous_with_oneself(Side& side) {
  constexpr uint8_t kRtr = 11, kData = 12;  // of UCP
  if (side.options.transport.front() != 'v' || !side.channel.alone()) throw Skip("vself only");
  Iface iface(side.options);
  const auto length_of = [](uint64_t) { return size_t{60}; };
  Inbound answers(iface, kRtr, length_of), data(iface, kData, length_of);
  data.on_message = [&](uint8_t*, size_t, unsigned, uint64_t sequence) {
    require(answers.count() > sequence, "data overtook the answer before it");
    return UCS_OK;
  };
  Endpoints eps(iface, side.channel, 1);
  Outbound answer(iface, eps[0], kRtr, length_of), send(iface, eps[0], kData, length_of);
  for (uint64_t i = 0; i < 50; ++i) {
    const uint64_t before = answers.count();
    answer.send(i % 2 == 0 ? Kind::kShort : Kind::kBcopy);
    require(answers.count() == before, "the answer was handled within its send");
    send.send(Kind::kBcopy);
    iface.progress_until([&] { return data.count() > i; }, "data behind an answer", 10);
    answers.verify();
    data.verify();
  }
  finish(side, iface);
}

// What the handler of the RTR sends is long, and need not be kept for later.
void data_of_a_rendezvous_with_oneself(Side& side) {
  constexpr uint8_t kRtr = 11, kData = 12;  // of UCP
  if (side.options.transport.front() != 'v' || !side.channel.alone()) throw Skip("vself only");
  if (std::getenv("UCX_FAULT_RATE") != nullptr) throw Skip("a damaged one is delivered later");
  Iface iface(side.options);
  const auto length_of = [](uint64_t) { return size_t{1000}; };
  Inbound answers(iface, kRtr, length_of), data(iface, kData, length_of);
  Endpoints eps(iface, side.channel, 1);
  Outbound answer(iface, eps[0], kRtr, length_of), send(iface, eps[0], kData, length_of);
  answers.on_message = [&](uint8_t*, size_t, unsigned, uint64_t) {
    for (int i = 0; i < 10; ++i) {
      const uint64_t before = data.count();
      send.send(Kind::kBcopy);
      require(data.count() == before + 1, "data of a rendezvous is delivered in its send");
    }
    return UCS_OK;
  };
  for (uint64_t i = 0; i < 5; ++i) {
    answer.send(Kind::kBcopy);
    iface.progress_until([&] { return answers.count() > i; }, "an answer", 10);
    data.verify();
  }
  finish(side, iface);
}

constexpr Case kCases[] = {
    {"data of a rendezvous with the own interface", data_of_a_rendezvous_with_oneself},
    {"a rendezvous with the own interface waits for progress", rendezvous_with_oneself},
    {"descriptors kept, no headroom", keep_0},
    {"descriptors kept, headroom 8", keep_8},
    {"descriptors kept, headroom 64", keep_64},
    {"descriptors kept, headroom 200", keep_200},
    {"answers sent inside handlers", answer_in_handler},
    {"24 endpoints to one interface", many_endpoints},
    {"alignment of received data", alignment},
    {"alignment of received data, one side in mode off", alignment_of_unframed},
};

}  // namespace

std::span<const Case> receive_cases() { return kCases; }

}  // namespace verity::test
