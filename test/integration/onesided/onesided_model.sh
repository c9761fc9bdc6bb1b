#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Random one-sided operations against a sequential model, over every combination of lanes, with and
# without damage, 1 to 8 ranks. A job that fails runs on stock UCX with the same plan: what stock fails
# as well is skipped. The long form runs each one there, and goes on with new seeds until
# VERITY_MODEL_SECONDS have passed:
#
#   make check TESTS=test/integration/onesided/onesided_model.sh VERITY_TEST_LONG=1 VERITY_MODEL_SECONDS=7200 \
#     TEST_TIMEOUT=7500
#
# VERITY_MODEL_SEED is the first seed, VERITY_MODEL_MPI (openmpi, mpich) the only MPI.
. "${abs_top_srcdir:?}/test/integration/lib.sh"
[ -n "$openmpi$mpich" ] || skip_all "neither Open MPI nor an MPICH on UCX"

clean='^onesided phases [1-9][0-9]* operations [1-9][0-9]* checks [1-9][0-9]* wrong 0$'
duration=$(normal_or_long 3600 "${VERITY_MODEL_SECONDS:-3600}")
share=$(normal_or_long 0.7 10)
seed=${VERITY_MODEL_SEED:-1}
default=$("$build/ucx-verity" env --shell sh 2> /dev/null | sed -n 's/^export UCX_TLS=\(.*\);$/\1/p')
lists=(vself 'vposix,vself' 'vsysv,vself' 'vtcp,vself' vtcp 'vcma,vposix,vself' 'vposix,vtcp,vself')
case " ${lists[*]} " in *" $default "*) ;; *) lists+=(${default:+"$default"}) ;; esac
damaged=('vfposix,vself' 'vftcp,vself')
launchers=()
case ${VERITY_MODEL_MPI:-} in openmpi) mpich= ;; mpich) openmpi= ;; esac
for launcher in $openmpi $mpich; do launchers+=("$launcher"); done
# Neither MPI may take a way past the transports, whatever else "env" comes to prefer.
export OMPI_MCA_osc=ucx UCX_VERITY_ATTEST=never

# stock SECONDS LAUNCHER RANKS LIST ARGUMENT...: the same job on the raw transports, undamaged.
stock() (
  raw=$(sed -E 's/(^|,)vf?/\1/g' <<< "$4")
  no_damage
  mpi_run "$1" "$2" "$3" "$raw" onesided_model "${@:5}"
)

# finished LAUNCHER STATUS FILE: whether the job came to a clean end. Stock MPICH 4.0.2 hangs in
# MPI_Finalize now and then after puts between 4 ranks: all is compared by then.
finished() {
  grep -Eq "$clean" "$3" || return 1
  [ "$2" -ne 0 ] || return 0
  [ "$1" = "$mpich" ] && grep -q HANG "$3" && ! grep -Eq 'WRONG|HANG, at: (seed|making|freeing|summing)' "$3"
}

# model LAUNCHER RANKS LIST ARGUMENT...: one job and, where it fails or in the long form, its twin on stock UCX.
model() {
  local launcher=$1 ranks=$2 list=$3 status=0 twin=0 name
  shift 3
  name="$(flavour "$launcher"), $list${UCX_FAULT_RATE:+ with damage}, $ranks ranks: $*"
  mpi_run 150 "$launcher" "$ranks" "$list" onesided_model "$@" > "$tap_dir/job" || status=$?
  if long_form || ! finished "$launcher" "$status" "$tap_dir/job"; then
    stock 150 "$launcher" "$ranks" "$list" "$@" > "$tap_dir/stock" || twin=$?
  fi
  if finished "$launcher" "$status" "$tap_dir/job"; then
    ! long_form || finished "$launcher" "$twin" "$tap_dir/stock" || note "stock fails: $(grep -E 'WRONG|HANG|rror' "$tap_dir/stock" | head -n 2)"
    tap_result 0 "$name"
  elif ! finished "$launcher" "$twin" "$tap_dir/stock"; then
    skip "$name" "stock fails too: $(grep -E 'WRONG|HANG|rror' "$tap_dir/stock" | head -n 1)"
    note "$(grep -E 'WRONG|HANG|^onesided' "$tap_dir/job" | head -n 3)"
  else
    tap_result 1 "$name"
    note "exit status $status; repeat a phase with --phase N in place of --phases and --seconds"
    note "$(grep -E 'WRONG|HANG|^onesided' "$tap_dir/job" | head -n 12)"
    grep -q WRONG "$tap_dir/job" || note "$(tail -n 20 "$tap_dir/job")"
  fi
}

# pass RANKS...: every combination once with each MPI, the numbers of ranks in turn.
pass() {
  local ranks=("$@") sizes=(8192 300000 2097152) launcher list n=$seed n_ranks
  for launcher in "${launchers[@]}"; do
    for list in "${lists[@]}" damage "${damaged[@]}"; do
      if [ "$list" = damage ]; then
        damage_frames 0.005 "$seed"
        export UCX_FAULT_SIDE=both
        continue
      fi
      # A process of its own has no transport but vself to use.
      n_ranks=${ranks[$((n % ${#ranks[@]}))]}
      [ "$list" != vself ] || n_ranks=1
      model "$launcher" "$n_ranks" "$list" --seed "$seed" --bytes "${sizes[n % 3]}" --phases 1000 --seconds "$share"
      n=$((n + 1))
    done
    no_damage
    unset UCX_FAULT_SIDE
  done
}

if long_form; then
  while [ "$SECONDS" -lt "$duration" ]; do
    pass 1 2 3 4 5 6 7 8
    seed=$((seed + 1))
  done
else
  pass 2 4 8 3
fi

# The program can fail: stock UCX hands damaged bytes on.
damage_frames 0.2 1 flip
export UCX_FAULT_PLACE=payload UCX_FAULT_HEADER_SIZE=128 UCX_FAULT_MIN_LEN=1k
contains "stock UCX on the same transport gives wrong results" \
  "$(mpi_run 60 "${launchers[0]}" 2 ftcp,self onesided_model --kinds put,get --modes fence,lock_all \
    --phases 40 --seconds 5 --limit 20)" 'WRONG|^onesided .* wrong [1-9]'

done_testing
