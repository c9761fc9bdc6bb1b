// SPDX-License-Identifier: BSD-3-Clause
//
// Owning handles of the lower transport's objects, made through UCX's client interface with the
// lower transport's own configuration (UCX_TCP_..., UCX_POSIX_...), as if UCP had opened them.
#ifndef VERITY_UCT_WRAP_LOWER_H
#define VERITY_UCT_WRAP_LOWER_H

#include <memory>
#include <vector>

#include "uct/compat/ucx.h"

namespace verity::uct {

struct MdCloser {
  void operator()(uct_md_h md) const noexcept { uct_md_close(md); }
};
struct IfaceCloser {
  void operator()(uct_iface_h iface) const noexcept { uct_iface_close(iface); }
};
struct EpCloser {
  void operator()(uct_ep_h ep) const noexcept { uct_ep_destroy(ep); }
};
struct WorkerCloser {
  void operator()(uct_worker_h worker) const noexcept { uct_worker_destroy(worker); }
};

// Close order is the owner's business: endpoints, then the interface, then the memory domain
// and the worker.
using LowerMd = std::unique_ptr<uct_md_t, MdCloser>;
using LowerIface = std::unique_ptr<uct_iface_t, IfaceCloser>;
using LowerEp = std::unique_ptr<uct_ep_t, EpCloser>;
using LowerWorker = std::unique_ptr<uct_worker_t, WorkerCloser>;

// Each function fills its last argument only on success; errors are those of UCX.

[[nodiscard]] ucs_status_t open_lower_md(uct_component_h component, const char* name,
                                         LowerMd* md_p);

// Values of a lower transport's options, and what they are values of.
struct LowerConfig {
  const uct_iface_config_t* values;
  const ucs_config_global_list_entry_t& options;
};

// One with the asynchronous context of `upper`, and a queue of callbacks of its own.
[[nodiscard]] ucs_status_t make_lower_worker(const uct_priv_worker_t& upper, LowerWorker* worker_p);

// `params` names the lower transport and device in mode.device; `given` is its configuration,
// nullptr: what the environment says. Its copied messages may be `room` bytes longer than that
// says, where it is a matter of a buffer's size (segments.h).
[[nodiscard]] ucs_status_t open_lower_iface(uct_md_h md, uct_worker_h worker,
                                            const uct_iface_params_t& params,
                                            const LowerConfig* given, size_t room,
                                            LowerIface* iface_p);

// What an interface of the lower transport `name` offers; no longer messages than its own header
// can hold the length of, or than pays (segments.h).
[[nodiscard]] ucs_status_t query_lower_iface(uct_iface_h iface, const char* name,
                                             uct_iface_attr_t* attr);

[[nodiscard]] ucs_status_t create_lower_ep(const uct_ep_params_t& params, LowerEp* ep_p);

// All components that this process knows, wrapped ones and our own included.
[[nodiscard]] ucs_status_t query_components(std::vector<uct_component_h>* components_p);

// Names of the memory domains that `component` offers now.
[[nodiscard]] ucs_status_t query_md_resources(uct_component_h component,
                                              std::vector<uct_md_resource_desc_t>* resources_p);

}  // namespace verity::uct

#endif
