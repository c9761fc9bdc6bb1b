#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# What runs in a root folder (test/matrix/in-root, of contrib/check-matrix) leaves nothing on the machine, however it ends.
. "${abs_top_srcdir:?}/test/tap.sh"
in_root=$abs_top_srcdir/test/matrix/in-root

# A root folder with this machine's programs.
root=$tap_dir/root
mkdir -p "$root"/{proc,sys,dev,tmp,run,mnt,etc,usr}
for folder in bin sbin lib lib64; do [ ! -L /$folder ] || ln -s usr/$folder "$root/$folder"; done
inside() { bash "$in_root" "${options[@]}" --bind /usr:/usr "$root" "$@"; }
options=()
inside true 2> "$tap_dir/reason"
[ $? -ne 77 ] || skip_all "$(tail -n 1 "$tap_dir/reason")"
[ -e "$root/bin/sh" ] || [ -L "$root/bin" ] || skip_all "this machine's programs are not all in /usr"
mounts() { grep -c "$root" /proc/mounts; }
segments() { ipcs -m | grep -c '^0x'; }

before=$(segments)
is "the command's output and exit status" "$(inside sh -c 'echo said; exit 3'; echo $?)" $'said\n3'
is "has /proc, /sys and /dev" "$(inside sh -c 'test -d /proc/self && test -d /sys/kernel && test -c /dev/null && echo yes')" yes
is "sees its own processes alone" "$(inside sh -c 'ls -d /proc/[0-9]* | wc -l')" 3
inside sh -c 'for folder in /tmp /dev/shm /run; do : > $folder/verity-in-root; done; ipcmk -M 4096 > /dev/null'
is "leaves no file in /tmp, /dev/shm and /run" "$(ls /tmp/verity-in-root /dev/shm/verity-in-root /run/verity-in-root "$root"/{tmp,dev,run}/* 2> /dev/null)" ""
is "no shared memory" "$(segments)" "$before"
is "no mount" "$(mounts)" 0
inside sh -c ': > /etc/kept'
ok "files of the root folder stay" [ -e "$root/etc/kept" ]
mkdir "$tap_dir/bound"
options=(--bind "$tap_dir/bound:/some/where")
inside sh -c ': > /some/where/file'
ok "a folder that is bound is the machine's" [ -e "$tap_dir/bound/file" ]
options=(--throw-away)
inside sh -c ': > /etc/thrown && rm /etc/kept'
is "--throw-away: the root folder is as before" "$(ls "$root/etc")" $'hosts\nkept\nresolv.conf'
is "and still no mount" "$(mounts)" 0

# By the seconds that they sleep they are known.
options=()
seconds=$((100000 + $$))
sleepers() { pgrep -cf "^sleep $seconds"; }
wait_for() { # wait_for COUNT: sleepers, ten seconds at most
  local tries=0
  until [ "$(sleepers)" -eq "$1" ] || [ $tries -gt 100 ]; do
    sleep 0.1
    tries=$((tries + 1))
  done
  sleepers
}
for signal in TERM HUP KILL; do
  bash "$in_root" --bind /usr:/usr "$root" sh -c "setsid sleep $seconds & sleep $seconds" 2> /dev/null &
  pid=$!
  is "two processes run" "$(wait_for 2)" 2
  kill -$signal "$pid"
  wait "$pid" 2> /dev/null
  is "none after signal $signal" "$(wait_for 0)" 0
  is "no mount after signal $signal" "$(mounts)" 0
done
done_testing
