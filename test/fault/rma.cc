// SPDX-License-Identifier: BSD-3-Clause
//
// Damage of remote memory access: a put's bytes before they leave (from a copy), a get's bytes
// after they landed. Atomics pass unharmed.
#include <algorithm>
#include <functional>

#include "fault/iface.h"
#include "fault/owned.h"

namespace verity::fault {
namespace {

constexpr KindMask kGetKinds = kByteKinds | mask_of(Kind::kTruncate);
constexpr KindMask kPutKinds = kGetKinds | mask_of(Kind::kDrop);

FrameInfo get_from(uint64_t peer) noexcept { return {Op::kGet, Side::kRx, -1, peer}; }
FrameInfo put_to(uint64_t peer) noexcept { return {Op::kPut, Side::kTx, -1, peer}; }

bool watches_put() noexcept { return injector().watches(Op::kPut, Side::kTx); }
bool watches_get() noexcept { return injector().watches(Op::kGet, Side::kRx); }

// Damages what arrived; truncated means that the rest reads as zeros.
Bytes damage_landed(uint64_t peer, std::span<const uint8_t> landed, bool* changed_p) {
  Bytes bytes(landed.begin(), landed.end());
  Verdict verdict = injector().judge(get_from(peer), landed, kGetKinds);
  *changed_p = verdict.hit;
  if (verdict.hit) {
    const Damage done = damage_frame(verdict, bytes);
    injector().record(get_from(peer), verdict, done, landed.size());
    bytes.resize(landed.size());
  }
  return bytes;
}

void damage_in_place(uint64_t peer, const uct_iov_t* iov, size_t count) {
  bool changed;
  const Bytes bytes = damage_landed(peer, gather(iov, count), &changed);
  if (!changed) { return; }
  const uint8_t* from = bytes.data();
  for (const uct_iov_t& entry : std::span(iov, count)) {
    auto* to = static_cast<uint8_t*>(entry.buffer);
    for (unsigned i = 0; i < entry.count && entry.length > 0; ++i, to += entry.stride) {
      std::copy_n(from, entry.length, to);
      from += entry.length;
    }
  }
}

// A zero-copy get on its way.
struct PendingGet {
  uct_completion_t completion;  // first: the lower transport gives back its address
  uct_completion_t* user;
  uint64_t peer;
  std::vector<uct_iov_t> iov;
};

void get_done(uct_completion_t* completion) noexcept {
  const std::unique_ptr<PendingGet> get(reinterpret_cast<PendingGet*>(completion));
  if (completion->status == UCS_OK) {
    (void)uct::guarded(
        [&] { return damage_in_place(get->peer, get->iov.data(), get->iov.size()), UCS_OK; });
  }
  if (get->user != nullptr) { uct::invoke_completion(get->user, completion->status); }
}

ucs_status_t get_zcopy_op(uct_ep_h tl_ep, const uct_iov_t* iov, size_t iovcnt, uint64_t remote_addr,
                          uct_rkey_t rkey, uct_completion_t* comp) noexcept {
  FaultEp& ep = FaultEp::of(tl_ep);
  if (!watches_get()) { return uct_ep_get_zcopy(ep.lower(), iov, iovcnt, remote_addr, rkey, comp); }
  return uct::guarded([&] {
    std::unique_ptr<PendingGet> get(new PendingGet{
        {.func = get_done, .count = 1, .status = UCS_OK}, comp, ep.peer(), {iov, iov + iovcnt}});
    const ucs_status_t status =
        uct_ep_get_zcopy(ep.lower(), iov, iovcnt, remote_addr, rkey, &get->completion);
    if (status == UCS_OK) {
      damage_in_place(ep.peer(), iov, iovcnt);
    } else if (status == UCS_INPROGRESS) {
      (void)get.release();
    }
    return status;
  });
}

struct PendingUnpack {
  uct_unpack_callback_t unpack;
  void* arg;
  uint64_t peer;
};

void unpack_damaged(void* arg, const void* data, size_t length) noexcept {
  const std::unique_ptr<PendingUnpack> pending(static_cast<PendingUnpack*>(arg));
  (void)uct::guarded([&] {
    bool changed;
    const Bytes bytes =
        damage_landed(pending->peer, {static_cast<const uint8_t*>(data), length}, &changed);
    pending->unpack(pending->arg, bytes.data(), length);
    return UCS_OK;
  });
}

ucs_status_t get_bcopy_op(uct_ep_h tl_ep, uct_unpack_callback_t unpack, void* arg, size_t length,
                          uint64_t remote_addr, uct_rkey_t rkey, uct_completion_t* comp) noexcept {
  FaultEp& ep = FaultEp::of(tl_ep);
  if (!watches_get()) {
    return uct_ep_get_bcopy(ep.lower(), unpack, arg, length, remote_addr, rkey, comp);
  }
  return uct::guarded([&] {
    auto* pending = new PendingUnpack{unpack, arg, ep.peer()};
    const ucs_status_t status =
        uct_ep_get_bcopy(ep.lower(), unpack_damaged, pending, length, remote_addr, rkey, comp);
    if (UCS_STATUS_IS_ERR(status)) {
      delete pending;  // never unpacked
    }
    return status;
  });
}

ucs_status_t get_short_op(uct_ep_h tl_ep, void* buffer, unsigned length, uint64_t remote_addr,
                          uct_rkey_t rkey) noexcept {
  FaultEp& ep = FaultEp::of(tl_ep);
  uct_ep_h lower = ep.lower();
  const ucs_status_t status =
      lower->iface->ops.ep_get_short(lower, buffer, length, remote_addr, rkey);
  if (status != UCS_OK || !watches_get()) { return status; }
  const uct_iov_t iov{.buffer = buffer, .length = length, .memh = nullptr, .stride = 0, .count = 1};
  return uct::guarded([&] { return damage_in_place(ep.peer(), &iov, 1), UCS_OK; });
}

// Judges `bytes` and sends what is left of them with `send`, unless they are to be dropped.
template <typename Send>
ucs_status_t put_bytes(uint64_t peer, Bytes& bytes, Send&& send) {
  const FrameInfo info = put_to(peer);
  Verdict verdict = injector().judge(info, bytes, kPutKinds);
  const size_t length = bytes.size();
  Damage done = whole_frame(length, 0);
  if (verdict.hit && verdict.kind == Kind::kDrop) {
    injector().record(info, verdict, done, length);
    return UCS_OK;
  }
  if (verdict.hit) { done = damage_frame(verdict, bytes); }
  const ucs_status_t status = send(verdict.hit);
  if (UCS_STATUS_IS_ERR(status)) {
    injector().retract(verdict);
  } else if (verdict.hit) {
    injector().record(info, verdict, done, length);
  }
  return status;
}

ucs_status_t put_zcopy_op(uct_ep_h tl_ep, const uct_iov_t* iov, size_t iovcnt, uint64_t remote_addr,
                          uct_rkey_t rkey, uct_completion_t* comp) noexcept {
  FaultEp& ep = FaultEp::of(tl_ep);
  const auto send_original = [&] {
    return uct_ep_put_zcopy(ep.lower(), iov, iovcnt, remote_addr, rkey, comp);
  };
  if (!watches_put()) { return send_original(); }
  return uct::guarded([&] {
    Bytes bytes = gather(iov, iovcnt);
    return put_bytes(ep.peer(), bytes, [&](bool hit) {
      if (!hit) { return send_original(); }
      std::unique_ptr<OwnedBuffer> buffer;
      ucs_status_t status = OwnedBuffer::make(ep, bytes, comp, &buffer);
      if (status == UCS_OK) {
        const uct_iov_t damaged = buffer->iov(0);
        status = uct_ep_put_zcopy(ep.lower(), &damaged, 1, remote_addr, rkey, buffer->completion());
        status = OwnedBuffer::posted(std::move(buffer), status);
      }
      return status;
    });
  });
}

ucs_status_t put_short_op(uct_ep_h tl_ep, const void* buffer, unsigned length, uint64_t remote_addr,
                          uct_rkey_t rkey) noexcept {
  FaultEp& ep = FaultEp::of(tl_ep);
  if (!watches_put()) { return uct_ep_put_short(ep.lower(), buffer, length, remote_addr, rkey); }
  return uct::guarded([&] {
    const auto* start = static_cast<const uint8_t*>(buffer);
    Bytes bytes(start, start + length);
    return put_bytes(ep.peer(), bytes, [&](bool) {
      return uct_ep_put_short(ep.lower(), bytes.data(), static_cast<unsigned>(bytes.size()),
                              remote_addr, rkey);
    });
  });
}

struct PutPacking {
  uct_pack_callback_t pack;
  void* arg;
  uint64_t peer;
  size_t length = 0;
};

// In place: a dropped put_bcopy would need a frame without bytes, so it is none of the kinds here.
size_t pack_put(void* dest, void* arg) noexcept {
  auto& packing = *static_cast<PutPacking*>(arg);
  packing.length = packing.pack(dest, packing.arg);
  const std::span frame(static_cast<uint8_t*>(dest), packing.length);
  Verdict verdict = injector().judge(put_to(packing.peer), frame, kGetKinds);
  if (!verdict.hit) { return packing.length; }
  const Damage done = damage(injector().settings(), verdict.kind, frame, verdict.random);
  injector().record(put_to(packing.peer), verdict, done, packing.length);
  return done.any() ? done.new_length : packing.length;
}

ssize_t put_bcopy_op(uct_ep_h tl_ep, uct_pack_callback_t pack, void* arg, uint64_t remote_addr,
                     uct_rkey_t rkey) noexcept {
  FaultEp& ep = FaultEp::of(tl_ep);
  if (!watches_put()) { return uct_ep_put_bcopy(ep.lower(), pack, arg, remote_addr, rkey); }
  PutPacking packing{pack, arg, ep.peer()};
  const ssize_t sent = uct_ep_put_bcopy(ep.lower(), pack_put, &packing, remote_addr, rkey);
  return sent < 0 ? sent : static_cast<ssize_t>(packing.length);
}

}  // namespace

void fill_rma_ops(uct_iface_ops_t& ops) noexcept {
  ops.ep_put_short = put_short_op;
  ops.ep_put_bcopy = put_bcopy_op;
  ops.ep_put_zcopy = put_zcopy_op;
  ops.ep_get_short = get_short_op;
  ops.ep_get_bcopy = get_bcopy_op;
  ops.ep_get_zcopy = get_zcopy_op;
}

}  // namespace verity::fault
