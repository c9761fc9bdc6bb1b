/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A preload that makes a process announce another protocol version, or another release, than its
 * plugin has. VERITY_TEST_ANNOUNCES="version major minor patch": what the addresses of its wrapped
 * transports say (src/wire/address.h). Those of versions below 6 end before the release.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uct/api/uct.h>

enum { kTail = 20, kVersionAt = 2, kReleaseAt = 16, kFirstWithRelease = 6 };

ucs_status_t uct_iface_get_address(uct_iface_h iface, uct_iface_addr_t* address) {
  static ucs_status_t (*next)(uct_iface_h, uct_iface_addr_t*);
  const char* announced = getenv("VERITY_TEST_ANNOUNCES");
  unsigned char* tail = (unsigned char*)address;
  unsigned version, major, minor, patch;
  uct_iface_attr_t attr;
  ucs_status_t status;

  if (next == NULL) {
    next =
        (ucs_status_t(*)(uct_iface_h, uct_iface_addr_t*))dlsym(RTLD_NEXT, "uct_iface_get_address");
  }
  status = next(iface, address);
  if (status != UCS_OK || announced == NULL ||
      sscanf(announced, "%u %u %u %u", &version, &major, &minor, &patch) != 4 ||
      uct_iface_query(iface, &attr) != UCS_OK || attr.iface_addr_len < kTail) {
    return status;
  }
  tail += attr.iface_addr_len - kTail;
  if (tail[0] != 0x79 || tail[1] != 0x76) { return status; }
  tail[kVersionAt] = (unsigned char)version;
  if (version < kFirstWithRelease) {
    memset(tail + kReleaseAt, 0xee, kTail - kReleaseAt);
  } else {
    tail[kReleaseAt] = (unsigned char)major;
    tail[kReleaseAt + 1] = (unsigned char)minor;
    tail[kReleaseAt + 2] = (unsigned char)patch;
  }
  return status;
}
