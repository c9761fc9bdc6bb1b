// SPDX-License-Identifier: BSD-3-Clause
#include "tools/bench/clock.h"
#include "tools/bench/uct_stack.h"

namespace verity::tools::bench {

template <>
void UctStack::send<Send::kShort>(std::size_t size) {
  while (uct_ep_am_short(ep_, kAmId, 0, buffer_.data(), static_cast<unsigned>(size - 8)) ==
         UCS_ERR_NO_RESOURCE) {
    progress();
  }
}

template <>
void UctStack::send<Send::kBcopy>(std::size_t size) {
  PackSource source{buffer_.data(), size};
  while (uct_ep_am_bcopy(ep_, kAmId, pack, &source, 0) == UCS_ERR_NO_RESOURCE) progress();
}

template <>
void UctStack::send<Send::kZcopy>(std::size_t size) {
  while (zcopy_pending_ == flights_.size()) progress();
  Flight& flight = flights_[next_flight_];
  next_flight_ = (next_flight_ + 1) % flights_.size();
  uct_iov_t piece{};
  piece.buffer = buffer_.data();
  piece.length = size;
  piece.memh = memory_;
  piece.count = 1;
  ucs_status_t status;
  while ((status = uct_ep_am_zcopy(ep_, kAmId, nullptr, 0, &piece, 1, 0, &flight.completion)) ==
         UCS_ERR_NO_RESOURCE) {
    progress();
  }
  if (status == UCS_INPROGRESS) ++zcopy_pending_;
}

void UctStack::send_done_word() { send<Send::kBcopy>(8); }

// Calls body.operator()<how>() with the batch's way of sending as a constant.
template <typename Body>
void UctStack::dispatch(Send how, Body&& body) {
  switch (how) {
    case Send::kShort: body.template operator()<Send::kShort>(); break;
    case Send::kZcopy: body.template operator()<Send::kZcopy>(); break;
    default: body.template operator()<Send::kBcopy>(); break;
  }
}

// Memory and completions are made ready before the first batch that needs them.
void UctStack::register_buffer(const Batch& batch) {
  const bool grown = buffer_.grow(batch.size);
  if (batch.send != Send::kZcopy) return;
  if (flights_.empty()) {
    flights_.resize(32);
    for (Flight& flight : flights_) {
      flight.completion = {.func = on_zcopy_done, .count = 1, .status = UCS_OK};
      flight.stack = this;
    }
  }
  if ((md_attr_.cap.flags & UCT_MD_FLAG_REG) == 0) return;
  if (memory_ != UCT_MEM_HANDLE_NULL && !grown) return;
  if (memory_ != UCT_MEM_HANDLE_NULL) check_uct(uct_md_mem_dereg(md_, memory_), "deregistration");
  check_uct(uct_md_mem_reg(md_, buffer_.data(), buffer_.size(), UCT_MD_MEM_ACCESS_ALL, &memory_),
            transport_ + ": registration");
}

void UctStack::lead(const Batch& batch, std::vector<std::uint64_t>* ticks_out) {
  register_buffer(batch);
  received_ = 0;
  dispatch(batch.send, [&]<Send kHow>() {
    if (batch.test == Test::kRate) {
      for (unsigned i = 0; i < batch.warm_up; ++i) send<kHow>(batch.size);
      if (batch.warm_up > 0) wait_for(1);
      const std::uint64_t expected = received_ + 1;
      const std::uint64_t start = ticks();
      for (unsigned i = 0; i < batch.count; ++i) send<kHow>(batch.size);
      wait_for(expected);
      ticks_out->push_back(ticks() - start);
    } else {
      for (unsigned i = 0; i < batch.warm_up; ++i) {
        send<kHow>(batch.size);
        wait_for(i + 1);
      }
      std::uint64_t last = ticks();
      for (unsigned i = 0; i < batch.count; ++i) {
        send<kHow>(batch.size);
        wait_for(batch.warm_up + i + 1);
        const std::uint64_t now = ticks();
        ticks_out->push_back(now - last);
        last = now;
      }
    }
  });
  wait_zcopy();
}

void UctStack::follow(const Batch& batch) {
  register_buffer(batch);
  if (batch.test == Test::kRate) {
    if (batch.warm_up > 0) {
      wait_for(batch.warm_up);
      send_done_word();
    }
    wait_for(std::uint64_t{batch.warm_up} + batch.count);
    send_done_word();
  } else {
    dispatch(batch.send, [&]<Send kHow>() {
      for (unsigned i = 0; i < batch.warm_up + batch.count; ++i) {
        wait_for(i + 1);
        send<kHow>(batch.size);
      }
    });
  }
  wait_zcopy();
  received_ = 0;
}

void UctStack::loop_back(const Batch& batch, std::vector<std::uint64_t>* ticks_out) {
  register_buffer(batch);
  received_ = 0;
  dispatch(batch.send, [&]<Send kHow>() {
    for (unsigned i = 0; i < batch.warm_up; ++i) send<kHow>(batch.size);
    wait_for(batch.warm_up);
    const std::uint64_t start = ticks();
    std::uint64_t last = start;
    for (unsigned i = 0; i < batch.count; ++i) {
      send<kHow>(batch.size);
      if (batch.test == Test::kRate) continue;
      wait_for(batch.warm_up + i + 1);
      const std::uint64_t now = ticks();
      ticks_out->push_back(now - last);
      last = now;
    }
    wait_for(std::uint64_t{batch.warm_up} + batch.count);
    if (batch.test == Test::kRate) ticks_out->push_back(ticks() - start);
  });
  wait_zcopy();
}

void UctStack::disconnect() {
  if (ep_ == nullptr) return;
  const std::uint64_t give_up = monotonic_ns() + 2'000'000'000;
  while (uct_iface_flush(iface_, 0, nullptr) != UCS_OK && monotonic_ns() < give_up) progress();
  uct_ep_destroy(ep_);
  ep_ = nullptr;
}

}  // namespace verity::tools::bench
