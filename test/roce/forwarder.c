/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The link between two virtual machines: passes their Ethernet frames on, and flips bits in the
 * payload of some RoCEv2 packets. The packet's own checksum, the ICRC, is then computed anew, so
 * that the receiving card finds nothing wrong: what a fault in a card, a switch's buffer or a PCIe
 * link looks like.
 *
 * Usage: forwarder DIR
 *
 * In DIR are its sockets, forwarder.a and forwarder.b, those of the machines, guest.a and guest.b,
 * and control   words NAME=NUMBER, read when the file is replaced; the counters then start again
 *   counters  lines NAME=NUMBER, rewritten ten times a second; epoch tells which control they
 * belong to
 *
 * Settings. A packet that fits operations, least and most is eligible.
 *   operations=s|w|r|u  any of them: sends, writes, read responses, UD datagrams (default swru)
 *   least= most=        bytes of payload (default 1, no limit)
 *   nth=                damage every nth eligible packet (default 0: none)
 *   run=                and the following ones, this many in all (default 1)
 *   limit=              stop after this many (default 0: never)
 *   skip= within=       leave the first bytes alone, choose among so many after them (default 0,
 * all) burst=              bytes to damage, side by side (default 0: one bit) stale=1 leave the
 * ICRC as it was: the receiver drops the packet, it is lost seed=  epoch=
 */
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "packet.h"

enum {
  kMaxFrame = 70000,
  kBurst = 64,      /* frames taken from one side before the other has its turn */
  kTickMs = 100,    /* between two looks at control, two writes of counters */
  kPatienceSec = 8, /* a machine that takes no frame for so long has lost it */
};

/* ---- settings and counters ---- */

struct settings {
  long nth, run, limit, least, most, skip, within, burst, stale, seed, epoch;
  char operations[8];
};

static const struct settings kDefaults = {
    .run = 1, .least = 1, .most = kMaxFrame, .within = kMaxFrame, .seed = 1, .operations = "swru"};
static struct settings settings;

static struct {
  long frames, roce, icrc_right, icrc_wrong, eligible, corrupted, send_errors;
  long corrupted_send, corrupted_write, corrupted_read, corrupted_datagram;
} counters;

static struct {
  uint64_t random;
  long run_left;
} state;

static volatile sig_atomic_t stop;

static long* number_called(const char* name) {
  const struct {
    const char* name;
    long* value;
  } numbers[] = {
      {"nth", &settings.nth},       {"run", &settings.run},     {"limit", &settings.limit},
      {"least", &settings.least},   {"most", &settings.most},   {"skip", &settings.skip},
      {"within", &settings.within}, {"burst", &settings.burst}, {"stale", &settings.stale},
      {"seed", &settings.seed},     {"epoch", &settings.epoch}};
  for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); ++i) {
    if (strcmp(numbers[i].name, name) == 0) {
      return numbers[i].value;
    }
  }
  return NULL;
}

/* A misspelt setting would make a test that proves nothing: better no test. */
static void apply(char* word) {
  char* value = strchr(word, '=');
  long* number;

  if (value != NULL) {
    *value++ = '\0';
    if (strcmp(word, "operations") == 0) {
      snprintf(settings.operations, sizeof(settings.operations), "%s", value);
      return;
    }
    number = number_called(word);
    if (number != NULL) {
      *number = strtol(value, NULL, 10);
      return;
    }
  }
  fprintf(stderr, "forwarder: unknown setting %s\n", word);
  exit(2);
}

static void read_control(void) {
  static struct timespec last;
  struct stat now;
  char word[64];
  FILE* file;

  if (stat("control", &now) != 0 ||
      (now.st_mtim.tv_sec == last.tv_sec && now.st_mtim.tv_nsec == last.tv_nsec)) {
    return;
  }
  file = fopen("control", "r");
  if (file == NULL) {
    return;
  }
  last = now.st_mtim;
  settings = kDefaults;
  while (fscanf(file, "%63s", word) == 1) {
    apply(word);
  }
  fclose(file);
  memset(&counters, 0, sizeof(counters));
  state.random = (uint64_t)settings.seed;
  state.run_left = 0;
}

static void write_counters(void) {
  FILE* file = fopen("counters.new", "w");

  if (file == NULL) {
    return;
  }
  fprintf(file, "epoch=%ld\nframes=%ld\nroce=%ld\nicrc_right=%ld\nicrc_wrong=%ld\n", settings.epoch,
          counters.frames, counters.roce, counters.icrc_right, counters.icrc_wrong);
  fprintf(file, "eligible=%ld\ncorrupted=%ld\nsend_errors=%ld\n", counters.eligible,
          counters.corrupted, counters.send_errors);
  fprintf(file,
          "corrupted_send=%ld\ncorrupted_write=%ld\ncorrupted_read=%ld\ncorrupted_datagram=%ld\n",
          counters.corrupted_send, counters.corrupted_write, counters.corrupted_read,
          counters.corrupted_datagram);
  fclose(file);
  rename("counters.new", "counters");
}

/* ---- damage ---- */

static uint64_t next_random(void) { /* splitmix64 */
  uint64_t z = state.random += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

static int is_chosen(const struct packet* packet) {
  if (settings.nth <= 0 || strchr(settings.operations, packet->operation) == NULL ||
      packet->length < settings.least || packet->length > settings.most ||
      packet->length <= settings.skip) {
    return 0;
  }
  ++counters.eligible;
  if (settings.limit > 0 && counters.corrupted >= settings.limit) {
    return 0;
  }
  if (counters.eligible % settings.nth == 0) {
    state.run_left = settings.run;
  }
  return state.run_left > 0 && state.run_left-- > 0;
}

static void count_damage(char operation) {
  ++counters.corrupted;
  counters.corrupted_send += operation == 's';
  counters.corrupted_write += operation == 'w';
  counters.corrupted_read += operation == 'r';
  counters.corrupted_datagram += operation == 'u';
}

static void damage(struct packet* packet) {
  long room = packet->length - settings.skip,
       choice = room < settings.within ? room : settings.within;
  long at = settings.skip + (long)(next_random() % (uint64_t)choice);

  if (settings.burst == 0) {
    packet->payload[at] ^= (uint8_t)(1u << (next_random() & 7));
  }
  for (long i = at; i < at + settings.burst && i < packet->length; ++i) {
    packet->payload[i] ^= (uint8_t)(1 + next_random() % 255);
  }
  if (!settings.stale) {
    icrc_write(packet);
  }
  packet->udp[6] = packet->udp[7] = 0; /* 'no checksum', as senders of RoCE have it anyway */
  count_damage(packet->operation);
}

static void handle(uint8_t* frame, long length) {
  struct packet packet;

  ++counters.frames;
  if (!find_roce(frame, length, &packet)) {
    return;
  }
  ++counters.roce;
  /* If the checksum computed here were not the sender's, the damage would be noticed and prove
   * nothing. */
  if (icrc_is_right(&packet)) {
    ++counters.icrc_right;
  } else {
    ++counters.icrc_wrong;
  }
  if (find_payload(&packet) && is_chosen(&packet)) {
    damage(&packet);
  }
}

/* ---- the link ---- */

static struct sockaddr_un address(const char* name) {
  struct sockaddr_un result = {.sun_family = AF_UNIX};
  snprintf(result.sun_path, sizeof(result.sun_path), "%s", name);
  return result;
}

static int open_side(const char* name) {
  struct sockaddr_un own = address(name);
  struct timeval patience = {.tv_sec = kPatienceSec};
  int fd = socket(AF_UNIX, SOCK_DGRAM, 0), room = 4 << 20;

  unlink(name);
  if (fd < 0 || bind(fd, (const struct sockaddr*)&own, sizeof(own)) != 0) {
    perror(name);
    exit(2);
  }
  setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
  /* Waits when the receiver has no room: a link that slows down, not one that drops. */
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
  return fd;
}

/* Passes on what waits on one side. */
static void pass(int from, int to, const struct sockaddr_un* receiver) {
  static uint8_t frame[kMaxFrame];

  for (int i = 0; i < kBurst && !stop; ++i) {
    ssize_t length = recv(from, frame, sizeof(frame), MSG_DONTWAIT);
    if (length <= 0) {
      return;
    }
    handle(frame, length);
    if (sendto(to, frame, (size_t)length, 0, (const struct sockaddr*)receiver, sizeof(*receiver)) <
        0) {
      ++counters.send_errors;
    }
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

int main(int argc, char** argv) {
  const struct sockaddr_un guest_a = address("guest.a"), guest_b = address("guest.b");
  struct sigaction action = {.sa_handler = on_signal};
  long last = 0;
  int a, b;

  /* Socket names have little room: short ones in the working directory. */
  if (argc != 2 || chdir(argv[1]) != 0) {
    fprintf(stderr, "usage: forwarder DIR\n");
    return 2;
  }
  sigaction(SIGTERM, &action, NULL);
  sigaction(SIGINT, &action, NULL);
  settings = kDefaults;
  a = open_side("forwarder.a");
  b = open_side("forwarder.b");
  while (!stop) {
    struct pollfd sides[2] = {{.fd = a, .events = POLLIN}, {.fd = b, .events = POLLIN}};
    poll(sides, 2, kTickMs);
    pass(a, b, &guest_b);
    pass(b, a, &guest_a);
    if (now_ms() - last >= kTickMs) {
      last = now_ms();
      read_control();
      write_counters();
    }
  }
  return 0;
}
