/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The link between two hosts: passes their Ethernet frames on, and flips bits in the payload of
 * some RoCEv2 packets or TCP segments. The packet's own checksum is then computed anew, so that the
 * receiver finds nothing wrong: what a fault in a card, a switch's buffer or a PCIe link looks
 * like.
 *
 * Usage: forwarder DIR [TAP-A TAP-B]
 *
 * Works in DIR, where control.h says how it is steered. There are its sockets too, forwarder.a and
 * forwarder.b, and those of the virtual machines it joins, guest.a and guest.b; or, when they are
 * named, it makes two network interfaces and joins those.
 */
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "control.h"
#include "packet.h"
#include "segment.h"

enum {
  kBurst = 64,      /* frames taken from one side before the other has its turn */
  kTickMs = 100,    /* between two looks at control, two writes of counters */
  kPatienceSec = 8, /* a machine that takes no frame for so long has lost it */
};

static struct {
  uint64_t random;
  long run_left;
} state;

static volatile sig_atomic_t stop;

/* ---- damage ---- */

static uint64_t next_random(void) { /* splitmix64 */
  uint64_t z = state.random += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

static int is_eligible(const struct packet* packet) {
  return settings.nth > 0 && strchr(settings.operations, packet->operation) != NULL &&
         packet->length >= settings.least && packet->length <= settings.most &&
         packet->length > settings.skip &&
         (settings.at < 0 ||
          (packet->length > settings.at && packet->payload[settings.at] == settings.value));
}

static int is_chosen(const struct packet* packet) {
  if (!is_eligible(packet)) { return 0; }
  ++counters.eligible;
  if (settings.limit > 0 && counters.corrupted >= settings.limit) { return 0; }
  if (counters.eligible % settings.nth == 0) { state.run_left = settings.run; }
  return state.run_left > 0 && state.run_left-- > 0;
}

static void count(char operation, int corrupted) {
  counters.corrupted += corrupted;
  switch (operation) {
    case 's': ++*(corrupted ? &counters.corrupted_send : &counters.seen_send); break;
    case 'w': ++*(corrupted ? &counters.corrupted_write : &counters.seen_write); break;
    case 'r': ++*(corrupted ? &counters.corrupted_read : &counters.seen_read); break;
    case 'u': ++*(corrupted ? &counters.corrupted_datagram : &counters.seen_datagram); break;
    case 't': ++*(corrupted ? &counters.corrupted_message : &counters.seen_message); break;
    default: break;
  }
}

static void renew_checksum(struct packet* packet) {
  if (packet->operation == 't') {
    tcp_sum_write(packet);
  } else {
    icrc_write(packet);
  }
}

static void damage(struct packet* packet) {
  long room = packet->length - settings.skip,
       choice = room < settings.within ? room : settings.within;
  long at = settings.skip + (long)(next_random() % (uint64_t)choice);

  if (settings.burst == 0) { packet->payload[at] ^= (uint8_t)(1u << (next_random() & 7)); }
  for (long i = at; i < at + settings.burst && i < packet->length; ++i) {
    packet->payload[i] ^= (uint8_t)(1 + next_random() % 255);
  }
  if (!settings.stale) { renew_checksum(packet); }
  if (packet->operation != 't') {
    packet->udp[6] = packet->udp[7] = 0; /* 'no checksum', as senders of RoCE have it anyway */
  }
  count(packet->operation, 1);
}

/* If the checksum computed here were not the sender's, the damage would be noticed and prove
 * nothing. TCP is looked at only when it is asked for: between virtual machines its checksums are
 * not always filled in. */
static int has_payload(uint8_t* frame, long length, struct packet* packet) {
  if (find_roce(frame, length, packet)) {
    ++counters.roce;
    ++*(icrc_is_right(packet) ? &counters.right : &counters.wrong);
    return find_payload(packet);
  }
  if (strchr(settings.operations, 't') != NULL && find_tcp(frame, length, packet)) {
    ++counters.tcp;
    ++*(tcp_sum(packet) == 0xffff ? &counters.right : &counters.wrong);
    return find_message(packet);
  }
  return 0;
}

static void handle(uint8_t* frame, long length) {
  struct packet packet;

  ++counters.frames;
  if (has_payload(frame, length, &packet)) {
    count(packet.operation, 0);
    if (is_chosen(&packet)) { damage(&packet); }
  }
}

/* ---- the link ---- */

struct side {
  int fd;
  int is_tap;
  struct sockaddr_un peer; /* of a socket */
};

static void fail(const char* what) {
  perror(what);
  exit(2);
}

static struct sockaddr_un address(const char* name) {
  struct sockaddr_un result = {.sun_family = AF_UNIX};
  snprintf(result.sun_path, sizeof(result.sun_path), "%s", name);
  return result;
}

static struct side open_socket(const char* name, const char* peer) {
  struct sockaddr_un own = address(name);
  struct timeval patience = {.tv_sec = kPatienceSec};
  int room = 4 << 20;
  struct side side = {.fd = socket(AF_UNIX, SOCK_DGRAM, 0), .peer = address(peer)};

  unlink(name);
  if (side.fd < 0 || bind(side.fd, (const struct sockaddr*)&own, sizeof(own)) != 0) { fail(name); }
  setsockopt(side.fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
  /* Waits when the receiver has no room: a link that slows down, not one that drops. */
  setsockopt(side.fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
  return side;
}

/* Without offloads: the kernel hands over frames of the wire's size with their checksums in them.
 */
static struct side open_tap(const char* name) {
  struct ifreq request = {.ifr_flags = IFF_TAP | IFF_NO_PI};
  struct side side = {.fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK), .is_tap = 1};

  snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", name);
  if (side.fd < 0 || ioctl(side.fd, TUNSETIFF, &request) != 0) { fail(name); }
  return side;
}

static ssize_t take(const struct side* side, uint8_t* frame, size_t room) {
  return side->is_tap ? read(side->fd, frame, room) : recv(side->fd, frame, room, MSG_DONTWAIT);
}

static ssize_t give(const struct side* side, const uint8_t* frame, size_t length) {
  return side->is_tap ? write(side->fd, frame, length)
                      : sendto(side->fd, frame, length, 0, (const struct sockaddr*)&side->peer,
                               sizeof(side->peer));
}

/* Passes on what waits on one side. */
static void pass(const struct side* from, const struct side* to) {
  static uint8_t frame[kNoLimit];

  for (int i = 0; i < kBurst && !stop; ++i) {
    ssize_t length = take(from, frame, sizeof(frame));
    if (length <= 0) { return; }
    handle(frame, length);
    if (give(to, frame, (size_t)length) < 0) { ++counters.send_errors; }
  }
}

static long now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void on_signal(int number) {
  (void)number;
  stop = 1;
}

static void forward(const struct side* a, const struct side* b) {
  long last = 0;

  while (!stop) {
    struct pollfd sides[2] = {{.fd = a->fd, .events = POLLIN}, {.fd = b->fd, .events = POLLIN}};
    poll(sides, 2, kTickMs);
    pass(a, b);
    pass(b, a);
    if (now_ms() - last >= kTickMs) {
      last = now_ms();
      if (control_read()) {
        state.random = (uint64_t)settings.seed;
        state.run_left = 0;
      }
      counters_write();
    }
  }
}

int main(int argc, char** argv) {
  struct sigaction action = {.sa_handler = on_signal};
  struct side a, b;

  /* Socket names have little room: short ones in the working directory. */
  if ((argc != 2 && argc != 4) || chdir(argv[1]) != 0) {
    fprintf(stderr, "usage: forwarder DIR [TAP-A TAP-B]\n");
    return 2;
  }
  sigaction(SIGTERM, &action, NULL);
  sigaction(SIGINT, &action, NULL);
  control_start();
  a = argc == 4 ? open_tap(argv[2]) : open_socket("forwarder.a", "guest.a");
  b = argc == 4 ? open_tap(argv[3]) : open_socket("forwarder.b", "guest.b");
  forward(&a, &b);
  return 0;
}
