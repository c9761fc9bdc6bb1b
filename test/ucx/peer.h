// SPDX-License-Identifier: BSD-3-Clause
//
// Two processes that talk over one UCT transport through the public API, and the pipe between them.
#ifndef VERITY_TEST_UCX_PEER_H
#define VERITY_TEST_UCX_PEER_H

#include <uct/api/uct.h>

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace verity::test {

using Bytes = std::vector<uint8_t>;

// Ends a case: failed, or not applicable.
struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};
struct Skip : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Throws Failure with the text unless the condition holds.
void require(bool condition, const std::string& text);
// Throws Failure unless status is UCS_OK or UCS_INPROGRESS.
void check(ucs_status_t status, const std::string& what);

// A stream socket to the other process, apart from the transport under test. With no file
// descriptor it is the channel of a process that talks with itself.
class Channel {
 public:
  explicit Channel(int fd) : fd_(fd) {}
  [[nodiscard]] bool alone() const { return fd_ < 0; }
  // Sends a block and returns the other side's.
  Bytes exchange(const Bytes& mine);
  // Waits until the other side comes here too, calling `progress` all the while (may be empty).
  void barrier(const std::function<void()>& progress);
  // The other side skips the case too, when it comes to its next exchange or barrier. Waits until
  // it has. Nothing goes through the channel afterwards.
  void skip(const std::string& reason) const;

 private:
  enum class Step : char { kExchange = 'x', kBarrier = 'b', kSkip = 's' };
  void put(const void* data, size_t length) const;
  void get(void* data, size_t length) const;
  void put_block(const void* data, size_t length) const;
  [[nodiscard]] Bytes get_block() const;
  void put_step(Step step) const;
  // Throws Skip where the other side skips the case.
  void get_step(Step wanted) const;
  int fd_;
};

struct Options {
  std::string transport;
  std::string device;  // empty: the first
  size_t rx_headroom = 0;
  size_t am_alignment = 0;  // 0: none requested
  size_t am_align_offset = 0;
  ucs_async_mode_t async_mode = UCS_ASYNC_MODE_THREAD_SPINLOCK;
  // Called by a transport that wakes a sleeping process so, with the argument.
  uct_async_event_cb_t event_cb = nullptr;
  void* event_arg = nullptr;
  std::vector<std::pair<std::string, std::string>>
      settings;  // of the transport's configuration, where it has them
};

// The completion of a flush.
struct Flushed {
  uct_completion_t completion = {.func = on_complete, .count = 1, .status = UCS_OK};
  bool done = false;
  static void on_complete(uct_completion_t* completion) {
    reinterpret_cast<Flushed*>(completion)->done = true;
  }
};

// An opened interface with all that belongs to it. Not copyable; everything is closed in reverse.
class Iface {
 public:
  explicit Iface(const Options& options) : Iface(options, nullptr) {}
  // On the worker of another one, which must outlive it.
  Iface(const Options& options, Iface& other) : Iface(options, &other) {}
  ~Iface() { close(); }
  Iface(const Iface&) = delete;
  Iface& operator=(const Iface&) = delete;

  void close();
  unsigned progress() { return uct_worker_progress(worker_); }
  // Progresses until the condition holds; throws Failure after `seconds`.
  void progress_until(const std::function<bool()>& condition, const std::string& what,
                      double seconds = 30);

  [[nodiscard]] uct_iface_h handle() const { return iface_; }
  [[nodiscard]] uct_md_h md() const { return md_; }
  [[nodiscard]] uct_component_h component() const { return component_; }
  [[nodiscard]] ucs_async_context_t* async() const { return async_; }
  [[nodiscard]] const uct_iface_attr_t& attr() const { return attr_; }
  [[nodiscard]] const uct_md_attr_t& md_attr() const { return md_attr_; }
  [[nodiscard]] bool has(uint64_t flag) const { return (attr_.cap.flags & flag) != 0; }
  // Endpoint failures that the error handler got.
  [[nodiscard]] unsigned errors() const { return errors_; }
  // What it does with them besides counting.
  void on_error(std::function<void()> action) { on_error_ = std::move(action); }

  struct Address {
    Bytes device, iface;  // one byte longer than they are, so that the pointers are always valid
  };
  // Tells the other process this one's address, and returns its.
  Address exchange_addresses(Channel& channel);
  [[nodiscard]] bool is_reachable(const Address& peer);
  ucs_status_t try_connect_to_iface(const Address& peer, uct_ep_h* ep_p);
  uct_ep_h connect_to_iface(const Address& peer);
  // Connects `count` endpoints to the other process, which does the same.
  std::vector<uct_ep_h> connect(Channel& channel, size_t count);
  // Waits until the flush of the endpoint is done. It has a completion, because stock UCX's tcp
  // sends the peer a new request in each call without one: where both sides poll, neither may end.
  void flush(uct_ep_h ep, double seconds = 30);

 private:
  Iface(const Options& options, Iface* other);
  bool open_component(uct_component_h component, const Options& options);
  bool open_md(uct_component_h component, const char* md_name, const Options& options);
  void open_iface(const char* device, const Options& options);
  void connect_to_ep(Channel& channel, uct_ep_h ep, const Bytes& device);
  static ucs_status_t failed(void* self, uct_ep_h ep, ucs_status_t status);

  ucs_async_context_t* async_ = nullptr;
  uct_worker_h worker_ = nullptr;
  bool owns_worker_ = true;
  uct_component_h component_ = nullptr;
  uct_md_h md_ = nullptr;
  uct_iface_h iface_ = nullptr;
  uct_iface_attr_t attr_ = {};
  uct_md_attr_t md_attr_ = {};
  unsigned errors_ = 0;
  std::function<void()> on_error_;
};

double seconds_now();

}  // namespace verity::test

#endif
