#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# contrib/check-matrix where it cannot fetch a release: skipped with a line that says why, and a failure only where something
# else goes wrong. Nothing is built here.
. "${abs_top_srcdir:?}/test/tap.sh"
matrix=$abs_top_srcdir/contrib/check-matrix

# The programs that it calls, so that nothing is fetched.
mkdir "$tap_dir/bin"
cat > "$tap_dir/bin/apt-get" << 'S'
#!/bin/sh
echo "$MIRROR/debian Packages"
S
cat > "$tap_dir/bin/debootstrap" << 'S'
#!/bin/sh
echo "E: ${DEBOOTSTRAP_SAYS:-cannot unpack} $3"
[ -z "$MIRROR_ENDS" ] || rm -f "$MIRROR_ENDS"
exit 1
S
chmod +x "$tap_dir"/bin/*
run() { # run ARGUMENT...: sets $out and $status
  status=0
  out=$(PATH=$tap_dir/bin:$PATH timeout 60 "$matrix" --cache "$tap_dir/cache" "$@" 2>&1) || status=$?
}
last() { tail -n 1 <<< "$out"; }

# What CI asks for.
mkdir -p "$tap_dir/clone/.ci" "$tap_dir/clone/contrib"
cp "$abs_top_srcdir/.ci/run" "$tap_dir/clone/.ci/run"
printf '#!/bin/sh\necho "$# $*"\n' > "$tap_dir/clone/contrib/run-tests"
chmod +x "$tap_dir/clone/contrib/run-tests"
ci() { (unset VERITY_MATRIX; "$@" "$tap_dir/clone/.ci/run" --no-roce); }
is "CI: Debian 13, too" "$(ci env)" "5 --within 75 --matrix trixie --no-roce"
is "CI: or others" "$(ci env VERITY_MATRIX="trixie sid")" "5 --within 75 --matrix trixie sid --no-roce"
is "CI: or none" "$(ci env VERITY_MATRIX=)" "3 --within 75 --no-roce"

run --ucx "$tap_dir"
contains "--ucx: what is no source of UCX is named" "$status $out" "^1 .*$tap_dir is no source tree of UCX"
run --suites
contains "an option without its value is named" "$status $out" '^2 .*--suites needs a value'
run --suites trixie --tests nothing
contains "an unknown group of tests is named" "$status $out" '^[12] .*no group of tests and no test: nothing'

export MIRROR=http://127.0.0.1:9 MIRROR_ENDS=
run --suites "trixie sid"
if grep -q '^check-matrix: nothing was built or tested' <<< "$out"; then
  is "not possible here: no failure" "$status $(last)" "0 0 passed, 0 failed, 1 skipped"
  note "$out"
  done_testing
  exit
fi
is "no mirror: nothing failed" "$status $(last)" "0 0 passed, 0 failed, 2 skipped"
is "no mirror, --fetch: nothing failed" "$(PATH=$tap_dir/bin:$PATH "$matrix" --cache "$tap_dir/cache" --fetch --suites trixie > /dev/null 2>&1; echo $?)" 0
contains "no mirror: why, for each release" "$out" '^skipped: http://127.0.0.1:9/debian/dists/trixie/InRelease cannot be read'
contains "and in the table" "$out" '^sid +skipped: http'

missing=
for program in python3 wget; do command -v $program > /dev/null || missing="no $program"; done
[ "$(df -P --block-size=1M "$tap_dir" | awk 'NR == 2 { print $4 }')" -ge 3000 ] || missing="less than 3 GB are free"
[ -z "$missing" ] || { skip "a mirror that answers" "$missing"; done_testing; exit; }
mkdir -p "$tap_dir/mirror/debian/dists/trixie"
touch "$tap_dir/mirror/debian/dists/trixie/InRelease"
port=$((20000 + $$ % 12000))
(cd "$tap_dir/mirror" && exec python3 -m http.server --bind 127.0.0.1 "$port" > /dev/null 2>&1) &
server=$!
export MIRROR=http://127.0.0.1:$port
for _ in $(seq 100); do
  wget -q --spider --tries=1 "$MIRROR" 2> /dev/null && break
  sleep 0.1
done
run --suites trixie
is "what fails though the mirror answers is a failure" "$status $(last)" "1 0 passed, 1 failed, 0 skipped"
contains "with the end of its log" "$out" '^E: cannot unpack .*/trixie/root'
# Debian unstable's list of files is valid for a week.
contains "a mirror that lags behind will do" "$(cat "$tap_dir/cache/trixie/root/etc/apt/apt.conf.d/matrix")" '^Acquire::Check-Valid-Until "false";$'
run --fetch --suites trixie
is "--fetch: what it cannot make is left to the call that needs it" "$status $(last)" "0 not fetched: trixie "
ok "--fetch: and none of it stays" test ! -e "$tap_dir/cache/trixie/base"
DEBOOTSTRAP_SAYS="Couldn't download packages: base-files" run --suites trixie
is "what cannot be downloaded though the mirror answers: skipped" "$status $(last)" "0 0 passed, 0 failed, 1 skipped"
contains "and why" "$out" "^skipped: Couldn't download packages: base-files"
export MIRROR_ENDS=$tap_dir/mirror/debian/dists/trixie/InRelease
run --suites trixie
is "a mirror that goes meanwhile: skipped" "$status $(last)" "0 0 passed, 0 failed, 1 skipped"
kill "$server"
wait "$server" 2> /dev/null
done_testing
