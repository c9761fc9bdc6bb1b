// SPDX-License-Identifier: BSD-3-Clause
//
// Structures over active messages. By the C interface of autolink.h and public UCP alone.
//
//   sender                              receiver
//     OFFER   initial message   ------>   waits until a receive has its tag
//             <------  ACCEPT             the receive is under way
//     PACKET  a message         ------>   ...
//             <------  END                the structure is complete, or why not
//
// The header of an active message; its data is a message of autolink (packet.h), or nothing:
//
//    0       1       2       3       4       5       6       7
//   +-------+-------+-------+-------+-------+-------+-------+-------+
// 0 |             magic             |version| kind  |    status     |
//   +-------+-------+-------+-------+-------+-------+-------+-------+
// 8 |                              tag                              |
//   +-------+-------+-------+-------+-------+-------+-------+-------+
// 16|                             number                            |
//   +-------+-------+-------+-------+-------+-------+-------+-------+
//
// number  at random, by the sender: of this structure
// status  of an END, a number of <errno.h>; else 0. A sender that stops says so by an END, too
#ifndef VERITY_AUTOLINK_UCP_CHANNEL_H
#define VERITY_AUTOLINK_UCP_CHANNEL_H

#include <cstdint>
#include <cstdlib>
#include <deque>
#include <list>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "ucx-verity/autolink_ucp.h"

namespace verity::autolink {

inline constexpr uint32_t kUcpMagic = 0x55414c56;  // "VLAU"
inline constexpr uint8_t kUcpVersion = 1;
enum class UcpKind : uint8_t { kOffer = 1, kAccept = 2, kPacket = 3, kEnd = 4 };

struct UcpHeader {
  uint32_t magic = kUcpMagic;
  uint8_t version = kUcpVersion;
  uint8_t kind = 0;
  uint16_t status = 0;
  uint64_t tag = 0;
  uint64_t number = 0;
};
static_assert(sizeof(UcpHeader) == 24);

struct Free {
  void operator()(verity_autolink_source* source) const { verity_autolink_source_free(source); }
  void operator()(verity_autolink_sink* sink) const { verity_autolink_sink_free(sink); }
};
using Source = std::unique_ptr<verity_autolink_source, Free>;
using Sink = std::unique_ptr<verity_autolink_sink, Free>;

}  // namespace verity::autolink

struct verity_autolink_ucp_request {
  explicit verity_autolink_ucp_request(verity_autolink_ucp& its_channel) : channel(its_channel) {}
  verity_autolink_ucp_request(const verity_autolink_ucp_request&) = delete;
  verity_autolink_ucp_request& operator=(const verity_autolink_ucp_request&) = delete;
  virtual ~verity_autolink_ucp_request() = default;
  // Goes on as far as it can.
  virtual void advance() = 0;
  // UCX uses none of its memory any more.
  [[nodiscard]] virtual bool is_idle() const = 0;
  virtual void cancel() = 0;

  verity_autolink_ucp& channel;
  bool has_ended = false;
  int code = 0;  // how
};

namespace verity::autolink {

class Sending;
class Receiving;

// A message that UCX may still read.
struct Posted {
  UcpHeader header;
  std::vector<char> data;
  ucs_status_ptr_t request = nullptr;
};

}  // namespace verity::autolink

// The active messages of one number of a worker.
struct verity_autolink_ucp {
  using Header = verity::autolink::UcpHeader;

  verity_autolink_ucp(ucp_worker_h its_worker, unsigned am) : worker(its_worker), am_id(am) {}
  verity_autolink_ucp(const verity_autolink_ucp&) = delete;
  verity_autolink_ucp& operator=(const verity_autolink_ucp&) = delete;

  // An offer that no receive has taken.
  struct Offer {
    Header header;
    ucp_ep_h reply = nullptr;
    std::vector<char> data;
  };

  [[nodiscard]] ucs_status_t set_handler(ucp_am_recv_callback_t handler) noexcept;
  // Starts to send *posted. Returns 0 or EIO.
  [[nodiscard]] int post(ucp_ep_h ep, verity::autolink::Posted* posted);
  // Starts to send a header alone, which the channel keeps until it has left.
  void answer(ucp_ep_h ep, verity::autolink::UcpKind kind, int status, const Header& to);
  // Removes those that have left, from the front.
  static void release(std::list<verity::autolink::Posted>* all);
  int fail(int code, std::string why) {
    error = std::move(why);
    return code;
  }

  // Returns false when the message is refused.
  bool on_message(const Header& header, const void* data, size_t size, ucp_ep_h reply);
  bool on_offer(const Header& header, const void* data, size_t size, ucp_ep_h reply);
  bool on_end(const Header& header);

  ucp_worker_h worker;
  unsigned am_id;
  std::string error;
  uint64_t refused = 0;
  std::mt19937_64 random{std::random_device{}()};
  std::deque<Offer> offers;
  size_t offered_bytes = 0;
  std::list<verity::autolink::Posted> answers;
  std::list<verity::autolink::Sending*> sendings;
  std::list<verity::autolink::Receiving*> receivings;  // in the order in which they were started
};

#endif
