// SPDX-License-Identifier: BSD-3-Clause
//
// Active messages straight on a UCT interface. uct_stack_open.cc opens and connects it,
// uct_stack_run.cc sends.
#ifndef VERITY_TOOLS_BENCH_UCT_STACK_H
#define VERITY_TOOLS_BENCH_UCT_STACK_H

#include <uct/api/uct.h>

#include <cstring>

#include "tools/bench/buffer.h"
#include "tools/bench/stack.h"

namespace verity::tools::bench {

class UctStack final : public Stack {
 public:
  explicit UctStack(const std::string& transport);
  ~UctStack() override;

  std::string address() override;
  void connect(const std::string& peer) override;
  Capability capability() const override;
  void lead(const Batch& batch, std::vector<std::uint64_t>* ticks_out) override;
  void follow(const Batch& batch) override;
  void idle() override { progress(); }
  void loop_back(const Batch& batch, std::vector<std::uint64_t>* ticks_out) override;
  void disconnect() override;

  static constexpr std::uint8_t kAmId = 5;

 private:
  void open_memory_domain();
  bool try_memory_domain(uct_component_h component, const char* name);
  void open_interface();
  bool has(std::uint64_t flag) const { return (attr_.cap.flags & flag) != 0; }
  void progress() { (void)uct_worker_progress(worker_); }
  void wait_for(std::uint64_t total) {
    while (received_ < total) progress();
  }

  // Sends one message; returns when the transport has taken it.
  template <Send kHow>
  void send(std::size_t size);
  void wait_zcopy() {
    while (zcopy_pending_ > 0) progress();
  }
  void send_done_word();
  void register_buffer(const Batch& batch);

  template <typename Body>
  void dispatch(Send how, Body&& body);

  static ucs_status_t on_message(void* arg, void*, std::size_t, unsigned) {
    ++static_cast<UctStack*>(arg)->received_;
    return UCS_OK;
  }
  static std::size_t pack(void* dest, void* arg) {
    const auto* source = static_cast<PackSource*>(arg);
    std::memcpy(dest, source->data, source->size);
    return source->size;
  }
  static void on_zcopy_done(uct_completion_t* completion) {
    auto* flight = reinterpret_cast<Flight*>(completion);
    --flight->stack->zcopy_pending_;
    completion->count = 1;
  }

  struct PackSource {
    const void* data;
    std::size_t size;
  };
  struct Flight {
    uct_completion_t completion;
    UctStack* stack;
  };

  std::string transport_;
  std::string device_;
  ucs_async_context_t* async_ = nullptr;
  uct_worker_h worker_ = nullptr;
  uct_md_h md_ = nullptr;
  uct_md_attr_t md_attr_{};
  uct_iface_h iface_ = nullptr;
  uct_iface_attr_t attr_{};
  uct_ep_h ep_ = nullptr;
  uct_mem_h memory_ = UCT_MEM_HANDLE_NULL;
  Buffer buffer_;
  std::vector<Flight> flights_;
  std::size_t next_flight_ = 0;
  unsigned zcopy_pending_ = 0;
  // Written by the handler, read in loops around uct_worker_progress() which is opaque.
  std::uint64_t received_ = 0;
};

// Throws std::runtime_error, "`what`: UCX's words", unless `status` is UCS_OK.
void check_uct(ucs_status_t status, const std::string& what);

}  // namespace verity::tools::bench

#endif
