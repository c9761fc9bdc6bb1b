#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Linked structures over UCX's active messages: on raw and wrapped transports, and on wrapped ones
# over transports that damage frames. A million nodes over damaged TCP.
. "${abs_top_srcdir:?}/test/integration/lib.sh"

library=$build/.libs/libverity_autolink_ucp.so program=$build/.libs/autolink_ucp
export LD_LIBRARY_PATH=$build/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
is "the library exports the interface alone" "$(nm -D --defined-only "$library" | awk '{ print $3 }' | grep -vc '^verity_autolink_ucp_')" 0
is "and uses public UCP alone" "$(nm -D --undefined-only "$library" | awk '$2 ~ /^uc/ && $2 !~ /^(ucp_(am_send_nbx|request_|worker_)|ucs_status_string)/ { print $2 }')" ""

# Without UCX the header declares nothing.
cat > "$tap_dir/without.c" << 'C'
#include <ucx-verity/autolink_ucp.h>
int main(void) { return VERITY_AUTOLINK_UCP; }
C
ok "the header compiles without UCX" c_compiler -nostdinc -Wall -Werror -fsyntax-only -I"$abs_top_srcdir/include" "$tap_dir/without.c"

export UCX_VERITY_ATTEST=never
for tls in tcp,self posix,self vtcp,vself vposix,vself; do
  tap_of "$tls" with_tls "$tls" within 300 "$program" "$(normal_or_long 20000 300000)"
done
for lower in tcp posix; do
  (
    damage_frames 0.003
    export UCX_FAULT_REPORT="$tap_dir/fault.%p"
    with_tls "vf$lower,vself" within 600 "$program" 1000000
  ) > "$tap_dir/damaged" 2>&1
  tap_of "vf$lower, damaged, a million nodes" cat "$tap_dir/damaged"
  ok "vf$lower: frames were damaged" test "$(json_sum faults "$tap_dir"/fault.*)" -gt 50
  rm -f "$tap_dir"/fault.*
done

done_testing
