#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Random puts, gets, fences and flushes of UCP whose callbacks start further ones, against a model: over several lanes, with and
# without damage. The long form has more seeds; VERITY_ORDER_SEED is the first one.
. "${abs_top_srcdir:?}/test/integration/lib.sh"

export UCX_VERITY_ATTEST=never
first=${VERITY_ORDER_SEED:-1}
last=$((first + $(normal_or_long 7 499)))

# order PROCESSES LIST
order() {
  local seeds
  mapfile -t seeds < <(seq "$first" "$last")
  tap_of "$2${UCX_FAULT_RATE:+ with damage}" with_tls "$2" within "$(normal_or_long 60 600)" "$build/ucp_order" "$1" 400 "${seeds[@]}"
}

order 1 vposix,vself
order 2 vposix,vself,vcma
order 2 vtcp,vself
damage_frames 0.003 "$first"
order 2 vfposix,vself
no_damage
if long_form; then
  for list in vself vsysv,vself vposix,vtcp,vself vtcp; do order 1 "$list"; done
  for list in vposix,vself vsysv,vself vposix,vtcp,vself vtcp; do order 3 "$list"; done
  UCX_VERITY_WINDOW=8 order 2 vtcp,vself
fi
done_testing
