#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Buffers of the lower transports from tiny to huge, as UCX's variables set them: every operation at all lengths up to its limit,
# with the C library's own checks of the heap. A size that the wrapped transport refuses must be one that stock UCX refuses, too.
. "${abs_top_srcdir:?}/test/integration/lib.sh"

# Overruns of a heap block end the process when it is freed, and what was freed reads as garbage.
export MALLOC_PERTURB_=165
heap=libc_malloc_debug.so.0
if [ -z "$(LD_PRELOAD=$heap true 2>&1)" ]; then export MALLOC_CHECK_=3; else heap=; fi

# cases TRANSPORT CASES SETTING...: output of the cases of uct_am whose names hold CASES, with those variables.
cases() (
  transport=$1 names=$2 device=
  shift 2
  case $transport in *tcp) device=lo ;; esac
  export UCX_VERITY_ATTEST=never "$@"
  verity_env "$transport"
  export LD_PRELOAD="${heap:+$heap:}$LD_PRELOAD"
  # shellcheck disable=SC2086 # a device or nothing
  within 900 "$build/uct_am" -r 2 -c "$names" "$transport" $device 2>&1
)

refused() { grep -q 'uct_iface_open: ' "$1"; }

sized() { # sized TRANSPORT SETTING...
  local transport=$1 name part
  shift
  name="v$transport, $*"
  for part in am_ arguments rma:; do cases "v$transport" "$part" "$@"; done > "$tap_dir/wrapped"
  if refused "$tap_dir/wrapped"; then
    cases "${transport#f}" am_bcopy "$@" > "$tap_dir/raw"
    is "$name: refused, as by stock UCX" "$(refused "$tap_dir/raw" && echo refused)" refused
  else
    is "$name" "$(grep -c '^1\.\.' "$tap_dir/wrapped"), $(grep '^not ok' "$tap_dir/wrapped")" '3, '
  fi
}

for lower in $(lower_transports); do
  prefix=UCX_${lower^^}
  case $lower in
    tcp)
      sized tcp UCX_TCP_TX_SEG_SIZE=1
      sized tcp UCX_TCP_TX_SEG_SIZE=1k
      sized tcp UCX_TCP_TX_SEG_SIZE=128k # more than RX_SEG_SIZE
      sized tcp UCX_TCP_MAX_IOV=1
      sized ftcp UCX_TCP_TX_SEG_SIZE=600 UCX_VERITY_SEGMENT_SIZE=256 UCX_FAULT_RATE=0.003 UCX_FAULT_KINDS=flip,truncate,drop
      ;;
    posix)
      sized posix UCX_POSIX_SEG_SIZE=1
      sized posix UCX_POSIX_SEG_SIZE=65600 UCX_VERITY_SEGMENT_SIZE=64k # more than its field for the length holds
      sized posix UCX_POSIX_FIFO_ELEM_SIZE=24
      sized posix UCX_POSIX_FIFO_ELEM_SIZE=25
      sized posix UCX_POSIX_FIFO_ELEM_SIZE=70000
      ;;
    self) sized self UCX_SELF_SEG_SIZE=1 ;;
    sysv) sized sysv UCX_SYSV_SEG_SIZE=65600 ;;
  esac
  long_form || continue
  case $lower in
    tcp)
      for size in 64 200 256 300 512 2k 4k 60k; do sized tcp UCX_TCP_TX_SEG_SIZE=$size; done
      for size in 4k 8k 9k 1m; do sized tcp UCX_TCP_RX_SEG_SIZE=$size; done
      for size in 1 1k 128k 1m 16m; do sized tcp UCX_TCP_TX_SEG_SIZE=$size UCX_TCP_RX_SEG_SIZE=$size; done
      for count in 2 40 1000; do sized tcp UCX_TCP_MAX_IOV=$count; done
      for size in 0 inf; do sized tcp UCX_TCP_SENDV_THRESH=$size; done
      ;;
    self) for size in 64 256 1k 2k 70k 1m 16m; do sized self UCX_SELF_SEG_SIZE=$size; done ;;
    *)
      for size in 64 256 1k 2k 9000 65000 65535 65536 256k; do
        sized "$lower" "${prefix}_SEG_SIZE=$size"
        sized "$lower" "${prefix}_SEG_SIZE=$size" UCX_VERITY_SEGMENT_SIZE=64k
      done
      for size in 32 57 64 65 4k 60k; do sized "$lower" "${prefix}_FIFO_ELEM_SIZE=$size"; done
      for size in 1 2 4096; do sized "$lower" "${prefix}_FIFO_SIZE=$size"; done
      ;;
  esac
done

# cma reads in pieces of that size.
if long_form && with_tls vposix,vcma "${UCX_INFO:-ucx_info}" -d 2> /dev/null | grep -q 'Transport: vcma'; then
  for size in 64 4095 8193 1g; do sized posix UCX_CMA_SEG_SIZE=$size; done
fi

limit_of() { with_tls "$1" "${UCX_INFO:-ucx_info}" -d -t "$1" 2> "$tap_dir/err" | sed -n "s/.* $2: <= \([0-9]*\).*/\1/p"; } # limit_of TRANSPORT OPERATION

find_perftest

# mapped TLS: KiB of shared memory of two processes that exchange messages.
mapped() (
  verity_env "$1"
  for _ in {1..20}; do
    port=$(free_port) # somebody else may take it
    "${perftest[@]}" -p "$port" > "$tap_dir/server" 2>&1 &
    server=$!
    await_listener "$port" "$server"
    : > "$tap_dir/client" # not what the former one wrote, as this one may come to its redirection late
    "${perftest[@]}" -p "$port" -t tag_lat -s 8 -n 2000000000 127.0.0.1 > "$tap_dir/client" 2>&1 &
    client=$!
    for _ in {1..100}; do
      grep -q '^\[thread' "$tap_dir/client" && break 2
      kill -0 "$client" 2> "$tap_dir/err" || break
      sleep 0.2
    done
    kill "$client" "$server" 2> "$tap_dir/err"
    wait
  done
  cat "/proc/$server/smaps" "/proc/$client/smaps" |
    awk '/^[0-9a-f]+-/ { is = /ucx_shm_posix/ && !seen[$6]++ } is && /^Size:/ { sum += $2 } END { print sum + 0 }'
  kill "$client" "$server" 2> "$tap_dir/err"
  wait
)

if lower_transports | grep -qx tcp; then
  # With headers three packets of 65483 bytes each, not one byte of a fourth.
  chosen=$(limit_of vtcp am_zcopy | head -n 1) # each device has it
  ok "vtcp: zero-copy messages fill three packets (am_zcopy: $chosen)" test "${chosen:-0}" -gt 195000 -a "${chosen:-0}" -lt $((3 * 65483))
  chosen=$(UCX_TCP_RX_SEG_SIZE=16k limit_of vtcp am_zcopy | head -n 1)
  ok "vtcp: a buffer size below the usual one is kept (am_zcopy: $chosen)" test "${chosen:-0}" -ge 16384 -a "${chosen:-0}" -lt 17408
fi

if lower_transports | grep -qx posix; then
  # The gathering cases of uct_am are skipped where it is not offered.
  ok "vposix: zero-copy messages of 16 KiB" test "$(limit_of vposix am_zcopy)" -ge 16384
  chosen=$(UCX_POSIX_SEG_SIZE=4k limit_of vposix am_zcopy)
  ok "vposix: a buffer size below the usual one is kept (am_zcopy: $chosen)" test "${chosen:-0}" -ge 4096 -a "${chosen:-0}" -lt 5120
  # Large buffers are fewer: a twentieth is for their headers.
  stock=$(mapped posix,self)
  wrapped=$(mapped vposix,vself)
  ok "vposix: $wrapped KiB of shared memory, stock $stock" test "$stock" -gt 0 -a "$wrapped" -gt 0 -a "$wrapped" -le $((stock + stock / 20))
fi

done_testing
