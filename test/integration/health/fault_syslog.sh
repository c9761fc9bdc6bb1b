#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# UCX_VERITY_FAULT_TEXT=syslog: the lines that arrive at /dev/log, which is one of our own in a namespace for mounts.
# shellcheck disable=SC2016 # texts for inner shells
. "${abs_top_srcdir:?}/test/integration/lib.sh"
[ -n "$openmpi" ] || skip_all "no Open MPI"
command -v python3 > /dev/null || skip_all "no python3"
[ "$(id -u)" -eq 0 ] && unshare -m true 2> /dev/null || skip_all "no right to make a namespace for mounts"

# A /dev as the one that is there, but for its log.
cat > "$tap_dir/inside" << 'SH'
#!/bin/bash
# inside SOCKET COMMAND...
set -e
socket=$1
shift
made=$(mktemp -d -p "$(dirname "$socket")")
mount -t tmpfs none "$made"
for name in null zero full random urandom tty; do : > "$made/$name" && mount --bind "/dev/$name" "$made/$name"; done
for name in shm pts; do mkdir "$made/$name" && mount --rbind "/dev/$name" "$made/$name"; done
ln -s pts/ptmx "$made/ptmx"
ln -s /proc/self/fd "$made/fd"
ln -s "$socket" "$made/log"
mount --rbind "$made" /dev
exec "$@"
SH
chmod +x "$tap_dir/inside"
python3 - "$tap_dir/log" > "$tap_dir/lines" << 'PY' &
import socket, sys
log = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
log.bind(sys.argv[1])
while True:
    print(log.recv(65536).rstrip(b"\n\0").decode(), flush=True)
PY
listener=$!
stop() {
  kill "$listener" 2> /dev/null
  wait
  rm -rf "$tap_dir"
}
trap stop EXIT
for _ in $(seq 300); do [ -S "$tap_dir/log" ] && break; sleep 0.1; done
unshare -m "$tap_dir/inside" "$tap_dir/log" python3 -c 'import syslog; syslog.syslog("are you there")' 2> "$tap_dir/why" ||
  skip_all "no /dev of its own: $(tail -n 1 "$tap_dir/why")"
for _ in $(seq 300); do grep -q 'are you there' "$tap_dir/lines" && break; sleep 0.1; done
contains "the log is ours" "$(cat "$tap_dir/lines")" 'are you there'

(
  verity_env vftcp,vself
  export UCX_FAULT_KINDS=flip UCX_FAULT_EVERY=5 UCX_FAULT_AM_IDS=29 UCX_FAULT_PLACE=payload UCX_FAULT_HEADER_SIZE=16 UCX_FAULT_MIN_LEN=600 \
    UCX_FAULT_REPORT="$tap_dir/fault.%p" UCX_VERITY_FAULT_TEXT=syslog UCX_VERITY_HOST=alpha UCX_VERITY_ATTEST=never UCX_VERITY_HEALTH=n
  timeout -k 5 200 unshare -m "$tap_dir/inside" "$tap_dir/log" "$openmpi" -np 2 "$build/test/mpi/mixed" -n 4000 -m 7000
) > "$tap_dir/job" 2>&1
contains "the job is right" "$(cat "$tap_dir/job")" ' wrong 0 lost 0 '
lacks "its own output reports no fault" "$(cat "$tap_dir/job")" 'ucx-verity: fault'
# The name in front is the process's: MPI libraries set one of theirs.
# A datagram is there when its sender has gone on; the listener writes it down soon.
for _ in $(seq 300); do [ "$(grep -c 'ucx-verity: fault: ' "$tap_dir/lines")" -ge 20 ] && break; sleep 0.1; done
lines=$(grep 'ucx-verity: fault: ' "$tap_dir/lines")
faults=$(json_sum faults "$tap_dir"/fault.*)
note "$faults faults, $(wc -l <<< "$lines") lines: $(head -n 1 <<< "$lines")"
ok "of the first faults all are reported" test "$(wc -l <<< "$lines")" -ge 20
ok "of very many few" test "$faults" -gt 100 -a "$(wc -l <<< "$lines")" -le $((2 * 30))
is "each is a user's warning" "$(grep -cvE '^<12>.*: ucx-verity: fault: ' <<< "$lines")" 0
is "each is key=value" \
  "$(sed 's/.*ucx-verity: fault: //' <<< "$lines" | grep -cvE '^kind=payload host=alpha peer_host=alpha transport=vftcp device=[^ =]+( [a-z_]+=[^ =]+)+$')" 0
is "none is longer than syslog takes" "$(awk 'length > 1024' <<< "$lines" | wc -l)" 0

done_testing
