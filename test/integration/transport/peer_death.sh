#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# A peer killed in the middle: the survivor learns of it from UCX, or ends with one line.
. "${abs_top_srcdir:?}/test/integration/lib.sh"

export UCX_KEEPALIVE_INTERVAL=1s
death() { # death LIST ARGUMENT...: output and exit status
  local list=$1
  shift
  with_tls "$list" within 90 "$build/peer_death" "$@" 2>&1
  echo "exit status $?"
}

for list in tcp vtcp vftcp; do
  case $list in vf*) damage_frames ;; *) no_damage ;; esac
  for size in 8 4096 200000; do
    contains "$list, $size bytes: UCX reports the death" "$(death $list -s $size)" '^exit status 0'
  done
  contains "$list: the same when only waiting" "$(death $list -q)" '^exit status 0'
done

no_damage
for arguments in "" "-q"; do
  # shellcheck disable=SC2086 # several arguments
  outcome=$(death vtcp -m none -t 20 $arguments)
  contains "no error handler ($arguments): the survivor ends itself" "$outcome" '^survivor: ended with status (134|1[0-9][0-9])'
  is "no error handler ($arguments): with one line" "$(grep -c '^ucx-verity: .*aborting' <<< "$outcome")" 1
done
# The first process of a container, which no signal of its own ends.
if unshare --pid --fork true 2> /dev/null; then
  outcome=$(death vtcp -m none -t 20 -i)
  contains "no error handler, in a container: the survivor ends itself" "$outcome" '^survivor: ended with status 134'
  lacks "no error handler, in a container: with that line alone" "$outcome" 'backtrace|Caught signal'
else
  skip "no error handler, in a container" "no right to make a namespace for processes"
fi
# A link that neither side ever used: its end loses nothing, unless a message waits by then. In mode off every end is
# UCX's own matter.
for arguments in "vtcp -k 0" "vtcp -k 0 -s 200000" "vftcp -k 0"; do
  # shellcheck disable=SC2086 # several arguments
  outcome=$(death $arguments -m none -q -t 3)
  contains "no error handler, never used ($arguments): no failure" "$outcome" '^survivor: Success'
  lacks "no error handler, never used ($arguments): nothing is said" "$outcome" '^ucx-verity:'
done
# Nor does the end of one that closed its endpoint first, though its process ends without a BYE.
for list in vtcp vftcp; do
  [ $list = vtcp ] || damage_frames 0.01
  outcome=$(death $list -m none -q -c -t 3)
  contains "$list, no error handler, closed first: no failure" "$outcome" '^survivor: Success'
  lacks "$list, no error handler, closed first: no abort" "$outcome" '^ucx-verity: .*aborting'
done
no_damage
contains "no error handler, never used, a message waits: an error or the end" "$(death vtcp -m none -k 0 -t 20)" \
  '^survivor: (ended with status (134|1[0-9][0-9])|Endpoint timeout|Connection reset)'
contains "with one, never used: UCX reports the death" "$(death vtcp -k 0 -q)" '^exit status 0'
contains "mode off, no error handler: no failure" "$(UCX_VERITY_MODE=off death vtcp -m none -q -t 3)" '^survivor: Success'

# What it sent last is read, also by a process that comes late.
for arguments in "tcp" "vtcp" "vtcp -m none"; do
  # shellcheck disable=SC2086 # several arguments
  contains "$arguments: what the dead process sent last" "$(UCX_RNDV_THRESH=64k death $arguments -s 4000 -f 100)" \
    '^survivor: read 100 of 100$'
done
# Without an error handler it may be ended first: of stock UCX's receivers all are.
for list in tcp vtcp; do
  contains "$list: the same, its descriptor is armed" "$(UCX_RNDV_THRESH=64k death $list -k 3 -a -s 4000 -f 100)" \
    '^survivor: read 100 of 100$'
  for requests in 1 2; do
    contains "$list: the same behind requests ($requests) that it answered late" \
      "$(UCX_RNDV_THRESH=64k death $list -k 3 -r $requests -s 6000 -f 65)" '^survivor: read 65 of 65$'
  done
done

for list in tcp vtcp; do
  contains "$list: the same, UCX's thread reads it" \
    "$(UCX_RNDV_THRESH=64k UCX_VERITY_PROGRESS_THREAD=y death $list -k 3 -z -s 4000 -f 100)" '^survivor: read 100 of 100$'
done

# With a send under way its status may reach the program before the plugin ends it.
contains "no error handler, in a long send: an error or the end" "$(death vtcp -m none -t 20 -s 200000)" \
  '^survivor: (ended with status (134|1[0-9][0-9])|Endpoint timeout|Connection reset)'

# In the middle of a rendezvous that reads the dead process's memory: the digests do not come any more.
if with_tls vtcp,vcma "${UCX_INFO:-ucx_info}" -d 2> /dev/null | grep -q 'Transport: vcma'; then
  contains "no error handler, while it is read: an error or the end" "$(death vtcp,vcma -m none -t 20 -s 5000000)" \
    '^survivor: (ended with status (134|1[0-9][0-9])|Endpoint timeout|Connection reset|Input/output error)'
  contains "with one: an error" "$(death vtcp,vcma -s 5000000)" '^exit status 0'
  for calls in 1 20; do
    contains "with one, while it reads and is read ($calls): an error" "$(death vtcp,vcma -s 5000000 -k 3 -x $calls -t 60)" '^exit status 0'
  done
  # All is read, no frame is on the way, and the digests alone are missing: the connection's end reports it.
  contains "with one, while it waits for digests: an error" "$(death vtcp,vcma -s 5000000 -k 3 -x 20 -w 700 -t 60)" '^exit status 0'
  contains "no error handler, while it waits for digests: an error or the end" \
    "$(death vtcp,vcma -m none -s 5000000 -k 3 -x 20 -w 700 -t 60)" \
    '^survivor: (ended with status (134|1[0-9][0-9])|Endpoint timeout|Connection reset|Input/output error)'
else
  skip "while it is read" "no cma on this machine"
fi

# Shared memory has no such word of its own; the wrapper does not pretend to.
for list in posix,self vposix,vself; do
  contains "$list: UCX says that it handles no peer errors" "$(death $list -t 5)" 'no peer failure handler'
done

# It has, where UCX is set to look for the peer's process, in each message of its keepalive.
export UCX_POSIX_ERROR_HANDLING=y UCX_SELF_ERROR_HANDLING=y UCX_KEEPALIVE_INTERVAL=200ms
for list in posix,self vposix,vself; do
  for size in 8 200000; do
    contains "$list, $size bytes, with error handling: UCX reports the death" "$(death $list -s $size)" '^exit status 0'
  done
done

done_testing
