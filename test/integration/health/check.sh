#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# From a flipped bit to a verdict: a job of four processes, each of which takes itself for a host of its own, and `ucx-verity check`
# and `export` on each of these hosts.
. "${abs_top_srcdir:?}/test/integration/lib.sh"
[ -n "$openmpi" ] || skip_all "no Open MPI"
. "$abs_top_srcdir/test/integration/mpi/hosts.sh"

# verdict HOST [OPTION...]: the line and the exit code.
verdict() {
  local host=$1
  shift
  "$tool" check --injected --ledger "$tap_dir/$host.ledger" --directory "$tap_dir/$host" "$@" 2>&1
  echo "exit $?"
}
export_of() { # export_of HOST [OPTION...]
  local host=$1
  shift
  "$tool" export --injected --ledger "$tap_dir/$host.ledger" --directory "$tap_dir/$host" "$@"
}
hosts_job clean "" mixed -n 600
tap_result $? "a clean job of four hosts"
sample=$(find "$tap_dir/node0" -name '*.health' | head -n 1)
cp "$sample" "$tap_dir/sample.health"
sample_of_node3=$tap_dir/sample3.health
cp "$(find "$tap_dir/node3" -name '*.health' | head -n 1)" "$sample_of_node3"
for host in $hosts; do
  contains "clean: $host is well" "$(verdict "$host")" 'UCX-VERITY OK: .* checked, in and out, with 3 other hosts, no faults.*exit 0|UCX-VERITY OK: .*no faults'
  is "clean: $host exits 0" "$(verdict "$host" | tail -n 1)" "exit 0"
done

# Host node1 damages what it sends: all others see it, and it hears of it from all others.
hosts_job guilty 1 mixed -n 1500
tap_result $? "a job of which host node1 damages what it sends"
note "node1: $(verdict node1 | head -n 1)"
note "node0: $(verdict node0 | head -n 1)"
is "node1 is critical" "$(verdict node1 | tail -n 1)" "exit 2"
contains "node1 blames itself" "$(verdict node1)" 'UCX-VERITY CRITICAL: [0-9]+ faults \(0 in, [0-9]+ out\) with 3 of 3 hosts: device memory'
for host in node0 node2 node3; do
  contains "$host points at node1" "$(verdict $host)" 'UCX-VERITY WARNING: .*: host node1, or the link to it'
  is "$host only warns" "$(verdict $host | tail -n 1)" "exit 1"
done

is "for NHC: node1 is to be drained" "$(verdict node1 --nhc | sed 's/[0-9][0-9]* faults.*/.../')" "ERROR:  ucx-verity: ...
exit 1"
is "for NHC: a warning drains no node" "$(verdict node0 --nhc)" "exit 0"
is "for Slurm: a site may drain at warnings" "$(verdict node0 --slurm --drain-on warning | tail -n 1)" "exit 1"
is "for Slurm: a site may drain never" "$(verdict node1 --slurm --drain-on never)" "exit 0"
is "a high threshold" "$(verdict node1 --warning 1000000 | tail -n 1)" "exit 0"
echo "critical=1000000" > "$tap_dir/check.conf"
is "thresholds from a file" "$(verdict node1 --config "$tap_dir/check.conf" | tail -n 1)" "exit 1"
# An option that may be repeated is, on lines of its own; the command line overrides them all.
printf 'directory=%s\n' "$tap_dir/nowhere" "$tap_dir/node1" > "$tap_dir/lines.conf"
check_lines() { "$tool" check --injected --ledger "$tap_dir/none" --config "$tap_dir/lines.conf" "$@"; }
contains "two folders on two lines of a file" "$(check_lines)" '^UCX-VERITY CRITICAL: .*\(cannot read .*/nowhere: '
lacks "those of the command line instead" "$(check_lines --directory "$tap_dir/node1")" 'nowhere'
# A wrong option is no critical state: 3 for monitoring, and nothing that drains for NHC and Slurm.
for wrong in "--critical 0" "--criticl 3" "--hours -1" "--hours x" "--drain-on sometimes" "--config /nowhere" "--config $tap_dir" "--config $tap_dir/wrong.conf"; do
  echo "criticl=3" > "$tap_dir/wrong.conf"
  # shellcheck disable=SC2086 # words
  output=$(verdict node1 $wrong)
  contains "$wrong: unknown" "$output" '^UCX-VERITY UNKNOWN: not checked: '
  is "$wrong: exits 3" "$(tail -n 1 <<< "$output")" "exit 3"
  for form in --nhc --slurm; do
    # shellcheck disable=SC2086
    output=$(verdict node1 $form $wrong)
    contains "$wrong: $form says on stderr what was not checked" "$output" '^ucx-verity check: not checked: '
    is "$wrong: $form drains no node" "$(tail -n 1 <<< "$output")" "exit 0"
    # shellcheck disable=SC2086
    is "$wrong: $form has no reason" "$("$tool" check $form $wrong 2> /dev/null)" ""
  done
done
is "no folder is unknown" "$(verdict nowhere | tail -n 1)" "exit 3"
contains "and named" "$(verdict nowhere)" "^UCX-VERITY UNKNOWN: cannot read $tap_dir/nowhere: .*No such file or directory; otherwise nothing verified in the last 24 h\$"
contains "no folder for NHC: not checked, and not drained" "$(verdict nowhere --nhc)" '^ucx-verity check: not checked: cannot read .*/nowhere: '
contains "one folder of two: the other one counts" "$(verdict node1 --directory "$tap_dir/nowhere")" '^UCX-VERITY CRITICAL: .*\(cannot read .*/nowhere: '
mkdir "$tap_dir/empty"
is "nothing verified is no zero bytes" "$(verdict empty --hours 1)" "UCX-VERITY OK: nothing verified in the last hour
exit 0"
is "a site may want to know" "$(verdict empty --require-traffic)" "UCX-VERITY WARNING: nothing verified in the last 24 h
exit 1"
is "but never drains for it" "$(verdict empty --require-traffic --slurm --drain-on warning)" "exit 0"
if command -v python3 > /dev/null; then
  # shellcheck disable=SC2016
  is "JSON says the same" "$(verdict node1 --json | head -n -1 | python3 -c '
import json, sys
c = json.load(sys.stdin)
print(c["level"], c["status"], c["faults"]["in"], c["faults"]["out"] > 2, c["hosts_with_faults"], c["suspect"], c["files"]["read"])')" \
    "CRITICAL 2 0 True ['node0', 'node2', 'node3'] device memory 2"
fi
is "JSON has the exit code, too" "$(verdict node1 --json | tail -n 1)" "exit 2"
contains "JSON is no form of NHC" "$(verdict node1 --json --nhc)" 'not checked'

# What counted: the test transport reports how many frames it damaged.
for host in $hosts; do export_of "$host" --keep 0 --textfile "$tap_dir/$host.prom"; done
explained "$(json_sum faults "$tap_dir/faults.1")" "$tap_dir"/node?.prom
tap_result $? "as many faults counted as there were damaged frames"

# Files of ended processes went into the ledger: nothing is lost, and nothing counts twice.
is "the ended processes' files are gone" "$(find "$tap_dir/node0" "$tap_dir/node1" -name '*.health' | wc -l)" 0
before=$(metric_sum bytes_verified_total "$tap_dir/node0.prom")
is "their counters are not" "$(export_of node0 | metric_sum bytes_verified_total)" "$before"
is "nor is the verdict" "$(verdict node1 | tail -n 1)" "exit 2"
ok "fewer than 100 series ($(grep -vc '^#' "$tap_dir/node1.prom")) of two paths" test "$(grep -vc '^#' "$tap_dir/node1.prom")" -lt 100
lacks "no empty label" "$(cat "$tap_dir"/node?.prom)" '=""'
mode=$(stat -c %a "$tap_dir/node1.prom")
is "the collector may read the file" "$mode" 644
is "no unfinished file stays behind" "$(find "$tap_dir" -maxdepth 1 -name '.*.prom.*' | wc -l)" 0

# A repaired node is not drained again for what was before.
resent=$(metric_sum segments_resent_total "$tap_dir/node1.prom")
contains "a repair ends what counts" "$(export_of node1 --forget 2>&1)" '^ucx-verity export: [1-9][0-9]* faults of the last 8 days no longer count for check$'
is "the node is well" "$(verdict node1 | tail -n 1)" "exit 0"
is "its counters stay" "$(export_of node1 | metric_sum segments_resent_total)" "$resent"

# The exporter takes a file long before any other process would remove it, which adds up nothing. Ended 40 minutes ago:
cp "$sample_of_node3" "$tap_dir/node3/1-aged.health"
ended=$(printf '%016x' $((($(date +%s) - 2400) * 1000000000)))
for byte in 14 12 10 8 6 4 2 0; do printf "\\x${ended:byte:2}"; done | dd of="$tap_dir/node3/1-aged.health" bs=1 seek=72 conv=notrunc 2> /dev/null
is "processes that start would leave it yet" "$("$tool" status --collect "$tap_dir/node3")" "0 files removed"
before=$(metric_sum bytes_verified_total "$tap_dir/node3.prom")
export_of node3 > "$tap_dir/out"
ok "the exporter takes it" test ! -e "$tap_dir/node3/1-aged.health"
ok "and counts it" test "$(metric_sum bytes_verified_total "$tap_dir/out")" -gt "$before"
is "once" "$(export_of node3 | metric_sum bytes_verified_total)" "$(metric_sum bytes_verified_total "$tap_dir/out")"

# A run by hand with another folder alone: what is in the usual one counts once all the same.
mkdir "$tap_dir/usual" "$tap_dir/elsewhere"
cp "$tap_dir/sample.health" "$tap_dir/usual/1-x.health"
for folder in usual elsewhere usual; do
  "$tool" export --injected --ledger "$tap_dir/folders.ledger" --directory "$tap_dir/$folder" > "$tap_dir/out.$folder"
  cp -n "$tap_dir/out.$folder" "$tap_dir/out.first"
done
is "a folder that one run does not name counts once" "$(metric_sum bytes_verified_total "$tap_dir/out.usual")" \
  "$(metric_sum bytes_verified_total "$tap_dir/out.first")"
mv "$tap_dir/usual" "$tap_dir/removed"
lacks "  and is no concern once it is removed" "$("$tool" check --injected --ledger "$tap_dir/folders.ledger" --directory "$tap_dir/elsewhere")" 'cannot read'

# A path's first faults: Prometheus sees an increase only where its series begin with zero.
mkdir "$tap_dir/begins"
textfile=$tap_dir/begins.prom
export_of begins --textfile "$textfile"
cp "$tap_dir/sample.health" "$tap_dir/begins/1-x.health"
for _ in 1 2; do
  export_of begins --textfile "$textfile"
  is "a new path begins with zeros" "$(metric_sum bytes_verified_total "$textfile")" 0
done
verified=$(export_of begins | metric_sum bytes_verified_total)
ok "who looks on sees what was counted" test "$verified" -gt 0
python3 - "$tap_dir/begins.ledger" << 'PY'
import json, sys
ledger = json.load(open(sys.argv[1]))
ledger["begun"] = [[series, since - 60] for series, since in ledger["begun"]]
json.dump(ledger, open(sys.argv[1], "w"))
PY
export_of begins --textfile "$textfile"
is "and so does Prometheus a minute later" "$(metric_sum bytes_verified_total "$textfile")" "$verified"

# The exporter takes files between check's look at the ledger and at the folder: nothing is missing.
cat > "$tap_dir/slow.c" << 'C'
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
static int done, over;
DIR *fdopendir(int fd) {
  if (!done++ && system("eval \"LD_PRELOAD= $MEANWHILE\" > /dev/null") != 0) abort();
  return ((DIR * (*)(int)) dlsym(RTLD_NEXT, "fdopendir"))(fd);
}
int closedir(DIR *folder) {
  if (done && !over++ && system("eval \"LD_PRELOAD= $AFTERWARDS\" > /dev/null") != 0) abort();
  return ((int (*)(DIR *)) dlsym(RTLD_NEXT, "closedir"))(folder);
}
static void dies_in(const char *call) {
  const char *killed = getenv("KILLED");
  if (killed && strcmp(killed, call) == 0) raise(SIGKILL);
}
int rename(const char *from, const char *to) {
  dies_in("rename");
  if (getenv("BESIDE") && strstr(to, ".prom") && system("eval \"LD_PRELOAD= $BESIDE\" > /dev/null") != 0) abort();
  return ((int (*)(const char *, const char *)) dlsym(RTLD_NEXT, "rename"))(from, to);
}
int unlinkat(int folder, const char *name, int flags) {
  dies_in("unlinkat");
  return ((int (*)(int, const char *, int)) dlsym(RTLD_NEXT, "unlinkat"))(folder, name, flags);
}
C
if ${CC:-cc} -shared -fPIC -o "$tap_dir/slow.so" "$tap_dir/slow.c" -ldl; then
  mkdir "$tap_dir/beside"
  cp "$tap_dir/sample.health" "$tap_dir/beside/1-x.health"
  before=$(verdict beside --hours 0)
  contains "before the exporter takes a file" "$before" '^UCX-VERITY OK: .* checked'
  export MEANWHILE="'$tool' export --keep 0 --ledger '$tap_dir/beside.ledger' --directory '$tap_dir/beside'"
  is "while it does" "$(LD_PRELOAD=$tap_dir/slow.so verdict beside --hours 0)" "$before"
  ok "it did" test ! -e "$tap_dir/beside/1-x.health"
  # A process that starts removes an old file which is listed already.
  mkdir "$tap_dir/vanishing"
  cp "$tap_dir/sample.health" "$tap_dir/vanishing/1-x.health"
  export MEANWHILE=true AFTERWARDS="rm '$tap_dir/vanishing/1-x.health'"
  is "a file that vanishes is not one that cannot be read" "$(LD_PRELOAD=$tap_dir/slow.so verdict vanishing)" "UCX-VERITY OK: nothing verified in the last 24 h
exit 0"
  cp "$tap_dir/sample.health" "$tap_dir/vanishing/1-x.health"
  lacks "nor for status" "$(LD_PRELOAD=$tap_dir/slow.so "$tool" status "$tap_dir/vanishing")" 'not read'
  unset MEANWHILE AFTERWARDS
  # A run that is killed as it replaces the ledger, and the next one.
  mkdir "$tap_dir/killed"
  export_killed() { "$tool" export --ledger "$tap_dir/killed/ledger" --directory "$tap_dir/vanishing"; }
  (MEANWHILE=true AFTERWARDS=true KILLED=rename LD_PRELOAD=$tap_dir/slow.so export_killed) > "$tap_dir/out" 2>&1
  ok "a run is killed before it has a ledger" test ! -e "$tap_dir/killed/ledger"
  export_killed > "$tap_dir/out"
  is "  the next one leaves nothing of it" "$(ls -A "$tap_dir/killed" | xargs)" "ledger ledger.lock"
  # Runs of two ledgers with one text file, of which one replaces it while the other does.
  export_as() { echo "'$tool' export --ledger '$tap_dir/killed/$1' --directory '$tap_dir/vanishing' --textfile '$tap_dir/killed/x.prom'"; }
  ok "a text file of two ledgers" env MEANWHILE=true AFTERWARDS=true BESIDE="$(export_as other)" \
    LD_PRELOAD="$tap_dir/slow.so" bash -c "$(export_as ledger)"
  ok "  is whole" grep -q '^ucx_verity' "$tap_dir/killed/x.prom"
  # And one that is killed as it removes what it has taken; the next one has another name for the folder.
  once=$(metric_sum bytes_verified_total "$tap_dir/out.first")
  export_twice() { (cd "$1" && "$tool" export --injected --keep 0 --ledger "$tap_dir/twice.ledger" --directory "$2"); }
  for folder in twice "$tap_dir/twice/"; do
    rm -rf "$tap_dir"/twice*
    mkdir "$tap_dir/twice"
    cp "$tap_dir/sample.health" "$tap_dir/twice/1-x.health"
    (MEANWHILE=true AFTERWARDS=true KILLED=unlinkat LD_PRELOAD=$tap_dir/slow.so export_twice "$tap_dir" "$folder") > "$tap_dir/out" 2>&1
    ok "a run is killed as it removes what it has taken" test -e "$tap_dir/twice/1-x.health" -a -e "$tap_dir/twice.ledger"
    export_twice / "$tap_dir/twice" > "$tap_dir/out"
    is "  the next one counts that once, where the folder was ${folder#"$tap_dir/"}" \
      "$(metric_sum bytes_verified_total "$tap_dir/out"), $(ls -A "$tap_dir/twice")" "$once, "
  done
else
  skip "check beside the exporter" "no compiler"
fi

# A folder that is missing all the time: the ledger remembers no file for ever.
mkdir "$tap_dir/one"
for run in 1 2 3; do
  cp "$tap_dir/sample.health" "$tap_dir/one/$run-x.health"
  export_of one --keep 0 --directory "$tap_dir/nowhere" > "$tap_dir/out" 2>&1
done
is "files that were taken and removed are forgotten" "$(grep -o '"taken":\[[^]]*' "$tap_dir/one.ledger" | grep -o '/[^/]*\.health' | xargs)" "/3-x.health"

# Hands on it: a broken ledger, one that cannot be written, a folder that is none.
echo '{"schema":1' > "$tap_dir/node2.ledger"
contains "a broken ledger is put aside" "$(export_of node2 2>&1 > "$tap_dir/out")" 'node2.ledger is no ledger .*it is now .*node2.ledger.bad'
is "and the export goes on" "$(metric_sum check_status "$tap_dir/out")" 0
# One that cannot be read now, as where the system has no file descriptor left.
for unreadable in loop folder; do
  case $unreadable in loop) ln -s loop.ledger "$tap_dir/loop.ledger" ;; folder) mkdir "$tap_dir/folder.ledger" ;; esac
  contains "an unreadable ledger ends the run: $unreadable" "$({ export_of "$unreadable" 2>&1; echo "exit $?"; } | paste -s -d " ")" \
    "cannot read .*$unreadable.ledger: .*; nothing is exported without what it holds exit 2"
  ok "  and is left where it is" test -L "$tap_dir/$unreadable.ledger" -o -d "$tap_dir/$unreadable.ledger"
done
contains "a ledger that cannot be kept" "$("$tool" export --ledger /proc/nowhere/ledger 2>&1)" 'cannot keep its ledger /proc/nowhere/ledger'
contains "a collector's folder that is not there" "$(export_of node2 --textfile "$tap_dir/nowhere/x.prom" 2>&1)" 'nowhere'
# One that several hosts share, as on NFS: the one whose it is goes on, the others say so. What none uses any more is put aside.
shared=$tap_dir/node2.ledger
of_other() { # of_other SECONDS: another host wrote it then
  python3 - "$shared" "$1" << 'PY'
import json, sys
path, written = sys.argv[1], int(sys.argv[2])
ledger = json.load(open(path))
ledger.update(boot="another", host="elsewhere", written=written)
json.dump(ledger, open(path, "w"))
PY
}
export_of node2 > "$tap_dir/out"
of_other "$(date +%s)"
cp "$shared" "$tap_dir/before"
contains "a ledger that another host uses is refused" "$({ export_of node2 2>&1; echo "exit $?"; } | paste -s -d " ")" \
  'node2.ledger is the ledger of host elsewhere, which uses it now: .*exit 2'
ok "  and left to it" cmp "$shared" "$tap_dir/before"
contains "  check does not conclude from it" "$(verdict node2)" 'UNKNOWN.*the ledger of host elsewhere'
of_other 1
contains "one of a host that used it before this one started is put aside" "$(export_of node2 2>&1 > "$tap_dir/out")" \
  'node2.ledger is the ledger of host elsewhere; it is now .*node2.ledger.bad'
sed -i 's/"boot":"[^"]*"/"boot":"before"/' "$shared"
is "one of this host before it started again is its own" "$(export_of node2 2>&1 > "$tap_dir/out")" ""
# The name may have any bytes. Files, too, may outlast the start.
cat > "$tap_dir/named.py" << 'PY'
import os, re, socket, subprocess, sys
tool, sample, folder, ledger = sys.argv[1:]
name = b"n\xf6de2"
def export():
    ended = subprocess.run([tool, "export", "--injected", "--ledger", ledger, "--directory", folder], capture_output=True, text=True)
    verified = re.findall(r"^ucx_verity_frames_verified_total{.* ([0-9]+)$", ended.stdout, re.M)
    return f"exit {ended.returncode} {ended.stderr}verified {sum(map(int, verified)) > 0}"
socket.sethostname(name)
os.mkdir(folder, 0o700)
print(export())
text = re.sub('"boot":"[^"]*"', '"boot":"before"', open(ledger).read())
open(ledger, "w").write(text)
data = bytearray(open(sample, "rb").read())
data[96:160] = name.ljust(64, b"\0")
data[312:352] = b"before".ljust(40, b"\0")
open(os.path.join(folder, "1-x.health"), "wb").write(data)
print(export())
PY
if unshare --uts true 2> /dev/null; then
  is "and so is one of a host whose name is no text" \
    "$(unshare --uts python3 "$tap_dir/named.py" "$tool" "$tap_dir/sample.health" "$tap_dir/named" "$tap_dir/named.ledger" 2>&1)" \
    "exit 0 verified False
exit 0 verified True"
else
  skip "a host whose name is no text" "no right to name one"
fi
if [ -c /dev/full ]; then
  export_of node2 > /dev/full 2> "$tap_dir/log"
  is "output that cannot be written: export" "$? $(cat "$tap_dir/log")" "2 ucx-verity: cannot write the output: No space left on device"
  is "  check" "$("$tool" check --ledger "$tap_dir/none" --directory "$tap_dir/empty" 2>&1 > /dev/full; echo $?)" \
    "ucx-verity: cannot write the output: No space left on device
3"
  is "  status" "$("$tool" status "$tap_dir/node0" 2> /dev/null > /dev/full; echo $?)" 2
fi
exec 9> "$tap_dir/node2.ledger.lock"
flock 9
contains "a second run at the same time" "$(export_of node2 2>&1)" 'another one is running'
exec 9>&-

# A crowd of stale files and strange things among them: no harm, and a clear word.
mkdir "$tap_dir/crowd"
cp "$tap_dir/sample.health" "$tap_dir/crowd/1-x.health"
(cd "$tap_dir/crowd" && mkfifo 0-x.health && ln -s /etc/passwd 00-x.health && head -c 100 1-x.health > 000-x.health && seq -f '%g-y.health' 5 3000 | xargs touch)
touch -d "2 hours ago" "$tap_dir/crowd/.job-0-1.health"
touch "$tap_dir/crowd/.job-0-2.health"
contains "strange files are named" "$("$tool" export --ledger "$tap_dir/crowd.ledger" --directory "$tap_dir/crowd" 2>&1 > "$tap_dir/out")" '/0-x.health: '
is "what a killed job left is removed in time" "$(cd "$tap_dir/crowd" && echo .job*)" .job-0-2.health
is "and counted" "$(metric_sum unreadable_files "$tap_dir/out")" 2999
contains "check does not mind" "$(verdict crowd)" 'UCX-VERITY OK'

# Only the link from node0 to node1 is bad. Its ends cannot tell whether it is the other one or the link: both warn and name each other.
fresh_hosts
export UCX_VERITY_FAULT_LOG="$tap_dir/link.records" UCX_VERITY_ATTEST_FILE="$tap_dir/link.attest"
hosts_job link 0-1 mixed -n 12000 -m 7000
tap_result $? "a job of which the link from node0 to node1 damages data"
for host in $hosts; do export_of "$host" --textfile "$tap_dir/$host.prom"; done
injected=$(json_sum faults "$tap_dir"/faults.*)
note "$injected frames damaged"
ok "it did" test "$injected" -gt 5
is "as many faults as damaged frames, all at node1" "$(faults_of "$tap_dir/node1.prom") $(faults_of "$tap_dir"/node?.prom)" "$injected $injected"
is "as many records, all of one bit from node0 to node1" \
  "$(grep -c '"host":"node1".*"peer_host":"node0".*"direction":"received".*"kind":"payload".*"pattern":"single_bit".*"bits":1,' "$UCX_VERITY_FAULT_LOG") of $(wc -l < "$UCX_VERITY_FAULT_LOG")" \
  "$injected of $injected"
"$tool" report --injected "$tap_dir"/link.* > "$tap_dir/report"
contains "the report names the link first" "$(sed -n '/^  1\./,/evidence/p' "$tap_dir/report" | xargs)" \
  '^1\. link from host node0 to host node1 over vfposix/memory (strong|fair) evidence: '
is "and no other" "$(grep -c '^  [2-9]\.' "$tap_dir/report")" 0
contains "node0 points at node1" "$(verdict node0)" 'UCX-VERITY WARNING: .*\(0 in, [0-9]+ out\): host node1, or the link to it'
contains "node1 points at node0" "$(verdict node1)" 'UCX-VERITY WARNING: .*\([0-9]+ in, 0 out\): host node0, or the link to it'
for host in node2 node3; do is "$host is well" "$(verdict $host | tail -n 1)" "exit 0"; done
for host in $hosts; do is "link: $host is not drained" "$(verdict "$host" --nhc)" "exit 0"; done

done_testing
