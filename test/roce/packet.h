/* SPDX-License-Identifier: BSD-3-Clause
 *
 * RoCEv2 packets: where their payload is, and their invariant CRC (InfiniBand Architecture
 * Specification, annex A17), which is the CRC-32 of Ethernet over
 *
 *   8 bytes of ones | IP header | UDP header | base transport header | further headers, payload,
 * padding
 *
 * where the fields that routers may change count as ones.
 */
#ifndef VERITY_TEST_ROCE_PACKET_H
#define VERITY_TEST_ROCE_PACKET_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
  kEthernetHeader = 14,
  kUdpHeader = 8,
  kBaseHeader = 12,
  kIcrc = 4,
  kRocePort = 4791,
  kTypeIpv4 = 0x0800,
  kTypeIpv6 = 0x86dd,
  kProtocolUdp = 17,
};

struct packet {
  uint8_t *ip, *udp;
  uint8_t* tcp;     /* instead of udp, base: see segment.h */
  uint8_t* base;    /* base transport header: behind the UDP header */
  uint8_t* end;     /* of what the ICRC covers: there it stands itself */
  char operation;   /* s(end), w(rite), r(ead response), u (UD datagram) or t (TCP) */
  uint8_t* payload; /* of that operation */
  long length;      /* of the payload */
};

/* Operation and length of the headers between the base transport header and the payload. Opcodes
 * that carry no payload (acknowledgements, read requests, atomics) stay empty. */
struct opcode {
  char operation;
  uint8_t headers;
};
enum { kReliable = 0, kDatagram = 3 };
static const struct opcode kReliableOpcodes[32] = {
    [0] = {'s', 0},   [1] = {'s', 0},   [2] = {'s', 0},  [3] = {'s', 4},  [4] = {'s', 0},
    [5] = {'s', 4},   [6] = {'w', 16},  [7] = {'w', 0},  [8] = {'w', 0},  [9] = {'w', 4},
    [10] = {'w', 16}, [11] = {'w', 20}, [13] = {'r', 4}, [14] = {'r', 0}, [15] = {'r', 4},
    [16] = {'r', 4},  [22] = {'s', 4},  [23] = {'s', 4}};
static const struct opcode kDatagramOpcodes[32] = {[4] = {'u', 8}, [5] = {'u', 12}};

static inline unsigned big_endian(const uint8_t* bytes) {
  return (unsigned)bytes[0] << 8 | bytes[1];
}

/* Finds the headers of a RoCEv2 packet. Returns 0 for any other frame. */
static inline int find_roce(uint8_t* frame, long length, struct packet* packet) {
  unsigned type = length > kEthernetHeader ? big_endian(frame + 12) : 0;
  uint8_t* ip = frame + kEthernetHeader;
  long left = length - kEthernetHeader, ip_header, udp_length;

  if (type == kTypeIpv4 && left >= 20 && ip[9] == kProtocolUdp &&
      (big_endian(ip + 6) & 0x3fff) == 0) {
    ip_header = (ip[0] & 15) * 4;
  } else if (type == kTypeIpv6 && left >= 40 && ip[6] == kProtocolUdp) {
    ip_header = 40;
  } else {
    return 0;
  }
  packet->ip = ip;
  packet->udp = ip + ip_header;
  if (ip_header < 20 || left < ip_header + kUdpHeader + kBaseHeader + kIcrc ||
      big_endian(packet->udp + 2) != kRocePort) {
    return 0;
  }
  udp_length = big_endian(packet->udp + 4);
  if (udp_length < kUdpHeader + kBaseHeader + kIcrc || udp_length > left - ip_header) { return 0; }
  packet->base = packet->udp + kUdpHeader;
  packet->end = packet->udp + udp_length - kIcrc;
  return 1;
}

/* Finds the payload. Returns 0 when there is none. */
static inline int find_payload(struct packet* packet) {
  const uint8_t* base = packet->base;
  unsigned transport = base[0] >> 5, code = base[0] & 31, padding = base[1] >> 4 & 3;
  struct opcode opcode = {0, 0};

  if (transport == kReliable) {
    opcode = kReliableOpcodes[code];
  } else if (transport == kDatagram) {
    opcode = kDatagramOpcodes[code];
  }
  packet->operation = opcode.operation;
  packet->payload = packet->base + kBaseHeader + opcode.headers;
  packet->length = packet->end - packet->payload - (long)padding;
  return opcode.operation != 0 && packet->length > 0;
}

static inline uint32_t crc32_add(uint32_t crc, const uint8_t* bytes, size_t length) {
  static uint32_t table[256];

  for (uint32_t i = 0; table[255] == 0 && i < 256; ++i) {
    uint32_t entry = i;
    for (int bit = 0; bit < 8; ++bit) { entry = entry >> 1 ^ ((entry & 1) != 0 ? 0xedb88320u : 0); }
    table[i] = entry;
  }
  for (size_t i = 0; i < length; ++i) { crc = crc >> 8 ^ table[(crc ^ bytes[i]) & 255]; }
  return crc;
}

/* Ones for what may change on the way: class of service, flow label, hops left, header checksum. */
static inline void mask_ip(uint8_t* ip) {
  if (ip[0] >> 4 == 6) {
    ip[0] |= 0x0f;
    memset(ip + 1, 0xff, 3);
    ip[7] = 0xff;
  } else {
    ip[1] = 0xff;
    ip[8] = 0xff;
    memset(ip + 10, 0xff, 2);
  }
}

static inline uint32_t icrc_of(const struct packet* packet) {
  uint8_t start[8 + 60 + 8 + kBaseHeader];
  size_t length = (size_t)(packet->base - packet->ip) + kBaseHeader;
  uint8_t* udp = start + 8 + (packet->udp - packet->ip);

  memset(start, 0xff, 8);
  memcpy(start + 8, packet->ip, length);
  mask_ip(start + 8);
  memset(udp + 6, 0xff, 2); /* checksum */
  udp[8 + 4] = 0xff;        /* congestion bits of the base transport header */
  return ~crc32_add(crc32_add(~0u, start, 8 + length), packet->base + kBaseHeader,
                    (size_t)(packet->end - packet->base) - kBaseHeader);
}

/* Little endian, unlike all else in these headers. */
static inline void icrc_write(struct packet* packet) {
  uint32_t icrc = icrc_of(packet);
  for (int i = 0; i < kIcrc; ++i) { packet->end[i] = (uint8_t)(icrc >> (8 * i)); }
}

static inline int icrc_is_right(const struct packet* packet) {
  uint32_t icrc = 0;
  for (int i = 0; i < kIcrc; ++i) { icrc |= (uint32_t)packet->end[i] << (8 * i); }
  return icrc == icrc_of(packet);
}

#endif
