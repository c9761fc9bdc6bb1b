// SPDX-License-Identifier: BSD-3-Clause
//
// Damage at the sender of active messages.
#include <algorithm>

#include "fault/iface.h"
#include "fault/owned.h"

namespace verity::fault {
namespace {

constexpr KindMask kTxKinds = kAllKinds & ~mask_of(Kind::kSwap);

bool failed(ucs_status_t status) noexcept { return UCS_STATUS_IS_ERR(status); }

size_t max_bcopy(FaultEp& ep) noexcept { return ep.iface().lower_attr().cap.am.max_bcopy; }

size_t pack_bytes(void* dest, void* arg) noexcept {
  const auto& bytes = *static_cast<const Bytes*>(arg);
  std::copy(bytes.begin(), bytes.end(), static_cast<uint8_t*>(dest));
  return bytes.size();
}

ucs_status_t send_bytes(FaultEp& ep, uint8_t id, Bytes& bytes) {
  const ssize_t sent = uct_ep_am_bcopy(ep.lower(), id, pack_bytes, &bytes, 0);
  return sent < 0 ? static_cast<ucs_status_t>(sent) : UCS_OK;
}

struct Zcopy {
  size_t header_length;
  unsigned flags;
  uct_completion_t* comp;
};

// Sends a damaged frame; those of zcopy may be too long for a lower bcopy.
ucs_status_t send_damaged(FaultEp& ep, uint8_t id, Bytes& bytes, const Zcopy* zcopy) {
  if (zcopy == nullptr || bytes.size() <= max_bcopy(ep)) { return send_bytes(ep, id, bytes); }
  std::unique_ptr<OwnedBuffer> buffer;
  const ucs_status_t status = OwnedBuffer::make(ep, bytes, zcopy->comp, &buffer);
  if (status != UCS_OK) { return status; }
  const uct_iov_t iov = buffer->iov(zcopy->header_length);
  const ucs_status_t sent = uct_ep_am_zcopy(ep.lower(), id, buffer->bytes().data(),
                                            static_cast<unsigned>(zcopy->header_length), &iov, 1,
                                            zcopy->flags, buffer->completion());
  return OwnedBuffer::posted(std::move(buffer), sent);
}

// Sends one more frame, whose completion is not awaited; false if there was no room for it.
bool send_again(FaultEp& ep, uint8_t id, Bytes& bytes, const Zcopy* zcopy) {
  Zcopy silent{};
  if (zcopy != nullptr) { silent = {zcopy->header_length, zcopy->flags, nullptr}; }
  return !failed(send_damaged(ep, id, bytes, zcopy != nullptr ? &silent : nullptr));
}

// Sends the frame that was hit. `send_original` posts it as the caller wanted.
template <typename SendOriginal>
ucs_status_t send_hit(FaultEp& ep, uint8_t id, Bytes& frame, Verdict& verdict, const Zcopy* zcopy,
                      SendOriginal&& send_original) {
  const FrameInfo info{Op::kAm, Side::kTx, id, ep.peer()};
  const size_t length = frame.size();
  Damage done = whole_frame(length, 0);
  ucs_status_t status = UCS_OK;
  OldFrame old;
  const size_t room = zcopy != nullptr ? SIZE_MAX : max_bcopy(ep);
  if (verdict.kind == Kind::kRepeat) {
    if (!ep.history.pick(verdict.random, id, room, &old)) { old = {id, frame}; }
    status = send_original();
    if (!failed(status)) {
      done =
          send_again(ep, id, old.bytes, zcopy) ? whole_frame(length, old.bytes.size()) : Damage{};
    }
  } else if (verdict.kind == Kind::kReplace) {
    const bool found = ep.history.pick(verdict.random, id, room, &old);
    const bool differs = found && old.bytes != frame;
    status = found ? send_damaged(ep, id, old.bytes, zcopy) : send_original();
    done = differs ? whole_frame(length, old.bytes.size()) : Damage{};
  } else if (verdict.kind != Kind::kDrop) {
    Bytes copy = frame;
    done = damage_frame(verdict, copy);
    status = send_damaged(ep, id, copy, zcopy);
  }
  failed(status) ? injector().retract(verdict) : injector().record(info, verdict, done, length);
  return status;
}

template <typename SendOriginal>
ucs_status_t send_frame(FaultEp& ep, uint8_t id, Bytes frame, const Zcopy* zcopy,
                        SendOriginal&& send_original) {
  Verdict verdict = injector().judge({Op::kAm, Side::kTx, id, ep.peer()}, frame, kTxKinds);
  ucs_status_t status;
  if (verdict.hit) {
    status = send_hit(ep, id, frame, verdict, zcopy, send_original);
  } else {
    status = send_original();
    if (failed(status)) { injector().retract(verdict); }
  }
  if (!failed(status)) { ep.history.remember(id, frame); }
  return status;
}

ucs_status_t am_short_op(uct_ep_h tl_ep, uint8_t id, uint64_t header, const void* payload,
                         unsigned length) noexcept {
  FaultEp& ep = FaultEp::of(tl_ep);
  if (ep.cancelled) { return UCS_ERR_CANCELED; }
  const auto send = [&] { return uct_ep_am_short(ep.lower(), id, header, payload, length); };
  if (!injector().watches(Op::kAm, Side::kTx)) { return send(); }
  return uct::guarded([&] {
    Bytes frame(sizeof(header) + length);
    std::memcpy(frame.data(), &header, sizeof(header));
    std::copy_n(static_cast<const uint8_t*>(payload), length, frame.data() + sizeof(header));
    return send_frame(ep, id, std::move(frame), nullptr, send);
  });
}

ucs_status_t am_short_iov_op(uct_ep_h tl_ep, uint8_t id, const uct_iov_t* iov,
                             size_t iovcnt) noexcept {
  FaultEp& ep = FaultEp::of(tl_ep);
  if (ep.cancelled) { return UCS_ERR_CANCELED; }
  const auto send = [&] { return uct_ep_am_short_iov(ep.lower(), id, iov, iovcnt); };
  if (!injector().watches(Op::kAm, Side::kTx)) { return send(); }
  return uct::guarded([&] { return send_frame(ep, id, gather(iov, iovcnt), nullptr, send); });
}

// As the settings have it, later than the lower transport.
ucs_status_t completed(FaultEp& ep, uct_completion_t* comp, ucs_status_t status) noexcept {
  if (status != UCS_OK || comp == nullptr || injector().settings().complete_after <= 0) {
    return status;
  }
  auto& iface = static_cast<FaultIface&>(ep.iface());
  return uct::guarded([&] { return iface.complete_later(ep, comp); });
}

ucs_status_t am_zcopy_op(uct_ep_h tl_ep, uint8_t id, const void* header, unsigned header_length,
                         const uct_iov_t* iov, size_t iovcnt, unsigned flags,
                         uct_completion_t* comp) noexcept {
  FaultEp& ep = FaultEp::of(tl_ep);
  if (ep.cancelled) { return UCS_ERR_CANCELED; }
  const auto send = [&] {
    const ucs_status_t status =
        uct_ep_am_zcopy(ep.lower(), id, header, header_length, iov, iovcnt, flags, comp);
    return completed(ep, comp, status);
  };
  if (!injector().watches(Op::kAm, Side::kTx)) { return send(); }
  return uct::guarded([&] {
    const auto* start = static_cast<const uint8_t*>(header);
    Bytes frame(start, start + header_length);
    const Bytes rest = gather(iov, iovcnt);
    frame.insert(frame.end(), rest.begin(), rest.end());
    const Zcopy zcopy{header_length, flags, comp};
    return send_frame(ep, id, std::move(frame), &zcopy, send);
  });
}

// One bcopy on its way: the bytes exist only once the lower transport has room and asks for them.
struct Packing {
  FaultEp& ep;
  uint8_t id;
  uct_pack_callback_t pack;
  void* arg;
  Verdict verdict{};
  Damage done{};
  size_t length = 0;  // of the frame as the caller packed it
  bool packed = false;
  OldFrame again{};
};

size_t pack_hit(Packing& packing, std::span<uint8_t> frame) {
  Verdict& verdict = packing.verdict;
  const size_t room = max_bcopy(packing.ep);
  packing.done = whole_frame(frame.size(), 0);
  if (verdict.kind == Kind::kDrop) {
    std::copy(std::begin(kDropMark), std::end(kDropMark), frame.data());
    return sizeof(kDropMark);
  }
  if (verdict.kind == Kind::kRepeat) {
    if (!packing.ep.history.pick(verdict.random, packing.id, room, &packing.again)) {
      packing.again = {packing.id, Bytes(frame.begin(), frame.end())};
    }
    return frame.size();
  }
  if (verdict.kind == Kind::kReplace) {
    OldFrame old;
    if (!packing.ep.history.pick(verdict.random, packing.id, room, &old) ||
        std::equal(old.bytes.begin(), old.bytes.end(), frame.begin(), frame.end())) {
      packing.done = {};
      return frame.size();
    }
    packing.done.new_length = old.bytes.size();
    std::copy(old.bytes.begin(), old.bytes.end(), frame.data());
    return old.bytes.size();
  }
  packing.done = damage(injector().settings(), verdict.kind, frame, verdict.random);
  return packing.done.any() ? packing.done.new_length : frame.size();
}

size_t pack_op(void* dest, void* arg) noexcept {
  auto& packing = *static_cast<Packing*>(arg);
  packing.length = packing.pack(dest, packing.arg);
  packing.packed = true;
  const std::span frame(static_cast<uint8_t*>(dest), packing.length);
  const FrameInfo info{Op::kAm, Side::kTx, packing.id, packing.ep.peer()};
  size_t length = frame.size();
  (void)uct::guarded([&] {
    packing.verdict = injector().judge(info, frame, kTxKinds);
    const Bytes original(frame.begin(), frame.end());
    if (packing.verdict.hit) { length = pack_hit(packing, frame); }
    packing.ep.history.remember(packing.id, original);
    return UCS_OK;
  });
  return length;
}

void finish_bcopy(Packing& packing) {
  if (!packing.verdict.hit) { return; }
  if (packing.verdict.kind == Kind::kRepeat) {
    const bool sent = !failed(send_bytes(packing.ep, packing.id, packing.again.bytes));
    packing.done = sent ? whole_frame(packing.length, packing.again.bytes.size()) : Damage{};
  }
  injector().record({Op::kAm, Side::kTx, packing.id}, packing.verdict, packing.done,
                    packing.length);
}

ssize_t am_bcopy_op(uct_ep_h tl_ep, uint8_t id, uct_pack_callback_t pack, void* arg,
                    unsigned flags) noexcept {
  FaultEp& ep = FaultEp::of(tl_ep);
  if (ep.cancelled) { return UCS_ERR_CANCELED; }
  if (!injector().watches(Op::kAm, Side::kTx)) {
    return uct_ep_am_bcopy(ep.lower(), id, pack, arg, flags);
  }
  Packing packing{.ep = ep, .id = id, .pack = pack, .arg = arg};
  const ssize_t sent = uct_ep_am_bcopy(ep.lower(), id, pack_op, &packing, flags);
  if (sent >= 0) {
    finish_bcopy(packing);
    return static_cast<ssize_t>(packing.length);
  }
  if (packing.packed) { injector().retract(packing.verdict); }
  return sent;
}

// UCT permits nothing but the end of the endpoint after a cancel; ud, for one, then sends nothing
// again that is lost.
ucs_status_t flush_op(uct_ep_h tl_ep, unsigned flags, uct_completion_t* comp) noexcept {
  FaultEp& ep = FaultEp::of(tl_ep);
  if ((flags & UCT_FLUSH_FLAG_CANCEL) != 0) {
    ep.cancelled = true;
    static_cast<FaultIface&>(ep.iface()).cancel_late(ep);
  }
  return uct_ep_flush(ep.lower(), flags, comp);
}

}  // namespace

void fill_am_ops(uct_iface_ops_t& ops) noexcept {
  ops.ep_flush = flush_op;
  ops.ep_am_short = am_short_op;
  ops.ep_am_short_iov = am_short_iov_op;
  ops.ep_am_bcopy = am_bcopy_op;
  ops.ep_am_zcopy = am_zcopy_op;
}

}  // namespace verity::fault
