#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# By OpenSSH, with an sshd on each of two hosts of namespaces that share no memory: `ucx-verity acceptance`, also when it is
# interrupted, and jobs with a module loaded on the first host alone. Keys and settings are in a home folder of their own.
. "${abs_top_srcdir:?}/test/integration/lib.sh"
for program in ssh ssh-keygen; do
  command -v $program > /dev/null || skip_all "no $program (Debian package: openssh-client)"
done
. "$abs_top_srcdir/test/integration/build/modules_lib.sh"
for system in lmod environment-modules; do fetch $system; done
# Not installed for this test: the package starts an sshd of the machine's.
sshd=$(PATH=$PATH:/usr/sbin:/sbin command -v sshd) || fetch openssh-server || skip_all "no sshd, and its package cannot be downloaded (Debian: openssh-server)"
. "$abs_top_srcdir/test/integration/mpi/two_hosts.sh"

if [ -z "$sshd" ]; then
  unpack openssh-server
  sshd=$tap_dir/openssh-server/usr/sbin/sshd
  ! ldd "$sshd" | grep -q 'not found' || skip_all "sshd lacks $(ldd "$sshd" | awk '/not found/ { print $1; exit }')"
fi

# The user of these namespaces, whose home ssh and sshd take from here; the hosts share it.
home=$tap_dir/home
mkdir -m 700 "$home" "$home/.ssh" "$tap_dir/sshd"
for file in passwd shadow; do
  awk -F: -v OFS=: -v home="$home" -v file=$file '$1 == "root" { $2 = "*"; if (file == "passwd") { $6 = home; $7 = "/bin/bash" } } $1 != "sshd" { print }' \
    /etc/$file > "$tap_dir/sshd/$file"
  [ $file = shadow ] || echo "sshd:x:65533:65534::/run/sshd:/usr/sbin/nologin" >> "$tap_dir/sshd/$file" # of privilege separation
  mount --bind "$tap_dir/sshd/$file" /etc/$file
done
mount -t tmpfs run /run && mkdir /run/sshd # of privilege separation
hosts_up > "$tap_dir/hosts.log" 2>&1 || skip_all "no hosts of namespaces here: $(tail -n 1 "$tap_dir/hosts.log")"
ssh-keygen -q -t ed25519 -N '' -f "$home/.ssh/id_ed25519"
cp "$home/.ssh/id_ed25519.pub" "$home/.ssh/authorized_keys"
echo 'Use of this system is for users of the site alone. All errors are recorded.' > "$tap_dir/sshd/banner"
for host in a b; do
  ssh-keygen -q -t ed25519 -N '' -C "host-$host" -f "$tap_dir/sshd/$host.key"
  echo "host-$host $(cut -d ' ' -f 1,2 "$tap_dir/sshd/$host.key.pub")" >> "$home/.ssh/known_hosts"
  printf '%s\n' "HostKey $tap_dir/sshd/$host.key" "PidFile none" "UsePAM no" "PasswordAuthentication no" "PermitRootLogin prohibit-password" \
    "Banner $tap_dir/sshd/banner" > "$tap_dir/sshd/$host.conf"
  entry_to $host
  "${entry[@]}" "$sshd" -D -e -f "$tap_dir/sshd/$host.conf" > "$tap_dir/sshd/$host.log" 2>&1 &
  for _ in $(seq 500); do ! on $host grep -qs ':0016 [0-9A-F:]* 0A ' /proc/net/tcp || break; sleep 0.02; done
done
login=(env -i PATH="$base_path" ssh -o BatchMode=yes)
on a "${login[@]}" host-b true > "$tap_dir/login" 2>&1 || skip_all "no login by ssh here: $(tail -n 1 "$tap_dir/login") $(tail -n 1 "$tap_dir/sshd/b.log")"

mkdir "$tap_dir/base" "$tap_dir/tmp"
tool=$build/ucx-verity
# The shell of a user on host-a who has loaded nothing.
user=(env -i PATH="$PATH" HOME="$home" TMPDIR="$tap_dir/tmp" USER=root LD_LIBRARY_PATH="${LD_LIBRARY_PATH:-}" UCX_NET_DEVICES=data
  OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1)
no_trace() { # no_trace NAME
  is "$1: nothing is left on the hosts" "$(ls -A "$tap_dir/base"; ls -A "$tap_dir/tmp"; for host in a b; do on $host ls /dev/shm; done)" ""
  is "$1: and no process" "$(grep -lsa "VERITY_ACCEPTANCE=$tap_dir/" /proc/[0-9]*/environ; pgrep -af "$tap_dir/base/|(^|/)ssh .*host-")" ""
}

# ---- acceptance -----------------------------------------------------------------------------------
status=0
report=$(on a "${user[@]}" "$tool" acceptance --quick --directory "$tap_dir/base" host-a host-b 2> "$tap_dir/progress") || status=$?
is "exit status" "$status" 0
contains "the hosts are reached by ssh" "$(cat "$tap_dir/progress")" \
  "^ucx-verity acceptance: host-a and host-b, by 'ssh -o BatchMode=yes -o ConnectTimeout=15'"
contains "the verdict" "$report" '^PASSED: [0-9]+ steps passed'
step_is() { contains "$1" "$report" "^  $2 +$3"; } # step_is NAME OUTCOME REGEX
step_is "messages between them" passed 'tcp, nothing injected: 400 messages, [0-9]+ bytes right, [0-9]+ frames verified, no fault'
step_is "damage is repaired, and not by stock UCX" passed \
  'tcp: [1-9][0-9]* frames damaged, [1-9][0-9]* found and repaired, no message wrong; stock UCX delivered [1-9][0-9]* of 400 messages wrong'
step_is "the cost is measured" passed 'tcp: measured'
if [ -n "$openmpi" ]; then
  step_is "an MPI job" passed 'MPI job, damage on the way: all messages right; stock UCX delivered [1-9]'
else
  skip "an MPI job" "no Open MPI"
fi
lacks "a login's banner is no result" "$report" 'for users of the site'
no_trace "acceptance"

# ---- interrupted ----------------------------------------------------------------------------------
# In a session of its own, whose processes all get the signal as from a terminal: while the first command on host-b, whose login is
# slow once, is about to make a folder there, while messages travel, and while a command substitution waits for an answer.
reaching() { [ -e "$home/was-slow" ]; }
exchanging() { pgrep -f 'traffic second ' > "$tap_dir/found"; }
answering() { pgrep -f "node seen damaged" > "$tap_dir/found"; }
echo '[ "$(uname -n)" != host-b ] || ! mv ~/slow ~/was-slow 2> /dev/null || sleep 2' > "$home/.ssh/rc"
: > "$home/slow"
for moment in reaching exchanging answering; do
  : > "$tap_dir/progress"
  on a "${user[0]}" --default-signal=INT "${user[@]:1}" setsid "$tool" acceptance --directory "$tap_dir/base" host-a host-b \
    > /dev/null 2> "$tap_dir/progress" &
  job=$!
  for _ in $(seq 3000); do if $moment || ! kill -0 $job 2> /dev/null; then break; fi; sleep 0.02; done
  kill -INT -- "-$(pgrep -oxf "$tool acceptance .*")" # the oldest one leads the session
  wait $job
  is "SIGINT while $moment: exit status" $? 130
  contains "SIGINT while $moment: a line says so, after no other" "$(tail -n 1 "$tap_dir/progress")" '^ucx-verity acceptance: interrupted; cleaning up'
  no_trace "SIGINT while $moment"
done

# ---- jobs -----------------------------------------------------------------------------------------
# On host-a, by ssh, as a user would: load the module, and run an unmodified program without any option for the plugin.
install_into "$prefix" || { skip "jobs" "cannot install: $(tail -n 1 "$tap_dir/install.log")"; done_testing; exit; }
job() { # job NAME MODULEPATH INIT-SCRIPTS LAUNCHER ARGUMENT...
  rm -f "$tap_dir"/{attest,job}
  on a "${login[@]}" host-a bash > "$tap_dir/session" 2>&1 << SH
. '$3/bash'
module use '$2'
module load ucx-verity
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
timeout -k 5 100 ${*:4} env UCX_VERITY_ATTEST_FILE=$tap_dir/attest '$(mpi_program "$4" hello_integrity)' 50 100000 > $tap_dir/job 2>&1 < /dev/null
SH
  contains "$1: the program is right" "$(cat "$tap_dir/session" "$tap_dir/job")" ' 0 messages wrong'
  is "$1: the ranks of both hosts verified messages, and none went past the plugin" \
    "$(grep -s '"raw_lanes":\[\],"mpi_components":\[\]' "$tap_dir/attest" | grep '"frames_verified":[1-9]' |
      sed 's/.*"host":"\([^"]*\)".*/\1/' | sort | paste -sd' ')" "host-a host-b"
}
jobs_of() { # jobs_of NAME MODULEPATH INIT-SCRIPTS
  [ -z "$openmpi" ] || job "$1, Open MPI" "$2" "$3" "$openmpi" -np 2 --host host-a,host-b
  [ -z "$mpich" ] || job "$1, MPICH" "$2" "$3" "$mpich" -n 2 -hosts host-a,host-b
}
if [ -n "$openmpi$mpich" ]; then
  module_systems jobs_of
else
  skip "jobs" "no Open MPI and no MPICH on UCX"
fi
done_testing
