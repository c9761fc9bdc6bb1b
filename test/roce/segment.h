/* SPDX-License-Identifier: BSD-3-Clause
 *
 * TCP segments that hold exactly one active message of UCX's tcp transport:
 *
 *   IPv4 header | TCP header | am_id (1 byte) | length (4 bytes, little endian) | message
 *
 * The message is what the layers above handed down. Its five bytes of framing, and the stream's
 * other contents, are the transport's own: damage there ends a connection, with or without a
 * checker above. So segments that cannot be told to be one message are left alone.
 */
#ifndef VERITY_TEST_ROCE_SEGMENT_H
#define VERITY_TEST_ROCE_SEGMENT_H

#include "packet.h"

enum { kProtocolTcp = 6, kTcpHeader = 20, kTcpSum = 16, kMessageHeader = 5, kMessageIds = 32 };

/* Finds the headers of a TCP segment in IPv4. Returns 0 for any other frame. */
static inline int find_tcp(uint8_t* frame, long length, struct packet* packet) {
  uint8_t* ip = frame + kEthernetHeader;
  long left = length - kEthernetHeader, ip_header, total;

  if (left < 20 || big_endian(frame + 12) != kTypeIpv4 || ip[9] != kProtocolTcp ||
      (big_endian(ip + 6) & 0x3fff) != 0) {
    return 0;
  }
  ip_header = (ip[0] & 15) * 4;
  total = big_endian(ip + 2);
  if (ip_header < 20 || total > left || total < ip_header + kTcpHeader) { return 0; }
  packet->ip = ip;
  packet->tcp = ip + ip_header;
  packet->end = ip + total;
  return 1;
}

/* Finds the message. Returns 0 when the segment holds anything else. */
static inline int find_message(struct packet* packet) {
  uint8_t* data = packet->tcp + (packet->tcp[12] >> 4) * 4;
  long left = packet->end - data;
  uint32_t length;

  if (data < packet->tcp + kTcpHeader || left <= kMessageHeader || data[0] >= kMessageIds) {
    return 0;
  }
  length = data[1] | (uint32_t)data[2] << 8 | (uint32_t)data[3] << 16 | (uint32_t)data[4] << 24;
  packet->operation = 't';
  packet->payload = data + kMessageHeader;
  packet->length = left - kMessageHeader;
  return length == (uint32_t)packet->length;
}

/* Sum of the segment and its pseudo header (RFC 9293): 0xffff when the checksum in it is right. */
static inline unsigned tcp_sum(const struct packet* packet) {
  const uint8_t* at = packet->tcp;
  uint32_t sum = kProtocolTcp + (uint32_t)(packet->end - packet->tcp);

  for (int i = 12; i < 20; i += 2) { sum += big_endian(packet->ip + i); }
  for (; at + 1 < packet->end; at += 2) { sum += big_endian(at); }
  sum += at < packet->end ? (uint32_t)*at << 8 : 0;
  sum = (sum & 0xffff) + (sum >> 16);
  return (sum & 0xffff) + (sum >> 16);
}

static inline void tcp_sum_write(struct packet* packet) {
  unsigned sum;

  packet->tcp[kTcpSum] = packet->tcp[kTcpSum + 1] = 0;
  sum = ~tcp_sum(packet) & 0xffff;
  packet->tcp[kTcpSum] = (uint8_t)(sum >> 8);
  packet->tcp[kTcpSum + 1] = (uint8_t)sum;
}

#endif
