#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# One-sided operations over several interfaces of a worker: their order where they concern the same bytes, and fences.
. "${abs_top_srcdir:?}/test/integration/lib.sh"

export UCX_VERITY_ATTEST=never
tap_of lanes with_tls vtcp,vposix,vself,vcma within 120 "$build/lanes" "$(normal_or_long 5 100)"
if [ -x "$build/ucx-verity" ]; then
  contains "no fault is found where none is" "$(within 60 "$build/ucx-verity" check --directory "$tap_dir/health" --ledger "$tap_dir/ledger" 2>&1)" \
    '^UCX-VERITY OK: .*, no faults$'
fi

done_testing
