// SPDX-License-Identifier: BSD-3-Clause
// One simulated interface: a Hub, its port to the simulated wire, and an application that sends
// numbered messages and checks what it receives.
#ifndef VERITY_TEST_SIM_NODE_H
#define VERITY_TEST_SIM_NODE_H

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "link/hub.h"
#include "sim/channel.h"
#include "sim/message.h"

namespace verity::sim {

class World;

// One class of one direction between two applications.
struct Stream {
  uint32_t planned = 0;
  uint32_t sent = 0;
  uint32_t received = 0;
  bool writable = true;  // false: the link refused, and has not called writable() since
};

struct Peer {
  link::Link link;
  Stream out[wire::kClasses];
  Stream in[wire::kClasses];
  bool open = false;
  bool waits_for_lower = false;  // Port promised resume()
  unsigned failures = 0;
  unsigned closed = 0;
  std::optional<link::Failure> why;
};

// A zero-copy send: its buffer belongs to the link until source_free().
struct Buffer {
  MessageId id{};
  std::vector<uint8_t> bytes;
  unsigned version = 0;
  unsigned frees = 0;      // calls of source_free()
  bool completed = false;  // the application has it back
  link::Slot* slot = nullptr;
};
// Where a Source keeps the application's buffer.
inline Buffer*& buffer_of(link::Slot& slot) noexcept {
  return *reinterpret_cast<Buffer**>(slot.source->port);
}

// More than 30 member functions: those of link::Port and what a simulation asks.
class Node final : public link::Port {
 public:
  Node(World& world, unsigned index, uint64_t uid, const link::Config& config);
  ~Node() override;

  [[nodiscard]] link::Hub& hub() noexcept { return *hub_; }
  [[nodiscard]] health::Counters& counters() noexcept { return counters_; }
  [[nodiscard]] Peer& peer(unsigned index) noexcept { return *peers_[index]; }
  [[nodiscard]] unsigned index() const noexcept { return index_; }
  [[nodiscard]] uint64_t uid() const noexcept { return hub_->uid(); }
  [[nodiscard]] uint64_t received() const noexcept { return received_; }
  [[nodiscard]] size_t buffers_in_use() const noexcept;

  void connect_to(unsigned peer);  // opens the link if there is none
  // One progress call: completions, sends, polls; tick() with the time when asked to or when
  // `tick`.
  void progress(uint64_t now, bool tick);
  void resume();
  void receive(const Packet& packet);
  bool send_next(unsigned to, wire::Class c);
  [[nodiscard]] bool all_sent() const noexcept;
  [[nodiscard]] bool wants_to_send() const noexcept;
  // Progress and reception stop until then.
  void silence(uint64_t until) noexcept { paused_until_ = until; }
  [[nodiscard]] uint64_t paused_until() const noexcept { return paused_until_; }
  // Empty, or which rule of the link's state is broken.
  [[nodiscard]] std::string broken_rule();
  void remove_links();
  // The state of all links, for the message about a hang.
  [[nodiscard]] std::string describe() const;

  // link::Port
  link::Sent send(link::Link& link, wire::Class c, util::Pieces frame) noexcept override;
  link::Sent send_compact(link::Link& link, util::Piece frame) noexcept override;
  link::Sent send_source(link::Link& link, wire::Class c, link::Slot& slot) noexcept override;
  void deliver(link::Link& link, wire::Class c, uint8_t am_id, const void* payload,
               size_t length) noexcept override;
  void source_free(link::Link& link, link::Slot& slot) noexcept override;
  void writable(link::Link& link) noexcept override;
  void failed(link::Link& link, link::Failure why) noexcept override;
  bool wait_for_room(link::Link& link) noexcept override;
  void peer_closed(link::Link& link) noexcept override;
  link::Link* new_peer(const wire::HelloView& hello) noexcept override;
  void write_addresses(wire::HelloExt& ext, uint8_t* out) noexcept override;
  void faulted(link::Link*, wire::Verdict, const wire::FrameHeader&) noexcept override {}

 private:
  bool send_copy(unsigned to, const MessageId& id, uint32_t length);
  bool send_small(unsigned to, const MessageId& id, uint32_t length);
  bool send_zero_copy(unsigned to, const MessageId& id, uint32_t length);
  unsigned index_of(const link::Link& link) const noexcept;
  void on_message(unsigned from, uint8_t am_id, const void* payload, size_t length);
  void complete();
  void after_send(unsigned to, wire::Class c, link::Slot* slot, link::Sent result);

  World& world_;
  unsigned index_;
  health::Counters counters_{};
  std::vector<std::unique_ptr<Peer>> peers_;
  std::vector<std::unique_ptr<Buffer>> buffers_;
  std::vector<Buffer*> freed_;
  std::unique_ptr<link::Hub> hub_;
  Rng rng_;
  uint64_t received_ = 0;
  uint64_t paused_until_ = 0;
  unsigned depth_ = 0;
};

}  // namespace verity::sim

#endif
