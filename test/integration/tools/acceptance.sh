#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# `ucx-verity acceptance` between two hosts of namespaces that share no memory, by an agent like ssh: what it finds on two good
# hosts, and what it says when one of them is not. It leaves nothing on them, also when it is interrupted.
. "${abs_top_srcdir:?}/test/integration/lib.sh"
. "$abs_top_srcdir/test/integration/mpi/two_hosts.sh"

hosts_up > "$tap_dir/hosts.log" 2>&1 || skip_all "no hosts of namespaces here: $(tail -n 1 "$tap_dir/hosts.log")"
mkdir "$tap_dir/base"
tool=$build/ucx-verity
# The shell of a user who has loaded nothing. What MPI's launchers need here, and the network of these hosts.
user=(env -i PATH="$PATH" HOME="$tap_dir" USER=jane LD_LIBRARY_PATH="${LD_LIBRARY_PATH:-}" UCX_NET_DEVICES=data
  OMPI_MCA_plm_rsh_agent="$hosts_agent" PRTE_MCA_plm_ssh_agent="$hosts_agent" HYDRA_LAUNCHER=ssh HYDRA_LAUNCHER_EXEC="$hosts_agent"
  OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1)
accept() { # accept OPTION...: its report is in $report, its progress in $tap_dir/progress, its exit status in $status
  status=0
  report=$("${user[@]}" "$tool" acceptance --launch "$hosts_agent" --directory "$tap_dir/base" "$@" 2> "$tap_dir/progress") || status=$?
}
no_trace() { # no_trace NAME
  is "$1: nothing is left on the hosts" "$(ls "$tap_dir/base"; for host in a b; do on $host ls /dev/shm; done; ls -d /tmp/ucx-verity-acceptance* 2> /dev/null)" ""
}
step_is() { contains "$1" "$report" "^  $2 +$3"; } # step_is NAME OUTCOME REGEX

# ---- two good hosts -------------------------------------------------------------------------------
accept --html "$tap_dir/page.html" host-a host-b
is "good hosts: exit status" "$status" 0
contains "good hosts: the verdict" "$report" '^PASSED: [0-9]+ steps passed'
step_is "good hosts: messages between them" passed 'tcp, nothing injected: 400 messages, [0-9]+ bytes right, [0-9]+ frames verified, no fault'
step_is "good hosts: damage is repaired, and not by stock UCX" passed \
  'tcp: [1-9][0-9]* frames damaged, [1-9][0-9]* found and repaired, no message wrong; stock UCX delivered [1-9][0-9]* of 400 messages wrong'
for name in status 'report --injected'; do
  step_is "good hosts: $name agrees" passed "$name: has the [1-9][0-9]* faults"
done
step_is "good hosts: check drains no node" passed 'check on host-b: OK: knows of [1-9][0-9]* injected faults'
step_is "good hosts: a process that is killed" passed 'tcp: killed on host-b: noticed on host-a after'
if [ -n "$openmpi" ]; then
  step_is "good hosts: an MPI job" passed 'MPI job, damage on the way: all messages right; stock UCX delivered [1-9]'
else
  skip "good hosts: an MPI job" "no Open MPI"
fi
contains "good hosts: latencies between them" "$report" '^  tcp, latency 8 B +[0-9.]+ [nu]s +[0-9.]+ [nu]s +x[0-9.]+$'
contains "good hosts: how long it takes, before it begins" "$(head -n 2 "$tap_dir/progress")" 'about [0-9]+ minutes, [0-9]+ at most'
contains "good hosts: progress" "$(cat "$tap_dir/progress")" '^[0-9]+:[0-9][0-9]  8/8  cost'
no_trace "good hosts"
page=$(cat "$tap_dir/page.html")
contains "the page: its verdict" "$page" '<p class="verdict">PASSED: '
contains "the page: a curve of the cost" "$page" '<polyline class="new"'
lacks "the page: nothing from elsewhere" "$page" '<script|<img|<link|src=|@import'
if command -v python3 > /dev/null; then
  ok "the page: well-formed" python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' "$tap_dir/page.html"
else
  skip "the page: well-formed" "no python3"
fi

# ---- what may be sent away ------------------------------------------------------------------------
accept --quick --json --anonymous host-a host-b
is "short form, anonymous: exit status" "$status" 0
contains "anonymous: the hosts" "$(tr -d ' \n' <<< "$report")" '"hosts":\["node1","node2"\]'
contains "anonymous: the outcome" "$report" '^  "outcome": "(passed|skipped|warning)"'
lacks "anonymous: no name" "$report" 'host-a|host-b|jane'
no_trace "short form"

# ---- hosts that are not good ----------------------------------------------------------------------
accept --quick host-a host-c
is "a host that is not there: exit status" "$status" 1
step_is "a host that is not there: who, how and what to try" failed "host-c: '.*agent host-c' did not run a command there .* -> try: .*agent host-c hostname"
no_trace "a host that is not there"

printf '#!/bin/sh\n' > "$tap_dir/nothing"
on b mount --bind "$tap_dir/nothing" "$tool"
accept --quick host-a host-b
on b umount "$tool"
is "a host without the tool: exit status" "$status" 1
step_is "a host without the tool: a line says so" failed 'host-b: .*ucx-verity is not there -> install ucx-verity on host-b in the same folder as here'
lacks "a host without the tool: nothing else is tried" "$report" '^Damage'
no_trace "a host without the tool"

cat > "$tap_dir/other" << SH
#!/bin/sh
[ "\$1" != --version ] || { echo "9.9.9 for UCX $VERITY_UCX_VERSION"; exit; }
exec "$tap_dir/tool" "\$@"
SH
chmod +x "$tap_dir/other"
cp "$tool" "$tap_dir/tool"
on b mount --bind "$tap_dir/other" "$tool"
accept --quick --tls vanished host-a host-b
on b umount "$tool"
step_is "another release on a host: both are named" warning 'versions: ucx-verity [0-9.]+ for UCX [0-9.]+ on host-a, 9\.9\.9 for UCX [0-9.]+ on host-b -> install one release'
step_is "a transport that is not there" failed 'vanished: vvanished is not there on host-a host-b'

# ---- interrupted ----------------------------------------------------------------------------------
for signal in INT TERM; do
  # In a session of its own, whose processes all get the signal as from a terminal.
  "${user[0]}" --default-signal=INT "${user[@]:1}" setsid "$tool" acceptance --launch "$hosts_agent" --directory "$tap_dir/base" host-a host-b > /dev/null 2> "$tap_dir/progress" &
  job=$!
  for _ in $(seq 600); do
    ! grep -q 'transports between' "$tap_dir/progress" || break
    sleep 0.1
  done
  if [ $signal = INT ]; then kill -INT -- "-$(ps -o pgid= -p $job | tr -d ' ')"; else kill -TERM $job; fi
  wait $job
  is "SIG$signal: exit status" "$?" "$([ $signal = INT ] && echo 130 || echo 143)"
  no_trace "SIG$signal"
done

for arguments in host-a "host-a host-b --directory relative" "host-a -x --nothing"; do
  # shellcheck disable=SC2086 # words
  accept $arguments
  is "wrong use: $arguments" "$status" 2
done
done_testing
