// SPDX-License-Identifier: BSD-3-Clause
//
// One process's end of a connection of tagged messages, with the settings of its environment.
// Errors are exceptions (std::runtime_error).
#ifndef VERITY_TOOLS_UCP_END_H
#define VERITY_TOOLS_UCP_END_H

#include <ucp/api/ucp.h>

#include <chrono>
#include <string>

namespace verity::tools {

class UcpEnd {
 public:
  // What waits longer than until `seconds` after this fails. With `notices_death` a peer that ends
  // is an error of whatever waits, where the transport can notice it.
  explicit UcpEnd(int seconds, bool notices_death = false);
  // Closes the connection, unless that is done. After an error it leaves everything as it is: UCX
  // ends the process when a worker is destroyed that still has requests.
  ~UcpEnd();
  UcpEnd(const UcpEnd&) = delete;
  UcpEnd& operator=(const UcpEnd&) = delete;

  [[nodiscard]] std::string address();
  void connect(const std::string& peer);  // its address
  // Both return when the operation is complete.
  void send(const void* data, std::size_t size, ucp_tag_t tag);
  void receive(void* data, std::size_t size, ucp_tag_t tag);
  void progress();
  [[nodiscard]] bool is_late() const { return Clock::now() > give_up_; }
  // UCP's description of the lanes and protocols.
  [[nodiscard]] std::string describe();
  void close();
  // UCX's words when the peer's end was noticed; else empty.
  [[nodiscard]] const std::string& peer_error() const { return peer_error_; }

 private:
  using Clock = std::chrono::steady_clock;

  static void peer_failed(void* end, ucp_ep_h ep, ucs_status_t status);
  void wait(ucs_status_ptr_t request);

  Clock::time_point give_up_;
  bool notices_death_;
  bool failed_ = false;
  std::string peer_error_;
  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  ucp_ep_h ep_ = nullptr;
};

}  // namespace verity::tools

#endif
