#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# `ucx-verity acceptance` between two hosts of namespaces that share no memory, by an agent like ssh: what it finds on two good
# hosts, and what it says when one of them is not. It leaves nothing on them, also when it is interrupted.
. "${abs_top_srcdir:?}/test/integration/lib.sh"
. "$abs_top_srcdir/test/integration/mpi/two_hosts.sh"

hosts_up > "$tap_dir/hosts.log" 2>&1 || skip_all "no hosts of namespaces here: $(tail -n 1 "$tap_dir/hosts.log")"
mkdir "$tap_dir/base" "$tap_dir/tmp"
tool=$build/ucx-verity
# The shell of a user who has loaded nothing. What MPI's launchers need here, and the network of these hosts.
user=(env -i PATH="$PATH" HOME="$tap_dir" TMPDIR="$tap_dir/tmp" USER=jane LD_LIBRARY_PATH="${LD_LIBRARY_PATH:-}" UCX_NET_DEVICES=data
  OMPI_MCA_plm_rsh_agent="$hosts_agent" PRTE_MCA_plm_ssh_agent="$hosts_agent" HYDRA_LAUNCHER=ssh HYDRA_LAUNCHER_EXEC="$hosts_agent"
  OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1)
accept() { # accept OPTION...: its report is in $report, its progress in $tap_dir/progress, its exit status in $status
  status=0
  report=$("${user[@]}" "$tool" acceptance --launch "${agent:-$hosts_agent}" --directory "${base:-$tap_dir/base}" "$@" 2> "$tap_dir/progress") || status=$?
}
no_trace() { # no_trace NAME
  is "$1: nothing is left on the hosts" "$(ls -A "$tap_dir/base"; ls -A "$tap_dir/tmp"; for host in a b; do on $host ls /dev/shm; done)" ""
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
  step_is "good hosts: $name agrees" passed "$name: shows the [1-9][0-9]* faults"
done
step_is "good hosts: check drains no node" passed 'check on host-b: OK: [1-9][0-9]* injected faults, none counted against the host'
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
accept --quick --no-cost --json --anonymous host-a host-b
is "short form, anonymous: exit status" "$status" 0
contains "anonymous: the hosts" "$(tr -d ' \n' <<< "$report")" '"hosts":\["node1","node2"\]'
contains "without its cost: progress" "$(cat "$tap_dir/progress")" '^[0-9]+:[0-9][0-9]  6/6  an MPI job'
contains "without its cost: no figures" "$(tr -d ' \n' <<< "$report")" '"costs":\[\]'
contains "anonymous: the outcome" "$report" '^  "outcome": "(passed|skipped|warning)"'
lacks "anonymous: no name" "$report" 'host-a|host-b|jane'
no_trace "short form"

# ---- hosts that are not good ----------------------------------------------------------------------
accept --quick host-a host-c
is "a host that is not there: exit status" "$status" 1
step_is "a host that is not there: who, how and what to try" failed "host-c: '.*agent host-c' did not run a command there .* -> try: .*agent host-c hostname"
no_trace "a host that is not there"

# An agent that does something else for host-b: to what is carried out there, WORDS of a script, comes first.
agent_with() { # agent_with WORDS
  printf '#!/bin/bash\nif [ "$1" = host-b ]; then\n%s\nfi\nexec %s "$@"\n' "$1" "$hosts_agent" > "$tap_dir/agent"
  chmod +x "$tap_dir/agent"
}
agent_with 'case " $* " in *" facts "*) exec sleep 1000 ;; esac'
accept_by() { # accept_by PATIENCE OPTION...: by that agent, for hosts that hang
  user+=(VERITY_ACCEPTANCE_PATIENCE="$1")
  agent=$tap_dir/agent accept --quick "${@:2}"
  unset 'user[-1]'
}
begin=$SECONDS
accept_by 5 host-a host-b
is "a host that hangs: exit status" "$status" 1
step_is "a host that hangs: who, and what to do" failed \
  "host-b: does not answer any more: nothing came within 5 s; the other steps are left out -> see what it is doing: .*agent host-b uptime"
lacks "a host that hangs: nothing else waits for it" "$report" '^(Set-up|Damage)'
ok "a host that hangs: soon ($((SECONDS - begin)) s)" [ $((SECONDS - begin)) -lt 60 ]
no_trace "a host that hangs"

agent_with 'echo "Welcome to host-b"'
accept_by 120 host-a host-b
step_is "a login that prints: its words, and where they come from" failed \
  'host-b: its shell prints before a command runs: Welcome to host-b -> let the start-up files there'
lacks "a login that prints: nothing else is tried" "$report" '^Set-up'
no_trace "a login that prints"

agent_with 'case " $* " in *" end "*) exit 1 ;; esac'
accept_by 120 --tls vanished host-a host-b
contains "a host that is not cleaned up: which, and what to remove" "$(cat "$tap_dir/progress")" \
  "^ucx-verity acceptance: host-b is not cleaned up: remove $tap_dir/base/ucx-verity-acceptance\.[0-9a-f]+ there\$"
is "a host that is not cleaned up: the other one is" "$(ls "$tap_dir"/base/ucx-verity-acceptance.*)" 2
rm -r "$tap_dir"/base/ucx-verity-acceptance.*

base=$tap_dir/none accept --quick host-a host-b
step_is "no temporary folder: why, and what to do" failed \
  "host-a: no temporary folder in $tap_dir/none there: .*none.*: No such file or directory -> name a folder that both hosts can write to: --directory"
lacks "no temporary folder: nothing is to be cleaned up" "$(cat "$tap_dir/progress")" 'not cleaned up'

# A site's policy that names verified transports by UCX's own names, locked or not.
etc=$(sed -n 's/^sysconfdir = //p' "$build/Makefile" | sed "s|\${prefix}|$(sed -n 's/^prefix = //p' "$build/Makefile")|")
if [ -d "$etc" ]; then
  mkdir "$tap_dir/etc"
  for host in a b; do on $host mount --bind "$tap_dir/etc" "$etc"; done
  for line in 'UCX_VERITY_TRANSPARENT=y' 'lock UCX_VERITY_TRANSPARENT=y'; do
    echo "$line" > "$tap_dir/etc/ucx-verity.conf"
    cost=
    [ "${line% *}" = lock ] || cost=--no-cost
    # shellcheck disable=SC2086 # an option or nothing
    accept --quick $cost host-a host-b
    step_is "$line: messages" passed 'tcp, nothing injected: 400 messages, [0-9]+ bytes right, [1-9][0-9]* frames verified, no fault'
    step_is "$line: damage is repaired" passed 'tcp: [1-9][0-9]* frames damaged, [1-9][0-9]* found and repaired, no message wrong'
    step_is "$line: an MPI job" "$([ -n "$openmpi" ] && echo passed || echo skipped)" 'MPI job'
    [ -n "$cost" ] || step_is "$line: the cost" passed 'tcp: measured'
  done
  echo "lock UCX_VERITY_ATTEST_FILE=/dev/null" > "$tap_dir/etc/ucx-verity.conf"
  accept --quick --no-cost host-a host-b
  step_is "a policy that hides what is counted is named" failed \
    "tcp, nothing injected: no frame was verified; the site allows no other UCX_VERITY_ATTEST_FILE: $etc/ucx-verity.conf:1 locks it to /dev/null"
  for host in a b; do on $host umount "$etc"; done
else
  skip "a site's policy" "$etc is not there"
fi

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
# By SIGTERM while a step is about to make its folders on a host, by an agent that, like ssh, ends without what it started.
cat > "$tap_dir/agent" << SH
#!/bin/bash
setsid "$hosts_agent" "\$@" <&0 &
wait \$!
SH
chmod +x "$tap_dir/agent"
mkdir "$tap_dir/tree" && cp "$tool" "$tap_dir/tree" && ln -s "$build/.libs" "$build/modules" "$tap_dir/tree"
cat > "$tap_dir/slow" << SH
#!/bin/bash
if [[ \$1 = env && \$(tr '\\0' ' ' < /proc/\$PPID/cmdline) = *"node run "* ]]; then : > "$tap_dir/now"; sleep 2; fi
exec "$tap_dir/tree/ucx-verity" "\$@"
SH
chmod +x "$tap_dir/slow"
on b mount --bind "$tap_dir/slow" "$tool"
for signal in INT TERM; do
  rm -f "$tap_dir/progress" "$tap_dir/now"
  # In a session of its own, whose processes all get the signal as from a terminal.
  "${user[0]}" --default-signal=INT "${user[@]:1}" setsid "$tool" acceptance --launch "$tap_dir/agent" --directory "$tap_dir/base" host-a host-b > /dev/null 2> "$tap_dir/progress" &
  job=$!
  for _ in $(seq 600); do
    case $signal in
      INT) ! grep -qs 'transports between' "$tap_dir/progress" || break ;;
      TERM) [ ! -e "$tap_dir/now" ] || break ;;
    esac
    sleep 0.1
  done
  if [ $signal = INT ]; then kill -INT -- "-$(ps -o pgid= -p $job | tr -d ' ')"; else kill -TERM $job; fi
  wait $job
  ended=$?
  if [ $signal = TERM ]; then
    ok "SIG$signal: it came while a step began" test -e "$tap_dir/now"
    sleep 3
  fi
  contains "SIG$signal: what it waits for" "$(cat "$tap_dir/progress")" '^ucx-verity acceptance: interrupted; cleaning up'
  is "SIG$signal: exit status" "$ended" "$([ $signal = INT ] && echo 130 || echo 143)"
  no_trace "SIG$signal"
done
on b umount "$tool"

echo old > "$tap_dir/old.html"
accept --quick --html "$tap_dir/old.html" host-a host-a
is "two names of one host: wrong use" "$status" 2
is "and the page of an earlier run stays" "$(cat "$tap_dir/old.html")" old
for arguments in host-a "host-a host-b --directory relative" "host-a -x --nothing"; do
  # shellcheck disable=SC2086 # words
  accept $arguments
  is "wrong use: $arguments" "$status" 2
done
done_testing
