#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# What users can do with their health files to the node that they run on: nothing but a warning that names them. Real files of a job,
# changed and moved as a user could; daemon and bin stand for two ordinary users.
. "${abs_top_srcdir:?}/test/integration/lib.sh"
[ -n "$openmpi" ] || skip_all "no Open MPI"
[ "$(id -u)" -eq 0 ] || skip_all "only root reads the files of others"
for program in python3 setpriv; do command -v $program > /dev/null || skip_all "$program is not installed"; done
tool=$build/ucx-verity
[ -x "$tool" ] || skip_all "the command is not built"
[ "$(id -u daemon 2> /dev/null) $(id -u bin 2> /dev/null)" = "1 2" ] || skip_all "no users daemon and bin to stand for others"
nobody_has=100000
! getent passwd $nobody_has > /dev/null || skip_all "user $nobody_has has an account"

chmod 755 "$tap_dir"
mkdir "$tap_dir/made"
(UCX_VERITY_HEALTH_DIR=$tap_dir/made mpi_run 100 "$openmpi" 2 vposix,vself hello_integrity 50 1000) > "$tap_dir/job"
contains "a job that is right" "$(cat "$tap_dir/job")" ' 0 messages wrong'
made=("$tap_dir/made"/*.health)
is "left two files" "${#made[@]}" 2

# forge FILE [CHANGE...]: a copy of a real file; FIELD=NUMBER of the header, faults=NUMBER in what came from three hosts, all=NUMBER.
cat > "$tap_dir/forge.py" << 'PY'
import os, struct, sys
source, target, *changes = sys.argv[1:]
data = bytearray(open(source, "rb").read())
counters, name_size, names_at, rows_at, row_size, counters_at, rows = struct.unpack_from("<7I", data, 16)
names = [bytes(data[names_at + i * name_size:][:name_size]).split(b"\0")[0].decode() for i in range(counters)]
fields = {"row_count": ("<I", 40), "state": ("<I", 44), "pid": ("<Q", 48), "start_ticks": ("<Q", 56), "created": ("<Q", 64), "ended": ("<Q", 72), "uid": ("<I", 80)}
assert names[0] == "frames_sent" and struct.unpack_from("<Q", data, 48)[0] == int(os.path.basename(source).split("-")[0])
changes = dict(change.split("=", 1) for change in changes)
if "created" not in changes:  # a process of its own
    struct.pack_into("<Q", data, 64, struct.unpack_from("<Q", data, 64)[0] + int.from_bytes(os.urandom(3), "little"))
for name, value in changes.items():
    if name in fields:
        struct.pack_into(fields[name][0], data, fields[name][1], int(value))
    elif name == "boot":
        data[312:352] = value.encode().ljust(40, b"\0")
    elif name == "host":
        data[96:160] = value.encode().ljust(64, b"\0")
    elif name in ("faults", "all"):
        row = bytearray(data[rows_at + row_size:][:row_size])
        struct.pack_into("<II", row, 0, 3, 0)
        row[16:40] = b"vrc_mlx5".ljust(24, b"\0")
        row[40:72] = b"mlx5_0:1".ljust(32, b"\0")
        for i in range(counters):
            if name == "all" or names[i] in ("faults_payload", "bytes_verified", "segments_repaired"):
                struct.pack_into("<Q", row, counters_at + 8 * i, int(value))
        for host in range(3):
            row[88:128] = ("node%d" % host).encode().ljust(40, b"\0")
            at = rows_at + (rows + host) * row_size
            data[at:at + row_size] = row
        struct.pack_into("<I", data, 40, rows + 3)
open(target, "wb").write(data)
PY
forge() { python3 "$tap_dir/forge.py" "${made[0]}" "$@"; }
# place USER NAME [CHANGE...]: such a file in that user's folder.
place() {
  local user=$1 name=$2
  shift 2
  mkdir -p "$tap_dir/$user"
  forge "$tap_dir/$user/$name" "$@" && chown "$user:" "$tap_dir/$user" "$tap_dir/$user/$name" 2> /dev/null || chown "$user" "$tap_dir/$user" "$tap_dir/$user/$name"
}
fresh() { rm -rf "$tap_dir/root" "$tap_dir/daemon" "$tap_dir/bin" "${tap_dir:?}/$nobody_has" "$tap_dir/ledger"*; mkdir "$tap_dir/root"; place root 1-clean.health; }
folders() { local folder; for folder in root daemon bin $nobody_has; do [ ! -e "$tap_dir/$folder" ] || printf -- '--directory\n%s\n' "$tap_dir/$folder"; done; }
# shellcheck disable=SC2046 # options
check() { within 60 "$tool" check --ledger "$tap_dir/ledger" $(folders) "$@" 2>&1; echo "exit $?"; }
# shellcheck disable=SC2046
status_of_export() { within 100 "$tool" export --ledger "$tap_dir/ledger" --keep 0 $(folders) 2> "$tap_dir/complaints" | sed -n 's/^ucx_verity_check_status //p'; }

fresh
contains "clean files: OK" "$(check)" '^UCX-VERITY OK: .* no faults$'
place root 2-guilty.health faults=20
contains "what root's processes saw is believed" "$(check)" '^UCX-VERITY CRITICAL: 60 faults \(60 in, 0 out\) with 3 of 3 hosts: device mlx5_0:1$'

# ---- one user, two users --------------------------------------------------------------------------------------------------------
fresh
place daemon 2-guilty.health faults=20
output=$(check)
contains "one user's word: a warning that names the user" "$output" \
  '^UCX-VERITY WARNING: 60 faults .* with 3 of 3 hosts: device mlx5_0:1; only files of user 1 \(daemon\) show it, so it is no more than a warning'
is "with 1" "$(tail -n 1 <<< "$output")" "exit 1"
for form in --nhc --slurm; do is "$form drains no node for it" "$(check $form)" "exit 0"; done
contains "a user whom the site trusts" "$(check --trust daemon)" '^UCX-VERITY CRITICAL: '
echo 'trust = bin, daemon # the site'"'"'s own' > "$tap_dir/check.conf"
contains "by the site's file" "$(check --config "$tap_dir/check.conf")" '^UCX-VERITY CRITICAL: '
contains "or all users" "$(check --trust all)" '^UCX-VERITY CRITICAL: '
contains "no such user" "$(check --trust nowhere)" '^UCX-VERITY UNKNOWN: not checked: .*no such user'
place $nobody_has 2-guilty.health faults=20
contains "a number without an account is no second user" "$(check)" '^UCX-VERITY WARNING: 120 faults .*user 1 \(daemon\)'
place bin 2-guilty.health faults=20
contains "two users are" "$(check)" '^UCX-VERITY CRITICAL: '
is "the exporter says the same" "$(status_of_export)" 2
is "and took their files" "$(find "$tap_dir/daemon" "$tap_dir/bin" -name '*.health' | wc -l)" 0
contains "whose users the ledger knows" "$(check)" '^UCX-VERITY CRITICAL: '
fresh
place daemon 2-guilty.health faults=20
is "one user: the exporter warns" "$(status_of_export)" 1
for _ in 1 2 3; do place daemon "$RANDOM-again.health" faults=20; is "again and again" "$(status_of_export)" 1; done

# ---- a folder that several hosts share -------------------------------------------------------------------------------------------
fresh; place root 2-x.health faults=20 boot=another host=elsewhere
place root 3-x.health faults=20 state=2 "ended=$((($(date +%s) - 60) * 1000000000))" boot=another host=elsewhere
contains "faults of another host are not this one's" "$(check)" '^UCX-VERITY OK: .*no faults'
is "  nor are they for the exporter" "$(status_of_export)" 0
is "  which leaves them to that host" "$(cd "$tap_dir/root" && echo [23]-x.health)" "2-x.health 3-x.health"
fresh; place daemon 2-x.health faults=20 boot=another host=elsewhere
contains "a user's job there casts no doubt here" "$(check)" '^UCX-VERITY OK: .*no faults$'
fresh; place root 2-x.health faults=20 boot=another
contains "those of before this one started are" "$(check)" '^UCX-VERITY CRITICAL: '

# ---- files that cannot be true --------------------------------------------------------------------------------------------------
ended() { echo $((($(date +%s) - $1) * 1000000000)); } # ended SECONDS-AGO
guilty=$tap_dir/guilty.health
forge "$guilty" faults=20
# attempt NAME WANTED: what lies in daemon's folder leads at most to a warning, and the line says that.
attempt() {
  local name=$1 wanted=$2 output
  output=$(check)
  contains "$name: no more than a warning" "$(tail -n 1 <<< "$output")" '^exit [01]$'
  contains "$name: the line" "$output" "$wanted"
  is "$name: one line" "$(wc -l <<< "$output")" 2
  is "$name: drains no node" "$(check --nhc)" "exit 0"
  is "$name: the exporter says the same" "$(status_of_export)" "$(sed -n 's/^exit //p' <<< "$output")"
  lacks "$name: nothing in it acts on a terminal" "$(check; cat "$tap_dir/complaints")" $'\e|\a'
}
not_believed='^UCX-VERITY WARNING: .*1 health file not believed, such as [^ ]+ of user 1 \(daemon\): '
fresh; place daemon 2-x.health faults=20 "boot=00000000-0000-0000-0000-000000000000"
attempt "a file of another boot" "${not_believed}it is of another boot"
fresh; place daemon 2-x.health faults=20 state=2 "ended=$(ended 7200)"
if [ "$(stat -c %W "$tap_dir/daemon/2-x.health")" != 0 ]; then
  attempt "a file of an hour ago, copied" "${not_believed}its process ended before the file was made: a copy"
else
  skip "a file of an hour ago, copied" "this file system does not say when a file was made"
fi
fresh; place daemon 2-x.health faults=20 created=5; place daemon 3-x.health faults=20 created=5
attempt "one process twice" "${not_believed}another file is of the same process: a copy"
# A file that bin copied of daemon's, in the folder that is read first, counts less than daemon's own.
fresh; place bin 2-x.health created=5 uid=1; place daemon 2-x.health faults=20 created=5 uid=1; place daemon 3-x.health uid=1
contains "a copy beside the file that it is of" "$(check)" \
  '^UCX-VERITY WARNING: 60 faults .*1 health file not believed, such as [^ ]+ of user 2 \(bin\): another file is of the same process: a copy'
for number in 18446744073709551615 9223372036854775808 100000000000000000; do
  fresh; place daemon 2-x.health "all=$number"
  attempt "counters of $number" "${not_believed}[a-z_]+ is more than this host can have done since it was booted"
done
fresh; place daemon 2-x.health faults=20; cp -p "$tap_dir/daemon/2-x.health" "$tap_dir/x"; rm -r "$tap_dir/daemon"; place bin 3-x.health
cp -p "$tap_dir/x" "$tap_dir/bin/2-x.health"
attempt "a file in another user's folder" "${not_believed}its folder belongs to user 2"
fresh; place daemon 2-x.health faults=20; chmod 777 "$tap_dir/daemon"
attempt "a folder where anyone may replace files" "${not_believed}anyone may replace files in its folder"
fresh; place daemon 2-x.health faults=20 state=1 pid=1 "start_ticks=$(awk '{ print $22 }' /proc/1/stat)"
attempt "a process of root's" 'only files of user 1 \(daemon\) show it'
is "which does not run as that user" "$("$tool" status --json "$tap_dir/daemon" | grep -c '"state": "running"')" 0
fresh; place daemon 2-x.health faults=20; (cd "$tap_dir/daemon" && mv 2-x.health $'2\nUCX-VERITY CRITICAL: \e[31mx.health' && cp -p -- *.health 3.health)
attempt "a name with a line and colours" '^UCX-VERITY WARNING: .*1 health file not believed, such as .+ of user 1 \(daemon\): '
lacks "nor does status" "$("$tool" status "$tap_dir/daemon"; touch "$tap_dir/daemon/"$'\e[31mx.health'; "$tool" status "$tap_dir/daemon")" $'\e'
mkdir "$tap_dir/elsewhere"
for trick in symlink hardlink fifo sparse directory socket; do
  fresh; mkdir "$tap_dir/daemon"; chown daemon "$tap_dir/daemon"
  (
    cd "$tap_dir/daemon" || exit
    case $trick in
      symlink) ln -s "$guilty" 2-x.health ;;
      hardlink) ln "$guilty" 2-x.health ;;
      fifo) mkfifo 2-x.health ;;
      sparse) cp "$guilty" 2-x.health && truncate -s 100G 2-x.health && chown daemon 2-x.health ;;
      directory) mkdir 2-x.health ;;
      socket) python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("2-x.health")' ;;
    esac
  )
  attempt "$trick" '^UCX-VERITY OK: .*1 health file cannot be read, such as '
done
fresh; mkdir "$tap_dir/daemon"; ln -s "$tap_dir/elsewhere" "$tap_dir/daemon/2-x.health"
attempt "a link to a folder" '^UCX-VERITY OK: '

# A crowd of files hides nothing of what others saw.
fresh; place root 2-guilty.health faults=20; mkdir "$tap_dir/daemon"
(cd "$tap_dir/daemon" && seq -f '%g-y.health' 5 30000 | xargs touch)
contains "30,000 files of one user" "$(check)" '^UCX-VERITY CRITICAL: 60 faults .*examined only a part of [^ ]+/daemon: [0-9]+ of more than [0-9]+ files'
contains "Slurm's log says so, too" "$(check --slurm --drain-on never)" '^ucx-verity check: examined only a part of [^ ]+/daemon: [0-9]+ of '
rm -rf "$tap_dir/daemon"

# One folder by two names counts once.
fresh; place root 2-guilty.health faults=20
ln -s "$tap_dir/root" "$tap_dir/link"
contains "a folder that is named twice" "$(check --directory "$tap_dir/root/" --directory "$tap_dir/link")" '^UCX-VERITY CRITICAL: 60 faults '
is "nor does it grow the counters" "$("$tool" export --ledger "$tap_dir/ledger" --keep 0 --directory "$tap_dir/root" --directory "$tap_dir/root/" \
  | sed -n 's/^ucx_verity_faults_payload_total{transport="vrc_mlx5",device="mlx5_0:1"} //p')" 60
fresh; place root 2-guilty.health faults=20

# Nor does one that is read-only, where files stay when they are counted, and that has another name in the next run.
# shellcheck disable=SC2016 # for the inner shell
if unshare -m true 2> /dev/null; then
  output=$(unshare -m bash -c 'mkdir "$1/first" "$1/second" && for name in first second; do
      mount --bind "$1/root" "$1/$name" && mount -o remount,bind,ro "$1/$name" || exit; done; ln -s first "$1/third"
    for name in first second third second; do "$2" export --ledger "$1/ledger2" --keep 0 --directory "$1/$name"; done' - "$tap_dir" "$tool" 2>&1)
  is "nor by other names of a read-only folder" \
    "$(sed -n 's/^ucx_verity_faults_payload_total{transport="vrc_mlx5",device="mlx5_0:1"} //p' <<< "$output" | xargs)" "60 60 60 60"
else
  skip "nor by other names of a read-only folder" "no mount namespaces here"
fi

# Who makes a folder of another one's name.
# shellcheck disable=SC2016 # for the inner shell
if unshare -m true 2> /dev/null; then
  output=$(unshare -m bash -c 'mount -t tmpfs none /dev/shm && cd /dev/shm && mkdir -m 755 ucx-verity-0 ucx-verity-2 ucx-verity-mine ucx-verity-1 &&
    cp "$2" ucx-verity-0/2-x.health && cp "$2" ucx-verity-2/3-x.health && cp "$2" ucx-verity-mine/4-x.health && chown -R daemon ucx-verity-* &&
    "$1" check --ledger /dev/shm/none; cp -p ucx-verity-0/2-x.health ucx-verity-1; "$1" check --ledger /dev/shm/none' - "$tool" "$guilty" 2>&1)
  is "folders called after others are not looked into" "$(head -n 1 <<< "$output")" "UCX-VERITY OK: nothing verified in the last 24 h"
  contains "one's own is" "$(tail -n 1 <<< "$output")" '^UCX-VERITY WARNING: .*user 1 \(daemon\)'
  # As UCX_VERITY_HEALTH_DIR in the site's policy, with a slash at its end.
  output=$(unshare -m bash -c 'mount -t tmpfs none /dev/shm && cd /dev/shm && mkdir -m 1777 ucx-verity && cp "$2" ucx-verity/2-x.health &&
    export UCX_VERITY_HEALTH_DIR=/dev/shm/ucx-verity/ && "$1" check --ledger /dev/shm/none; "$1" status --brief' - "$tool" "$guilty" 2>&1)
  contains "the site's folder counts once" "$(head -n 1 <<< "$output")" '^UCX-VERITY CRITICAL: 60 faults '
  contains "and is shown once" "$output" '^[^ ]+: 1 process, 1 ended$'
else
  skip "folders called after others" "no mount namespaces here"
fi

# A container's root, who is another user outside: the files are that user's, and in the way of neither root nor another container.
# shellcheck disable=SC2016 # for the inner shell
if [ -x "$build/uct_am" ] &&
  unshare -m setpriv --reuid=1 --regid=1 --clear-groups unshare -Ur test -r "$build/modules/libuct_verity.so.0"; then
  output=$(unshare -m bash -c 'mount -t tmpfs -o mode=1777 none /dev/shm && cd / && . "$1/test/integration/lib.sh"
    export UCX_VERITY_HEALTH_DIR=
    job() { with_tls vself within 100 "$@" "$build/uct_am" -r 10 -c mixed vself 2>&1 | grep "no health file"; }
    for user in 1 2; do job setpriv --reuid=$user --regid=$user --clear-groups unshare -Ur; done
    job env
    "$build/ucx-verity" status --brief | head -n 1; cd /dev/shm && stat -c "%n %u" *' - "$abs_top_srcdir" 2>&1)
  is "a container's root has files of its own outside" "$(sed '1s/^[^ ]*: \(3 processes\).*/\1/' <<< "$output")" "3 processes
ucx-verity-0 0
ucx-verity-1 1
ucx-verity-2 2"
else
  skip "a container's root" "no user namespaces here, no uct_am, or a build that others may not read"
fi
done_testing
