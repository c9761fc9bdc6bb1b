# SPDX-License-Identifier: BSD-3-Clause
#
# TAP for bash tests: source it, call the functions below, end with done_testing.
#   . "${abs_top_srcdir:?}/test/tap.sh"
# A temporary folder $tap_dir exists until the end of the script.
# shellcheck shell=bash

tap_count=0
tap_failed=0
tap_dir=$(mktemp -d)
trap 'rm -rf "$tap_dir"' EXIT

tap_result() { # tap_result STATUS NAME: a passed or failed test
  tap_count=$((tap_count + 1))
  if [ "$1" -eq 0 ]; then
    echo "ok $tap_count - $2"
  else
    tap_failed=$((tap_failed + 1))
    echo "not ok $tap_count - $2"
  fi
}

note() { printf '%s\n' "$*" | sed 's/^/# /'; }

ok() { # ok NAME COMMAND...: passes when the command does; shows its output when not
  local name=$1 output status=0
  shift
  output=$("$@" 2>&1) || status=$?
  tap_result "$status" "$name"
  [ "$status" -eq 0 ] || note "$(printf 'exit status %s of: %s\n%s' "$status" "$*" "$output" | tail -n 40)"
}

is() { # is NAME GOT WANTED
  local status=0
  [ "$2" = "$3" ] || status=1
  tap_result "$status" "$1"
  [ "$status" -eq 0 ] || note "$(printf 'got:    %s\nwanted: %s' "$2" "$3")"
}

contains() { # contains NAME TEXT EXTENDED-REGEX
  local status=0
  grep -Eq -- "$3" <<< "$2" || status=1
  tap_result "$status" "$1"
  [ "$status" -eq 0 ] || note "$(printf 'no match for: %s\nin:\n%s' "$3" "$2" | tail -n 40)"
}

lacks() { # lacks NAME TEXT EXTENDED-REGEX
  local status=0
  ! grep -Eq -- "$3" <<< "$2" || status=1
  tap_result "$status" "$1"
  [ "$status" -eq 0 ] || note "$(printf 'should not match: %s\nin:\n%s' "$3" "$2" | tail -n 40)"
}

skip() { # skip NAME REASON
  tap_count=$((tap_count + 1))
  echo "ok $tap_count - $1 # SKIP $2"
}

skip_all() { # skip_all REASON: the whole script
  echo "1..0 # SKIP $1"
  exit 0
}

# bare COMMAND...: with no variable of this shell but those that programs need.
bare() { env -i PATH="$PATH" HOME="$tap_dir" LD_LIBRARY_PATH="${LD_LIBRARY_PATH:-}" "$@"; }

# c_compiler ARGUMENT...: the configured one, which may have options or a launcher before it (CC='ccache gcc').
c_compiler() {
  local words
  read -ra words <<< "${CC:-cc}"
  "${words[@]}" "$@"
}

# Up to UCX 1.21 a preloaded library loads the plugin, and UCX_MODULE_DIR names its folder; from then on UCX_PLUGIN_PATH does
# both.
needs_preload() {
  case ${VERITY_UCX_VERSION-} in 1.1[0-9].* | 1.2[01].*) ;; *) return 1 ;; esac
}

# reads_ucx_conf FOLDER: whether UCX reads a ucx.conf there by UCX_CONFIG_DIR.
reads_ucx_conf() {
  echo UCX_TLS=none > "$1/ucx.conf" && bare UCX_CONFIG_DIR="$1" "${UCX_INFO:-ucx_info}" -c 2> /dev/null | grep -qx UCX_TLS=none
}

# The variable that lets Open MPI's launcher start more ranks than there are processors, from release 5
# on. Release 6 warns of the name that 5 has for it.
oversubscribe_variable() {
  case $({ mpirun.openmpi --version || mpirun --version; } 2> /dev/null) in
    *"(Open MPI) "[1-5].*) echo PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe ;;
    *) echo PRTE_MCA_mapby=:oversubscribe ;;
  esac
}

# The exit status speaks for the script, not for its tests: the harness counts another one as one
# more failure.
done_testing() {
  echo "1..$tap_count"
  [ "$tap_failed" -eq 0 ] || note "$tap_failed of $tap_count failed"
  times > "$tap_dir/times" # in a pipe it would be another process's
  note "took $SECONDS s, $(awk -F '[ms ]+' '{ sum += ($1 + $3) * 60 + $2 + $4 } END { printf "%.0f", sum }' "$tap_dir/times") s of a processor"
  exit 0
}
