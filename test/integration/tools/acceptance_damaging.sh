#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# `ucx-verity acceptance` of two hosts whose network damages data while nothing is injected: the runs that are meant to be clean get
# the corrupting transport here, by what stands in for the tool and for MPI's launcher.
. "${abs_top_srcdir:?}/test/integration/lib.sh"
. "$abs_top_srcdir/test/integration/mpi/two_hosts.sh"

hosts_up > "$tap_dir/hosts.log" 2>&1 || skip_all "no hosts of namespaces here: $(tail -n 1 "$tap_dir/hosts.log")"
tool=$build/ucx-verity
mkdir "$tap_dir/base" "$tap_dir/tmp" "$tap_dir/stock" "$tap_dir/tree"
ln -s "$build/modules/libuct_fault.so.0" "$tap_dir/stock"
cp "$tool" "$tap_dir/tree" && ln -s "$build/.libs" "$build/modules" "$tap_dir/tree"

# Where the file `damaged` names this run, tcp becomes the transport that flips bits.
cat > "$tap_dir/functions" << SH
damage() { # damage raw|clean|job.raw|job.clean
  grep -qx "\$1" "$tap_dir/damaged" || return 0
  if [[ \$1 = *raw ]]; then
    eval "\$("$tap_dir/tree/ucx-verity" env | grep LD_PRELOAD)"
    export $plugin_variable="$tap_dir/stock" UCX_TLS=ftcp,self
  else
    export $plugin_variable="$build/modules" UCX_TLS=vftcp,vself
  fi
  export UCX_VERITY_EXTRA_MODULES=fault UCX_FAULT_KINDS=flip UCX_FAULT_EVERY=10 UCX_FAULT_PLACE=payload
  export UCX_FAULT_HEADER_SIZE=128 UCX_FAULT_MIN_LEN=1k UCX_FAULT_AFTER=20
}
SH
cat > "$tap_dir/tool" << SH
#!/bin/bash
. "$tap_dir/functions"
case "\$1 \${UCX_VERITY_HEALTH_DIR-}" in
  "traffic "*/raw.tcp.health) damage raw ;;
  "traffic "*/clean.tcp.health) damage clean ;;
esac
exec "$tap_dir/tree/ucx-verity" "\$@"
SH
launcher=$tap_dir/launcher
[[ $openmpi != *.openmpi ]] || launcher+=.openmpi # the compiler's name ends as the launcher's does
cat > "$launcher" << SH
#!/bin/bash
. "$tap_dir/functions"
! grep -qx absent "$tap_dir/damaged" || { echo "no such host" >&2; exit 1; }
case \$UCX_TLS in
  tcp,self) damage job.raw ;;
  vtcp,vself) damage job.clean ;;
esac
words=()
for name in LD_PRELOAD \$(compgen -e | grep '^UCX_'); do [ -z "\${!name-}" ] || words+=(-x "\$name"); done
exec "$openmpi" -np 2 --host host-a,host-b "\${words[@]}" "\$@"
SH
chmod +x "$tap_dir/tool" "$launcher"
for host in a b; do on $host mount --bind "$tap_dir/tool" "$tool"; done

accept() { # accept RUN...: these are damaged
  printf '%s\n' "$@" > "$tap_dir/damaged"
  status=0
  report=$(env -i PATH="$PATH" HOME="$tap_dir" TMPDIR="$tap_dir/tmp" USER=jane LD_LIBRARY_PATH="${LD_LIBRARY_PATH:-}" UCX_NET_DEVICES=data \
    OMPI_MCA_plm_rsh_agent="$hosts_agent" PRTE_MCA_plm_ssh_agent="$hosts_agent" \
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
    "$tool" acceptance --quick --no-cost --launch "$hosts_agent" --directory "$tap_dir/base" --mpirun "$launcher" host-a host-b \
    2> "$tap_dir/progress") || status=$?
}
step_is() { contains "$1" "$report" "^  $2 +$3"; } # step_is NAME OUTCOME REGEX
damages='-> something between these hosts damages data'

accept raw job.clean
is "stock UCX delivers wrong bytes: exit status" "$status" 1
contains "stock UCX delivers wrong bytes: the verdict" "$report" '^FAILED: 1 step failed'
step_is "stock UCX delivers wrong bytes: a step says so" failed \
  "tcp, stock UCX, nothing injected: stock UCX delivered [1-9][0-9]* wrong bytes in [1-9][0-9]* of 400 messages $damages"
step_is "stock UCX delivers wrong bytes: the wrapper is tested, too" passed 'tcp, nothing injected: 400 messages, .* no fault$'
if [ -n "$openmpi" ]; then
  step_is "an MPI job is repaired: not called clean" warning "MPI job, nothing injected: all messages right, but ucx-verity: .* faults? found.* $damages"
  accept clean job.raw
  is "an MPI job on stock UCX gets wrong messages: exit status" "$status" 1
  step_is "an MPI job on stock UCX gets wrong messages: a step says so" failed "MPI job, stock UCX, nothing injected: [1-9][0-9]* messages wrong $damages"
  step_is "an MPI job on stock UCX gets wrong messages: the verified one runs" passed 'MPI job, nothing injected: all messages right and verified'
  step_is "messages are repaired: a warning" warning "tcp, nothing injected: 400 messages right, but [1-9][0-9]* faults were found and repaired $damages"
  accept absent
  is "a launcher that does not work: exit status" "$status" 0
  step_is "a launcher that does not work: its words" skipped "MPI job: '$launcher' does not run with stock UCX either: no such host -> see --mpirun"
else
  skip "MPI jobs" "no Open MPI"
fi
done_testing
