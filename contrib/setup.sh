# SPDX-License-Identifier: BSD-3-Clause
#
# What contrib/quickstart, contrib/run-tests and contrib/check-matrix share: their help, progress lines, packages,
# a build in a folder of the clone that git ignores. Sourced by bash with $top set to the clone.
# shellcheck shell=bash

show_help() { # show_help SCRIPT: the comment at its begin, from the fourth line on
  awk 'NR >= 4 { if (!sub(/^# ?/, "")) exit; print }' "$1"
}

# shellcheck disable=SC2034 # used by the scripts that source this
build_packages=(
  autoconf automake libtool make pkg-config g++
  libucx-dev ucx-utils libxxhash-dev nlohmann-json3-dev libcli11-dev libopenmpi-dev openmpi-bin
  libdw-dev # call sites by file and line in reports about datatypes
)
# For the datatype checks of MPICH as well, and for verity-types automap.
interposer_packages=(mpich libmpich-dev libclang-dev)
# Unit tests and jobs.
# shellcheck disable=SC2034
job_packages=(libgtest-dev "${interposer_packages[@]}" gfortran procps python3)
# contrib/build-package.
# shellcheck disable=SC2034
deb_packages=(debhelper dpkg-dev)
# shellcheck disable=SC2034
rpm_packages=(rpm)
# shellcheck disable=SC2034
test_packages=(
  dpkg-dev ca-certificates xz-utils # contrib/get-ucx-source
  "${job_packages[@]}" clang clang-format libclang-rt-dev cmake valgrind
  # What the distribution's lmod and environment-modules need; they themselves conflict, so the
  # tests unpack them into a temporary folder.
  lua5.3 lua-filesystem lua-json lua-posix lua-term tcl less
  # Shells that modules are loaded from, beside bash.
  zsh tcsh fish
  # The manual pages.
  man-db mandoc
  # src/merkle for another architecture.
  g++-aarch64-linux-gnu qemu-user googletest
  # Network namespaces with a link between them, and logins from one to the other.
  iproute2 openssh-client libwrap0
  # contrib/packages.
  "${deb_packages[@]}" lintian "${rpm_packages[@]}"
  # What autolink is compared with.
  libboost-serialization-dev
)
# Without these their tests are skipped.
# shellcheck disable=SC2034
monitoring_packages=(prometheus prometheus-node-exporter slurmctld slurmd slurm-client munge chromium)
# shellcheck disable=SC2034
roce_packages=(qemu-system-x86 seabios ipxe-qemu debootstrap e2fsprogs openssh-client)

list_packages() { # as contrib/run-tests --list-packages prints them
  echo "to build:                ${build_packages[*]}"
  echo "for the tests:           ${test_packages[*]}"
  echo "for tests of monitoring: ${monitoring_packages[*]}"
  echo "for tests over RoCE:     ${roce_packages[*]}"
}

jobs=${JOBS:-$(nproc)} # how many processes make starts

step_count=0
step_times=()
step() { # step TEXT: one line of progress
  [ "$step_count" -eq 0 ] || step_times+=("$step_text: $((SECONDS - step_begun))s")
  step_count=$((step_count + 1)) step_text=$* step_begun=$SECONDS
  printf '\n==> %s. %s  (%dm%02ds)\n' "$step_count" "$*" $((SECONDS / 60)) $((SECONDS % 60))
}
show_step_times() { # how long each step took that another followed
  local IFS=';'
  echo "times: ${step_times[*]}" | sed 's/;/; /g'
}
die() {
  echo "$(basename "$0"): $*" >&2
  exit 1
}

# Runs a command with its output in a log file; the end of the log is shown when it fails.
logged() { # logged LOG COMMAND...
  local log=$1
  shift
  if ! "$@" > "$log" 2>&1; then
    tail -n 60 "$log"
    die "failed: $* (all of it in $log)"
  fi
}

as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  elif command -v sudo > /dev/null; then
    sudo "$@"
  else
    die "needs root or sudo for: $*"
  fi
}

debian_mirror() { # the one that this host's apt uses
  # shellcheck disable=SC2016 # apt's own variables
  apt-get indextargets --format '$(REPO_URI) $(CREATED_BY)' |
    awk '$2 == "Packages" && $1 ~ /\/debian\/?$/ && !found++ { sub("/$", "", $1); print $1 }'
}

apt_read=no # whether the lists of packages have been read again
install_packages() { # install_packages PACKAGE...: those that are not there yet
  local package missing=()
  command -v apt-get > /dev/null || die "apt-get not found: this script is for Debian and its kin"
  for package in "$@"; do
    # shellcheck disable=SC2016 # dpkg-query's own variable
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2> /dev/null)" = installed ] ||
      missing+=("$package")
  done
  [ "${#missing[@]}" -gt 0 ] || { echo "all $# packages are there"; return; }
  echo "installing: ${missing[*]}"
  [ "$apt_read" = yes ] || as_root env DEBIAN_FRONTEND=noninteractive apt-get -q update > "$work/apt.log" 2>&1 || true
  apt_read=yes
  logged "$work/apt.log" as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get -q -y --no-install-recommends install "${missing[@]}"
}

bootstrap() {
  logged "$work/autoreconf.log" sh -c "cd '$top' && autoreconf -fi"
}

configured() { # configured DIR CONFIGURE-ARGUMENT...: configures when the arguments or configure changed
  local dir=$1 stamp
  shift
  mkdir -p "$dir"
  stamp="$* $(cksum < "$top/configure")"
  if [ ! -f "$dir/Makefile" ] || [ "$(cat "$dir/.configured" 2> /dev/null)" != "$stamp" ]; then
    echo "configuring in $dir"
    (cd "$dir" && logged "$dir/configure.out" "$top/configure" "$@") || exit 1
    echo "$stamp" > "$dir/.configured"
  fi
}

build() { # build DIR CONFIGURE-ARGUMENT...: configures when needed, then makes
  local dir=$1
  configured "$@"
  echo "making with $jobs processes: some minutes; its output goes to $dir/make.out"
  logged "$dir/make.out" make -C "$dir" -j"$jobs"
}
