// SPDX-License-Identifier: BSD-3-Clause
//
// One process's end of a connection of tagged messages. Errors are exceptions (std::runtime_error).
#ifndef VERITY_TOOLS_UCP_END_H
#define VERITY_TOOLS_UCP_END_H

#include <ucp/api/ucp.h>

#include <chrono>
#include <string>

namespace verity::tools {

// Throws std::runtime_error, "`what`: UCX's text of the error", unless `status` is UCS_OK.
void check(ucs_status_t status, const std::string& what);

// A context for tagged messages, its worker and an endpoint, for one thread.
struct UcpHandles {
  // `transports`: a value of UCX_TLS; the environment's when empty. `what` names them in errors.
  explicit UcpHandles(const std::string& transports = {}, const std::string& what = "UCX");
  ~UcpHandles();
  UcpHandles(const UcpHandles&) = delete;
  UcpHandles& operator=(const UcpHandles&) = delete;

  [[nodiscard]] std::string address() const;
  // `peer`: its address. `params`: anything else that the endpoint needs. `what`: for errors.
  void connect(const std::string& peer, ucp_ep_params_t params = {},
               const std::string& what = "connect");

  ucp_context_h context = nullptr;
  ucp_worker_h worker = nullptr;
  ucp_ep_h ep = nullptr;
  // Set while a request may be outstanding: the destructor destroys nothing then, because UCX ends
  // the process when a worker that still has requests is destroyed.
  bool abandoned = false;
};

// An end whose operations block, up to a time limit, with the settings of the process's
// environment.
class UcpEnd {
 public:
  // What waits longer than until `seconds` after this fails. With `notices_death` a peer that ends
  // is an error of whatever waits, where the transport can notice it.
  explicit UcpEnd(int seconds, bool notices_death = false);
  // Closes the connection, unless that is done or a message failed.
  ~UcpEnd();
  UcpEnd(const UcpEnd&) = delete;
  UcpEnd& operator=(const UcpEnd&) = delete;

  [[nodiscard]] std::string address() const { return ucp_.address(); }
  void connect(const std::string& peer);  // its address
  // Both return when the operation is complete.
  void send(const void* data, std::size_t size, ucp_tag_t tag);
  void receive(void* data, std::size_t size, ucp_tag_t tag);
  void progress();
  [[nodiscard]] bool is_late() const { return Clock::now() > give_up_; }
  // UCP's description of the lanes and protocols.
  [[nodiscard]] std::string describe();
  void close();

 private:
  using Clock = std::chrono::steady_clock;

  static void peer_failed(void* end, ucp_ep_h ep, ucs_status_t status);
  void wait(ucs_status_ptr_t request);

  Clock::time_point give_up_;
  bool notices_death_;
  std::string peer_error_;  // UCX's text, once the end of the peer was noticed
  UcpHandles ucp_;
};

}  // namespace verity::tools

#endif
