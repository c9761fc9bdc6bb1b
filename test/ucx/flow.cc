// SPDX-License-Identifier: BSD-3-Clause
#include "flow.h"

#include <algorithm>
#include <cstring>

namespace verity::test {
namespace {

constexpr size_t kLongest = 1 << 20;
constexpr uint8_t kScribble = 0xdb;

uint64_t word_of(uint8_t id, uint64_t sequence, size_t index) {
  uint64_t x = (sequence + 1) * 0x9e3779b97f4a7c15u + index * 0xbf58476d1ce4e5b9u + id;
  x ^= x >> 31;
  x *= 0x94d049bb133111ebu;
  return x ^ (x >> 29);
}

// Cuts [0, length) into pieces of unlike lengths, some of them empty.
std::vector<uct_iov_t> cut_iov(uint8_t* base, size_t length, size_t pieces, uct_mem_h memh) {
  std::vector<uct_iov_t> iov(pieces);
  size_t at = 0;
  for (size_t i = 0; i < pieces; ++i) {
    size_t left = length - at;
    size_t size = i + 1 == pieces ? left : i % 3 == 1 ? 0 : left / (pieces - i) + (i % 2);
    size = std::min(size, left);
    iov[i] = {.buffer = base + at, .length = size, .memh = memh, .stride = 0, .count = 1};
    at += size;
  }
  return iov;
}

// The source of one am_zcopy: in use until the completion, overwritten right after it.
struct Operation {
  uct_completion_t completion = {};
  uct_md_h md = nullptr;
  uct_mem_h memh = UCT_MEM_HANDLE_NULL;
  Bytes content;
  std::shared_ptr<unsigned> under_way;

  void finish() {
    std::fill(content.begin(), content.end(), kScribble);
    if (memh != UCT_MEM_HANDLE_NULL) { uct_md_mem_dereg(md, memh); }
    delete this;
  }
  static void on_complete(uct_completion_t* completion) {
    auto* self = reinterpret_cast<Operation*>(completion);
    --*self->under_way;
    self->finish();
  }
};
static_assert(offsetof(Operation, completion) == 0);

struct Packed {
  const Bytes& content;
  static size_t pack(void* target, void* argument) {
    const Bytes& content = static_cast<Packed*>(argument)->content;
    std::memcpy(target, content.data(), content.size());
    return content.size();
  }
};

}  // namespace

void fill(uint8_t* buffer, size_t length, uint8_t id, uint64_t sequence) {
  for (size_t at = 0; at < length; at += 8) {
    uint64_t word = word_of(id, sequence, at / 8);
    std::memcpy(buffer + at, &word, std::min<size_t>(8, length - at));
  }
}

size_t first_wrong(const uint8_t* buffer, size_t length, uint8_t id, uint64_t sequence) {
  for (size_t at = 0; at < length; at += 8) {
    uint64_t word = word_of(id, sequence, at / 8);
    size_t size = std::min<size_t>(8, length - at);
    if (std::memcmp(buffer + at, &word, size) != 0) {
      const auto* wanted = reinterpret_cast<const uint8_t*>(&word);
      return at +
             static_cast<size_t>(std::mismatch(wanted, wanted + size, buffer + at).first - wanted);
    }
  }
  return length;
}

// ---- Inbound -----------------------------------------------------------------------------------

namespace {

// UCX takes no lock when handlers change: the asynchronous thread may be in one that goes. A
// flush takes the lock that it holds.
void synchronize(const Iface& iface, unsigned flags) {
  if ((flags & UCT_CB_FLAG_ASYNC) != 0)
    (void)uct_iface_flush(iface.handle(), UCT_FLUSH_FLAG_LOCAL, nullptr);
}

}  // namespace

Inbound::Inbound(Iface& iface, uint8_t id, LengthOf length_of, unsigned flags)
    : iface_(iface), id_(id), flags_(flags), length_of_(std::move(length_of)) {
  check(uct_iface_set_am_handler(iface.handle(), id, handle, this, flags),
        "uct_iface_set_am_handler");
  synchronize(iface, flags);
}

Inbound::~Inbound() {
  if (iface_.handle() != nullptr) {
    (void)uct_iface_set_am_handler(iface_.handle(), id_, nullptr, nullptr, 0);
    synchronize(iface_, flags_);
  }
}

void Inbound::expect(uint64_t messages, double seconds) {
  iface_.progress_until([&] { return count_ >= messages || !error_.empty(); },
                        std::to_string(messages) + " messages on id " + std::to_string(id_),
                        seconds);
  verify();
  require(count_ == messages, "more messages than were sent");
}

ucs_status_t Inbound::handle(void* argument, void* data, size_t length, unsigned flags) {
  auto* self = static_cast<Inbound*>(argument);
  auto* bytes = static_cast<uint8_t*>(data);
  uint64_t sequence = self->count_.load();
  size_t wanted = self->length_of_(sequence);
  if (self->error_.empty() && length != wanted) {
    self->error_ = "message " + std::to_string(sequence) + " on id " + std::to_string(self->id_) +
                   " has " + std::to_string(length) + " bytes, not " + std::to_string(wanted);
  } else if (self->error_.empty()) {
    size_t wrong = first_wrong(bytes, length, self->id_, sequence);
    if (wrong < length) {
      self->error_ = "message " + std::to_string(sequence) + " on id " + std::to_string(self->id_) +
                     " of " + std::to_string(length) + " bytes is wrong from byte " +
                     std::to_string(wrong) + " on";
    }
  }
  ++self->count_;  // last: another thread may wait for it
  return self->on_message ? self->on_message(bytes, length, flags, sequence) : UCS_OK;
}

// ---- Outbound ----------------------------------------------------------------------------------

bool Outbound::has(const Iface& iface, Kind kind) {
  switch (kind) {
    case Kind::kShort: return iface.has(UCT_IFACE_FLAG_AM_SHORT);
    case Kind::kShortIov: return iface.has(UCT_IFACE_FLAG_AM_SHORT);
    case Kind::kBcopy: return iface.has(UCT_IFACE_FLAG_AM_BCOPY);
    case Kind::kZcopy: return iface.has(UCT_IFACE_FLAG_AM_ZCOPY);
  }
  return false;
}

size_t Outbound::longest(const Iface& iface, Kind kind) {
  const auto& am = iface.attr().cap.am;
  size_t limit = kind == Kind::kBcopy   ? am.max_bcopy
                 : kind == Kind::kZcopy ? am.max_zcopy
                                        : am.max_short;
  return std::min(limit, kLongest);
}

ucs_status_t Outbound::post(const Bytes& content, Kind kind, const Cut& cut) {
  switch (kind) {
    case Kind::kShort: return send_short(content);
    case Kind::kShortIov: return send_short_iov(content, cut.pieces);
    case Kind::kBcopy: return send_bcopy(content);
    case Kind::kZcopy: return send_zcopy(content, cut);
  }
  return UCS_ERR_INVALID_PARAM;
}

ucs_status_t Outbound::try_send_number(uint64_t sequence, Kind kind, const Cut& cut) {
  Bytes content(length_of_(sequence));
  fill(content.data(), content.size(), id_, sequence);
  ucs_status_t status = post(content, kind, cut);
  if (status != UCS_ERR_NO_RESOURCE) {
    check(status, "send of message " + std::to_string(sequence) + ", " +
                      std::to_string(content.size()) + " bytes");
    return UCS_OK;
  }
  return status;
}

ucs_status_t Outbound::try_send(Kind kind, const Cut& cut) {
  ucs_status_t status = try_send_number(count_, kind, cut);
  count_ += status == UCS_OK;
  return status;
}

void Outbound::send(Kind kind, const Cut& cut) {
  iface_.progress_until([&] { return try_send(kind, cut) == UCS_OK; },
                        "no resources for message " + std::to_string(count_));
}

void Outbound::wait() {
  iface_.progress_until([&] { return *under_way_ == 0; }, "completions of am_zcopy");
}

ucs_status_t Outbound::send_short(const Bytes& content) {
  uint64_t header;
  std::memcpy(&header, content.data(), sizeof(header));
  return uct_ep_am_short(ep_, id_, header, content.data() + 8,
                         static_cast<unsigned>(content.size() - 8));
}

ucs_status_t Outbound::send_short_iov(const Bytes& content, size_t pieces) {
  std::vector<uct_iov_t> iov =
      cut_iov(const_cast<uint8_t*>(content.data()), content.size(), pieces, UCT_MEM_HANDLE_NULL);
  return uct_ep_am_short_iov(ep_, id_, iov.data(), iov.size());
}

ucs_status_t Outbound::send_bcopy(const Bytes& content) {
  Packed packed{content};
  ssize_t packed_length = uct_ep_am_bcopy(ep_, id_, Packed::pack, &packed, 0);
  if (packed_length < 0) { return static_cast<ucs_status_t>(packed_length); }
  require(static_cast<size_t>(packed_length) == content.size(),
          "uct_ep_am_bcopy returned " + std::to_string(packed_length) + " for " +
              std::to_string(content.size()) + " bytes");
  return UCS_OK;
}

ucs_status_t Outbound::send_zcopy(const Bytes& content, const Cut& cut) {
  auto* operation = new Operation;
  operation->content.assign(content.begin(), content.end());
  operation->content.resize(content.size() + 1);
  operation->md = iface_.md();
  operation->under_way = under_way_;
  operation->completion.func = Operation::on_complete;
  operation->completion.count = 1;
  operation->completion.status = UCS_OK;
  if ((iface_.md_attr().cap.flags & UCT_MD_FLAG_NEED_MEMH) != 0) {
    check(uct_md_mem_reg(operation->md, operation->content.data(), operation->content.size(),
                         UCT_MD_MEM_ACCESS_ALL, &operation->memh),
          "uct_md_mem_reg");
  }
  uint8_t* base = operation->content.data();
  std::vector<uct_iov_t> iov =
      cut_iov(base + cut.header, content.size() - cut.header, cut.pieces, operation->memh);
  ucs_status_t status =
      uct_ep_am_zcopy(ep_, id_, base, static_cast<unsigned>(cut.header), iov.data(), iov.size(), 0,
                      cut.completion ? &operation->completion : nullptr);
  // The header and the array of pieces are the caller's again whatever happens.
  std::fill(iov.begin(), iov.end(), uct_iov_t{});
  std::fill(base, base + cut.header, kScribble);
  if (status == UCS_INPROGRESS) {
    if (cut.completion) {
      ++*under_way_;
      return UCS_OK;
    }
    // Without a completion only a flush shows when the source is free.
    iface_.flush(ep_);
    status = UCS_OK;
  }
  operation->finish();
  return status;
}

}  // namespace verity::test
