#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# UCX_VERITY_PROGRESS_THREAD: a process that computes is served in the meantime, and nothing else changes.
. "${abs_top_srcdir:?}/test/integration/lib.sh"
[ -n "$openmpi" ] || skip_all "no Open MPI"

export UCX_VERITY_ATTEST=never
has_cma=$(with_tls vposix,vcma "${UCX_INFO:-ucx_info}" -d 2> /dev/null | grep -c 'Transport: vcma')

# passive LIST OPERATION ANSWER: the last line of a job; a busy machine may need another try to answer in time.
passive() {
  local line try
  for try in 1 2 3; do
    line=$(mpi_run 90 "$openmpi" 2 "$1" passive -o "$2" -c $((5 * try)) | tail -n 1)
    [[ $line != *" wrong 0, "* || $line = *"$3" ]] && break
  done
  echo "$line"
}
# From UCX 1.16 on UCP answers gets itself, in messages, which needs the target's calls.
gets=$(case ${VERITY_UCX_VERSION-} in 1.1[0-5].*) echo window ;; esac)
export UCX_RNDV_THRESH=10000 UCX_RNDV_SCHEME=get_zcopy
for thread in n y; do
  export UCX_VERITY_PROGRESS_THREAD=$thread
  case $thread in y) answer=yes ;; *) answer=no ;; esac
  for list in vtcp,vself vposix,vself; do
    for operation in writes $gets; do
      is "$list, thread $thread: $operation at a passive target that computes" "$(passive $list "$operation" $answer)" \
        "passive $operation wrong 0, done while computing: $answer"
    done
  done
  if [ "$has_cma" -gt 0 ]; then
    is "vcma, thread $thread: a rendezvous whose sender computes" "$(passive vposix,vself,vcma receive $answer)" \
      "passive receive wrong 0, done while computing: $answer"
  else
    skip "vcma, thread $thread: a rendezvous whose sender computes" "no cma on this machine"
  fi
done

unset UCX_RNDV_THRESH UCX_RNDV_SCHEME
[ -n "$gets" ] || skip "gets from a passive target that computes" "UCX answers them itself"

# With the thread, under damage, as without it.
export UCX_VERITY_PROGRESS_THREAD=y
# shellcheck disable=SC2046 # a device or nothing
for lower in tcp posix; do
  if [ $lower = posix ] || long_form; then
    (
      damage_frames 0.003
      with_tls "vf$lower" within 600 "$build/uct_am" -r "$(normal_or_long 15 100)" "vf$lower" $([ $lower != tcp ] || echo lo)
    ) > "$tap_dir/uct_am" 2>&1
    tap_of "vf$lower, thread, damaged" cat "$tap_dir/uct_am"
  fi
  damage_frames 0.002
  mpi_clean "vf$lower, thread, damaged: mixed messages" '^messages [0-9]+ wrong 0 lost 0 repeated 0 reordered 0 ' 300 "$openmpi" 3 \
    "vf$lower,vself" mixed -n "$(normal_or_long 5000 100000)"
  mpi_or_stock "vf$lower, thread, damaged: one-sided operations" '^rma checks [1-9][0-9]* wrong 0$' 300 "$openmpi" 3 \
    "vf$lower,vself" rma -n "$(normal_or_long 5 50)" -t 60
  no_damage
done
# What the lower transport puts into its worker's queue runs with the thread kept out, too.
for cases in mixed pending clos endpoint; do
  (
    export UCX_FAULT_QUEUE=y UCX_VERITY_ATTEST=never
    with_tls vftcp within 300 "$build/uct_am" -r "$(normal_or_long 10 100)" -c "$cases" vftcp lo
  ) > "$tap_dir/queue" 2>&1
  tap_of "vftcp, thread, callbacks in the worker's queue" cat "$tap_dir/queue"
done
mpi_or_stock "several threads in MPI" 'wrong 0 lost 0' 180 "$openmpi" 2 vposix,vself threads -n 200

done_testing
