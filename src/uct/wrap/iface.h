// SPDX-License-Identifier: BSD-3-Clause
//
// An interface that opens the lower transport's interface, on the same worker unless it wants
// another, and passes everything through. A derived class changes what it needs to:
//   data path     fill_ops() replaces entries of UCX's operation table
//   receive       am_callback() is what the lower interface calls for each active message
//   control path  the virtual functions below
#ifndef VERITY_UCT_WRAP_IFACE_H
#define VERITY_UCT_WRAP_IFACE_H

#include <memory>

#include "uct/compat/internal_ops.h"
#include "uct/wrap/ep.h"
#include "uct/wrap/lower.h"
#include "uct/wrap/md.h"
#include "uct/wrap/transparency.h"
#include "util/list.h"

namespace verity::uct {

struct TlEntry;

// More than 30 member functions: 17 of them are what a derived class may change.
class WrapIface : public uct_base_iface_t {
 public:
  WrapIface() : uct_base_iface_t{} {}
  virtual ~WrapIface();
  WrapIface(const WrapIface&) = delete;
  WrapIface& operator=(const WrapIface&) = delete;

  static WrapIface& of(uct_iface_h iface) noexcept {
    return static_cast<WrapIface&>(*reinterpret_cast<uct_base_iface_t*>(iface));
  }

  [[nodiscard]] uct_iface_h handle() noexcept { return &super; }
  [[nodiscard]] uct_iface_h lower() const noexcept { return lower_.get(); }
  // What the lower interface said when it was opened.
  [[nodiscard]] const uct_iface_attr_t& lower_attr() const noexcept { return lower_attr_; }
  [[nodiscard]] WrapMd& memory_domain() const noexcept { return WrapMd::of(md); }
  [[nodiscard]] const char* lower_tl_name() const noexcept;
  // The lower component says of itself that it makes faults (kInjectorTitle).
  [[nodiscard]] bool lower_injects() const noexcept;

  // The lower interface calls `callback` with one of these as argument.
  struct AmSlot {
    WrapIface* iface;
    uint8_t id;  // of the lower active message
  };

  // ---- what a derived class may change; all called from the interface's control path ----

  // `ops` holds the pass-through table.
  virtual void fill_ops(uct_iface_ops_t& ops) const noexcept;
  virtual void fill_internal_ops(InternalOps& ops) const noexcept;

  // `attr` holds the lower interface's answer. By default, unless the spec passes remote memory
  // access: active messages only, and connection to the interface where the lower offers it.
  virtual void map_attr(uct_iface_attr_t& attr) const noexcept;

  // Called by the lower interface with an AmSlot for each active message received.
  [[nodiscard]] virtual uct_am_callback_t am_callback() const noexcept;

  // Bytes that the frames have in front of what the upper layer sends, so that its alignment
  // wishes hold behind them.
  [[nodiscard]] virtual size_t am_header_size() const noexcept { return 0; }

  // Bytes that a copied message is longer below, so that the upper layer's may be as long as on the
  // lower transport.
  [[nodiscard]] virtual size_t am_room() const noexcept { return 0; }

  // Bytes in front of the lower device address (transparency.h): 0, or those of the mark.
  [[nodiscard]] size_t device_addr_extra() const noexcept {
    return memory_domain().wrapper().is_transparent() ? kDeviceMark.size() : 0;
  }
  // The lower address in a peer's: without a mark it is one already, of a raw peer or from UCX's
  // connection manager, which asks the lower transport for it.
  [[nodiscard]] const uct_device_addr_t* lower_device(
      const uct_device_addr_t* address) const noexcept;
  [[nodiscard]] PeerAddress lower_peer(PeerAddress peer) const noexcept {
    peer.device = lower_device(peer.device);
    return peer;
  }
  [[nodiscard]] bool lower_reaches(const PeerAddress& peer) const noexcept;
  [[nodiscard]] ucs_status_t connect_lower(uct_ep_h lower_ep, const uct_device_addr_t* device,
                                           const uct_ep_addr_t* address,
                                           const AddressLengths& lengths) const noexcept;
  // Whether a peer of the same wrapper can have made these addresses: false for those of a raw
  // transport of the same name, behind which nothing may be read.
  [[nodiscard]] bool is_ours(const uct_device_addr_t* device,
                             const uct_iface_addr_t* address) const noexcept {
    return is_ours(device, address, lower_attr_.iface_addr_len + iface_addr_extra());
  }
  [[nodiscard]] bool is_ours(const uct_device_addr_t* device,
                             const uct_ep_addr_t* address) const noexcept {
    return is_ours(device, address, lower_attr_.ep_addr_len + ep_addr_extra());
  }

  // A peer's addresses are not is_ours(): says so. For the caller to return.
  virtual ucs_status_t refuse_raw_peer() const noexcept { return UCS_ERR_UNREACHABLE; }

  // Bytes appended to the lower interface's or endpoint's address.
  [[nodiscard]] virtual size_t iface_addr_extra() const noexcept { return 0; }
  virtual void write_iface_addr_extra(void*) noexcept {}
  [[nodiscard]] virtual size_t ep_addr_extra() const noexcept { return 0; }
  virtual void write_ep_addr_extra(WrapEp&, void*) noexcept {}

  [[nodiscard]] virtual std::unique_ptr<WrapEp> new_ep() { return std::make_unique<WrapEp>(); }

  // The lower interface's progress, and that of its own worker, if it has one.
  unsigned progress_lower() noexcept {
    const unsigned count = uct_iface_progress(lower());
    return lower_worker_ != nullptr ? count + uct_worker_progress(lower_worker_.get()) : count;
  }

  // Whether the lower interface is opened on a worker of its own: what it puts into that one's
  // queue of callbacks runs in progress_lower() alone, not in the upper worker's progress.
  [[nodiscard]] virtual bool wants_lower_worker() const noexcept { return false; }

  // Last step of opening: lower() is open. First step of closing, lower() is still open.
  virtual ucs_status_t opened(const uct_iface_params_t& params,
                              const uct_iface_config_t& iface_config);
  virtual void closing() noexcept {}

  // The lower endpoint of `ep` failed: by default it is reported to the upper layer's error
  // handler. May run on the async thread, with the worker's async context blocked. The result goes
  // back to the lower transport: not UCS_OK makes it log the failure as unhandled.
  virtual ucs_status_t ep_failed(WrapEp& ep, ucs_status_t status) noexcept;
  // The same for a lower endpoint that no WrapEp owns (any more).
  virtual ucs_status_t unknown_ep_failed(uct_ep_h lower, ucs_status_t status) noexcept;

  // Carries the upper layer's choice between synchronous and asynchronous handlers over to the
  // lower interface. UCX does not say when a handler is set, so this is called whenever messages
  // may start to come: when an address is given out, an endpoint made, progress enabled.
  virtual void sync_am_handlers() noexcept;

  // ---- for the layers of this folder ----

  void add(WrapEp& ep) noexcept { eps_.push_back(ep); }
  [[nodiscard]] WrapEp* find_ep(uct_ep_h lower) noexcept;

  static ucs_status_t open(uct_md_h md, uct_worker_h worker, const uct_iface_params_t* params,
                           const uct_iface_config_t* config, uct_iface_h* iface_p) noexcept;
  static void close(uct_iface_h iface) noexcept;
  static ucs_status_t query(uct_iface_h iface, uct_iface_attr_t* attr) noexcept;

 protected:
  // Sets the lower interface's handler of `id` to am_callback(). `flags`: 0 or UCT_CB_FLAG_ASYNC.
  [[nodiscard]] ucs_status_t set_lower_am_handler(uint8_t id, uint32_t flags) noexcept;

 private:
  ucs_status_t init(uct_md_h md, uct_worker_h worker, const uct_iface_params_t& params,
                    const uct_iface_config_t& iface_config);
  ucs_status_t open_lower(uct_worker_h worker, const uct_iface_params_t& params,
                          const uct_iface_config_t& iface_config);
  [[nodiscard]] bool is_ours(const uct_device_addr_t* device, const void* own,
                             size_t length) const noexcept;
  [[nodiscard]] uint32_t wanted_am_flags(uint8_t id) const noexcept;

  bool base_ready_ = false;
  InternalTable internal_ops_;
  const TlEntry* entry_ = nullptr;
  LowerWorker lower_worker_;  // nullptr: the upper one serves
  LowerIface lower_;
  uct_iface_attr_t lower_attr_{};
  util::ListNode eps_;
  AmSlot am_slots_[UCT_AM_ID_MAX] = {};
  uint32_t lower_am_flags_[UCT_AM_ID_MAX] = {};
  uct_am_callback_t stub_am_callback_ = nullptr;
};

}  // namespace verity::uct

#endif
