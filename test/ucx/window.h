// SPDX-License-Identifier: BSD-3-Clause
//
// Registered memory of two processes, and what the cases do with it.
#ifndef VERITY_TEST_UCX_WINDOW_H
#define VERITY_TEST_UCX_WINDOW_H

#include <cstring>
#include <string>

#include "cases/cases.h"

namespace verity::test {

inline constexpr uint8_t kPattern =
    77;  // content of a window: that of message `kPattern` of a flow

// Registered memory, and the other process's.
class Window {
 public:
  Window(Iface& iface, Channel& channel, size_t length);
  ~Window();
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

  void deregister();
  // From that offset on, a multiple of the page size.
  void take_away(size_t offset);
  [[nodiscard]] uint8_t* at(size_t offset) { return memory_ + offset; }
  [[nodiscard]] uint64_t remote(size_t offset) const { return remote_ + offset; }
  [[nodiscard]] uct_rkey_t key() const { return key_.rkey; }

 private:
  static uct_component_h component_of(const Iface& iface) { return iface.component(); }
  Iface& iface_;
  size_t length_;
  uint8_t* memory_ = nullptr;
  uct_mem_h memh_ = UCT_MEM_HANDLE_NULL;
  uint64_t remote_ = 0;
  uct_rkey_bundle_t key_ = {};
};

// What a window of one interface holds, for another interface of its worker as well.
class SharedWindow {
 public:
  SharedWindow(Iface& iface, Channel& channel, Window& window, size_t length);
  ~SharedWindow();
  SharedWindow(const SharedWindow&) = delete;
  SharedWindow& operator=(const SharedWindow&) = delete;
  [[nodiscard]] uct_rkey_t key() const { return key_.rkey; }

 private:
  Iface& iface_;
  uct_mem_h memh_ = UCT_MEM_HANDLE_NULL;
  uct_rkey_bundle_t key_ = {};
};

// Throws Skip where the transport lacks one of these capabilities (UCT_IFACE_FLAG_...), or
// registration.
void need(const Iface& iface, uint64_t flags, const Side& side);

// Tries until there is room.
template <typename Operation>
ucs_status_t post(Iface& iface, const std::string& what, Operation&& operation) {
  ucs_status_t status = UCS_ERR_NO_RESOURCE;
  iface.progress_until(
      [&] {
        status = operation();
        return status != UCS_ERR_NO_RESOURCE;
      },
      "room for a " + what);
  check(status, what);
  return status;
}

// By put_short or put_bcopy.
void put(Iface& iface, uct_ep_h ep, const Window& window, size_t offset, const Bytes& content,
         bool as_short);

// A get under way: `content.size()` bytes from `offset` on.
struct Get {
  uct_completion_t completion = {};
  size_t offset = 0;
  Bytes content;
  unsigned* open = nullptr;
  ucs_status_t status = UCS_INPROGRESS;

  static void unpack(void* argument, const void* data, size_t length) {
    auto* self = static_cast<Get*>(argument);
    if (length == self->content.size()) std::memcpy(self->content.data(), data, length);
  }
  static void done(uct_completion_t* completion) {
    auto* self = reinterpret_cast<Get*>(completion);
    self->status = completion->status;
    --*self->open;
  }
  uct_completion_t* start(unsigned* counter) {
    open = counter;
    ++*open;
    completion = {done, 1, UCS_OK};
    return &completion;
  }
};
static_assert(offsetof(Get, completion) == 0);

// `of`: the window's content, which never changes here.
void verify(Get& get, const Bytes& of);
[[nodiscard]] Bytes window_content(size_t length);

// The transport under test with cma in posix' place; throws Skip where there is none.
Options reading_beside(const Side& side);

}  // namespace verity::test

#endif
