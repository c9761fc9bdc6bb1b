// SPDX-License-Identifier: BSD-3-Clause
//
// What the parts of one verifying interface have in common. Set while the interface opens, and then
// only read, but for what is said.
#ifndef VERITY_UCT_LINKS_IFACE_CORE_H
#define VERITY_UCT_LINKS_IFACE_CORE_H

#include <memory>
#include <string>

#include "health/files/interface_rows.h"
#include "link/hub.h"
#include "uct/idle/thread_rules.h"
#include "uct/links/worker_group.h"
#include "uct/process/options.h"
#include "uct/process/process.h"
#include "uct/wrap/iface.h"
#include "wire/am_ids.h"

namespace verity::uct {

class OneSided;

// More than 15 fields, for it is a list of what is shared.
struct IfaceCore {
  explicit IfaceCore(WrapIface& iface) noexcept
      : wrap(iface), options(uct::options()), config(options.link) {}
  IfaceCore(const IfaceCore&) = delete;
  IfaceCore& operator=(const IfaceCore&) = delete;

  WrapIface& wrap;
  const Process& owner = process();  // that opened it
  const Options& options;            // those of this interface, whatever is configured later
  link::Config config;
  ThreadRules threads;
  std::unique_ptr<health::InterfaceRows> rows;
  std::unique_ptr<link::Hub> hub;
  OneSided* onesided = nullptr;  // not in mode off
  WorkerGroup group;
  uint64_t uid = 0;
  std::string device_name;
  uct_am_callback_t stub = nullptr;  // UCX's handler where the upper layer has set none
  bool to_ep = false;                // connect-to-endpoint
  bool is_self = false;              // the lower transport delivers inside the sender's call
  bool is_tcp = false;               // what the peer sent is lost where a send to it fails
  // Changes all the time: received messages that the upper layer is handling, and completions that
  // run before one of them. More than one on self.
  unsigned upcalls = 0;
  // Look before the next upcall (receiving/delivery.h): set when messages are kept, sends wait for
  // their completion, the interface closes, or it is served while it is idle.
  bool check_kept = false;

  [[nodiscard]] uct_iface_h lower() const noexcept { return wrap.lower(); }
  [[nodiscard]] const uct_iface_attr_t& lower_attr() const noexcept { return wrap.lower_attr(); }
  [[nodiscard]] const char* lower_name() const noexcept { return wrap.lower_tl_name(); }
  [[nodiscard]] bool is_off() const noexcept { return config.mode == link::Mode::kOff; }
  // In a child made by fork(), of the parent's: it is left as it is, and closed without a message.
  [[nodiscard]] bool is_inherited() const noexcept { return &owner != &process(); }
  // Of what belongs to no link.
  [[nodiscard]] health::Counters& counters() const noexcept { return rows->own(); }
  // Inside a lower receive callback tcp must not make an endpoint: it would take over the very
  // connection whose buffer it is reading, and stumble over the rest of it. It is made in progress.
  [[nodiscard]] bool may_connect() const noexcept { return upcalls == 0 || threads.has_async; }

  // The class in which upper message `id` travels: as the upper layer wants to receive it.
  [[nodiscard]] wire::Class class_of(uint8_t id) const noexcept {
    if (!threads.has_async) return wire::Class::kSync;
    const uct_am_handler_t& handler = wrap.am[id];
    const bool is_async = (handler.flags & UCT_CB_FLAG_ASYNC) != 0 && handler.cb != stub;
    return is_async ? wire::Class::kAsync : wire::Class::kSync;
  }
};

}  // namespace verity::uct

#endif
