// SPDX-License-Identifier: BSD-3-Clause
// The state machine of a connection. What follows what is decided in next_state() and nowhere else.
//
//   open                                       failure, lower error, removal: from every state
//     |                                                      |
//     v         the peer uses our id                         v
//   +-----------+ ------------------> +-------------+   +--------+
//   | handshake |                     | established |   | failed |
//   +-----------+                     +-------------+   +--------+
//     |       | we close    we close    |         |
//     |       +------->  +----------+ <-+         |
//     |                  | draining |             |
//     |                  +----------+             |
//     |                        |                  |
//     |                        v                  |
//     |      peer's BYE     +--------+   BYE      |
//     +-------------------> | closed | <----------+
//                           +--------+
//
//   handshake    Every frame carries a HELLO, since the peer may not know the id that we gave the
//   link. established  Both sides know each other's id. In mode verify, frames take the fast path.
//   draining     We are closing: a BYE is sent as soon as the lower transport takes it. Data that
//                arrives is delivered, and a handshake in progress still completes.
//   closed       The peer's BYE came: nothing is kept for it any more, and no new frame is taken.
//                What it sent before its BYE may still arrive.
//   failed       The link is lost or removed: all that it held is dropped, all that arrives is
//   ignored.
#ifndef VERITY_LINK_STATE_CONNECTION_H
#define VERITY_LINK_STATE_CONNECTION_H

#include <cstdint>

namespace verity::link {

enum class State : uint8_t { kHandshake, kEstablished, kDraining, kClosed, kFailed };

enum class Event : uint8_t {
  kIdentified,  // the peer proved that it has our id for the link
  kClose,       // we close the connection
  kPeerClosed,  // the peer's BYE came
  kFail,        // failure here or below, or removal
};

[[nodiscard]] constexpr State next_state(State state, Event event) noexcept {
  const bool is_open = state == State::kHandshake || state == State::kEstablished;
  switch (event) {
    case Event::kIdentified: return state == State::kHandshake ? State::kEstablished : state;
    case Event::kClose: return is_open ? State::kDraining : state;
    case Event::kPeerClosed: return state == State::kFailed ? state : State::kClosed;
    case Event::kFail: return State::kFailed;
  }
  return state;
}

enum class Mode : uint8_t { kOff = 0, kObserve = 1, kVerify = 2 };

// The state, and what is remembered of the way to it.
class Connection {
 public:
  void on(Event event) noexcept {
    state_ = next_state(state_, event);
    carries_hello_ = carries_hello_ && event != Event::kIdentified;
    peer_closed_ = peer_closed_ || state_ == State::kClosed;
    update();
  }
  // The mode of a link is the lower one of both sides.
  void set_mode(Mode mode) noexcept {
    mode_ = mode;
    update();
  }

  [[nodiscard]] State state() const noexcept { return state_; }
  [[nodiscard]] Mode mode() const noexcept { return mode_; }
  [[nodiscard]] bool failed() const noexcept { return state_ == State::kFailed; }
  // Remembered when the connection fails afterwards: its end was no failure then.
  [[nodiscard]] bool peer_closed() const noexcept { return peer_closed_; }
  // Neither failed nor closed by the peer.
  [[nodiscard]] bool is_alive() const noexcept { return !failed() && !peer_closed_; }
  // Our frames carry a HELLO.
  [[nodiscard]] bool carries_hello() const noexcept { return carries_hello_; }
  // Frames may take the fast path.
  [[nodiscard]] bool is_fast() const noexcept { return is_fast_; }

 private:
  void update() noexcept { is_fast_ = mode_ == Mode::kVerify && !carries_hello_ && is_alive(); }

  State state_ = State::kHandshake;
  Mode mode_ = Mode::kVerify;
  bool carries_hello_ = true;
  bool peer_closed_ = false;
  bool is_fast_ = false;
};

}  // namespace verity::link

#endif
