#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# A transport that damages every long frame of rank 0: repairs are bounded. The program, which has
# no error handler, ends with one line, soon; the account names the link. No wrong byte is delivered.
. "${abs_top_srcdir:?}/test/integration/lib.sh"
[ -n "$openmpi" ] || skip_all "no Open MPI"

export UCX_FAULT_RATE=1 UCX_FAULT_KINDS=flip UCX_FAULT_PLACE=payload UCX_FAULT_MIN_LEN=2k
export UCX_FAULT_RANKS=0 UCX_FAULT_AFTER=100 UCX_VERITY_MAX_REPAIRS=4
for lower in tcp posix; do
  begin=$SECONDS
  output=$(mpi_run 60 "$openmpi" 2 "vf$lower,vself" hello_integrity)
  status=$?
  is "v$lower: the job fails, soon" "$((status != 0 && status != 124 && SECONDS - begin < 30))" 1
  # The other rank may hear of the first one's end before it is ended itself.
  contains "v$lower: one line of a process says why" \
    "$(grep -c '^ucx-verity: .* is lost (.*: aborting' <<< "$output")" '^[12]$'
  contains "v$lower: the account names the link" "$output" \
    "^  failed links  1: vf$lower to interface [0-9a-f]{16}: the same frame stayed damaged"
  lacks "v$lower: nothing wrong was delivered" "$output" '[1-9][0-9]* messages wrong'
done

# Told not to abort: then it is the error handler's business, and without one nothing ends.
status=0
UCX_VERITY_ON_FAILURE=error mpi_run 5 "$openmpi" 2 vfposix,vself hello_integrity > "$tap_dir/job" || status=$?
is "ON_FAILURE=error: the plugin ends nothing" "$status $(grep -c aborting "$tap_dir/job")" "124 0"

done_testing
