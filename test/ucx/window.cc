// SPDX-License-Identifier: BSD-3-Clause
#include "window.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

namespace verity::test {

Window::Window(Iface& iface, Channel& channel, size_t length) : iface_(iface), length_(length) {
  void* mapped = mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  require(mapped != MAP_FAILED, "no memory");
  memory_ = static_cast<uint8_t*>(mapped);
  fill(memory_, length, kPattern, 0);
  check(uct_md_mem_reg(iface.md(), memory_, length, UCT_MD_MEM_ACCESS_ALL, &memh_),
        "uct_md_mem_reg");
  Bytes mine(sizeof(uint64_t) + iface.md_attr().rkey_packed_size);
  const auto address = reinterpret_cast<uint64_t>(memory_);
  std::memcpy(mine.data(), &address, sizeof(address));
  check(uct_md_mkey_pack(iface.md(), memh_, mine.data() + sizeof(address)), "uct_md_mkey_pack");
  const Bytes theirs = channel.exchange(mine);
  std::memcpy(&remote_, theirs.data(), sizeof(remote_));
  check(uct_rkey_unpack(component_of(iface), theirs.data() + sizeof(remote_), &key_),
        "uct_rkey_unpack");
}
Window::~Window() {
  uct_rkey_release(component_of(iface_), &key_);
  deregister();
  munmap(memory_, length_);
}

void Window::deregister() {
  if (memh_ != UCT_MEM_HANDLE_NULL) uct_md_mem_dereg(iface_.md(), memh_);
  memh_ = UCT_MEM_HANDLE_NULL;
}

void Window::take_away(size_t offset) {
  void* hole = mmap(memory_ + offset, length_ - offset, PROT_NONE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  require(hole != MAP_FAILED, "mmap");
}

SharedWindow::SharedWindow(Iface& iface, Channel& channel, Window& window, size_t length)
    : iface_(iface) {
  check(uct_md_mem_reg(iface.md(), window.at(0), length, UCT_MD_MEM_ACCESS_ALL, &memh_),
        "uct_md_mem_reg");
  Bytes key(iface.md_attr().rkey_packed_size);
  check(uct_md_mkey_pack(iface.md(), memh_, key.data()), "uct_md_mkey_pack");
  check(uct_rkey_unpack(iface.component(), channel.exchange(key).data(), &key_), "uct_rkey_unpack");
}

SharedWindow::~SharedWindow() {
  uct_rkey_release(iface_.component(), &key_);
  uct_md_mem_dereg(iface_.md(), memh_);
}

void need(const Iface& iface, uint64_t flags, const Side& side) {
  if (!iface.has(flags)) throw Skip("not offered by " + side.options.transport);
  if ((iface.md_attr().cap.flags & UCT_MD_FLAG_REG) == 0)
    throw Skip("no registration in " + side.options.transport);
}

namespace {

size_t pack_bytes(void* target, void* argument) {
  const Bytes& content = *static_cast<const Bytes*>(argument);
  std::copy(content.begin(), content.end(), static_cast<uint8_t*>(target));
  return content.size();
}

}  // namespace

void put(Iface& iface, uct_ep_h ep, const Window& window, size_t offset, const Bytes& content,
         bool as_short) {
  if (as_short) {
    post(iface, "put_short", [&] {
      return uct_ep_put_short(ep, content.data(), static_cast<unsigned>(content.size()),
                              window.remote(offset), window.key());
    });
    return;
  }
  post(iface, "put_bcopy", [&] {
    const ssize_t sent = uct_ep_put_bcopy(ep, pack_bytes, const_cast<Bytes*>(&content),
                                          window.remote(offset), window.key());
    require(sent < 0 || sent == static_cast<ssize_t>(content.size()),
            "put_bcopy tells a wrong length");
    return sent < 0 ? static_cast<ucs_status_t>(sent) : UCS_OK;
  });
}

void verify(Get& get, const Bytes& of) {
  require(get.status == UCS_OK, std::string("a get ended with: ") + ucs_status_string(get.status));
  require(std::equal(get.content.begin(), get.content.end(),
                     of.begin() + static_cast<ptrdiff_t>(get.offset)),
          "a get brought wrong bytes");
}

Bytes window_content(size_t length) {
  Bytes bytes(length);
  fill(bytes.data(), length, kPattern, 0);
  return bytes;
}

Options reading_beside(const Side& side) {
  Options options = side.options;
  const size_t at = options.transport.find("posix");
  if (at == std::string::npos || side.channel.alone()) throw Skip("done with posix and cma");
  options.transport.replace(at, 5, "cma");
  if (!options.transport.starts_with('v')) throw Skip("stock UCX is not what is tested here");
  return options;
}

}  // namespace verity::test
