# SPDX-License-Identifier: BSD-3-Clause
#
# `ucx-verity acceptance` runs this, with bash, and prints what it leaves in $work/results: lines of words with tabs
# between, the first of which is host, fact, transport, step or file (results.h has them). On the two hosts it runs
# node.sh alone, by an agent such as ssh; all that is there is in a folder of its own, which is removed however this ends.
# steps.sh has the steps.
#
# From the command: work (a folder of this host, with node.sh, steps.sh and program.c), tool, hosts, launch, tls, quick, cost
# (whether it is measured: yes or no), mpirun, base (where hosts have their folders).
# shellcheck shell=bash disable=SC2154
set -uo pipefail

record() { # record WORD...
  local word line=
  for word; do
    word=${word//[$'\t\n\r']/ }
    line+=${line:+$'\t'}$word
  done
  printf '%s\n' "$line" >> "$work/results"
}
# A step's end: step SECTION passed|warning|failed|skipped NAME TEXT [REMEDY].
step() {
  record step "$1" "$2" "$3" "$4" "${5-}"
  [ "$2" != failed ] || failures=$((failures + 1))
  printf '    %-8s %s: %s\n' "$2" "$3" "$4" >&2
  [ -z "${5-}" ] || printf '             -> %s\n' "$5" >&2
}
progress() { # progress TEXT
  stage=$((stage + 1))
  printf '%d:%02d  %d/%d  %s\n' $((SECONDS / 60)) $((SECONDS % 60)) "$stage" "$stages" "$1" >&2
}
failures=0 stage=0 stages=8

last_words() { # last_words FILE: for a step
  grep -aoE '[^[:space:]].*' "$1" 2> /dev/null | grep -a '[[:alpha:]]' | grep -av '^{"traffic"' | tail -n 1 | cut -c 1-300
}

# ---- the two hosts --------------------------------------------------------------------------------
names=('' '')
agents=('' '')
choose_hosts() {
  local list file=${PBS_NODEFILE:-${LSB_DJOB_HOSTFILE:-${PE_HOSTFILE-}}}
  if [ -n "$hosts" ]; then
    read -ra list <<< "$hosts"
  elif [ -n "${SLURM_JOB_ID-}" ]; then
    mapfile -t list < <(scontrol show hostnames "${SLURM_JOB_NODELIST-}" 2> /dev/null)
  elif [ -r "$file" ]; then
    mapfile -t list < <(awk '!seen[$1]++ { print $1 }' "$file")
  else
    echo "ucx-verity acceptance: name two hosts, or run it in an allocation (try --help)" >&2
    exit 2
  fi
  [ ${#list[@]} -ge 2 ] || { echo "ucx-verity acceptance: two hosts are needed, and there is ${list[*]:-none}" >&2; exit 2; }
  names=("${list[@]:0:2}")
  [ "${names[0]}" != "${names[1]}" ] || { echo "ucx-verity acceptance: both hosts are ${names[0]}: name two" >&2; exit 2; }
  for i in 0 1; do
    case ${names[i]} in
      -* | *[!A-Za-z0-9._:@%-]*) echo "ucx-verity acceptance: '${names[i]}' is no name of a host" >&2; exit 2 ;;
    esac
    agents[i]=$(agent_of "${names[i]}")
  done
}
agent_of() { # agent_of HOST: the command that runs another one there, with input and output
  local overlap=
  case $launch in
    *'{}'*) echo "${launch//'{}'/$1}" ;;
    ?*) echo "$launch $1" ;;
    *)
      if [ -n "${SLURM_JOB_ID-}" ] && { [ -z "$hosts" ] || scontrol show hostnames "${SLURM_JOB_NODELIST-}" 2> /dev/null | grep -qx -- "$1"; }; then
        # Steps of a job share its nodes; from Slurm 20.11 on only where each asks for it.
        ! srun --help 2>&1 | grep -q -- --overlap || overlap=--overlap
        echo "srun $overlap --nodes=1 --ntasks=1 --nodelist=$1"
      else
        echo "ssh -o BatchMode=yes -o ConnectTimeout=15 $1"
      fi ;;
  esac
}
# A signal ends the waiting, unlike a command in the foreground. Not in a command substitution: there bash 5.2 fails to parse the trap
# when `wait` gets a signal, and this script goes on as if there had been none.
waiting() { # waiting COMMAND...
  "$@" <&0 9>&- &
  started=$!
  wait "$started"
}
started=
# Seconds after which a host that says nothing has hung. What runs there has its own limit, which is shorter.
patience=${VERITY_ACCEPTANCE_PATIENCE:-120} # less in tests
on() { # on 0|1 WORD...: on that host
  local begin=$SECONDS status=0
  waiting timeout -k 5 "$patience" bash -c "exec ${agents[$1]} \"\$@\"" agent "${@:2}" || status=$?
  case $status in
    124 | 137) [ $((SECONDS - begin)) -lt "$patience" ] || echo "$1 $patience" >> "$work/log/silent" ;;
  esac
  return $status
}
# False, with a step that says so, once a host has hung: each further step would wait for it as well.
answers() {
  local i seconds
  [ -s "$work/log/silent" ] || return 0
  read -r i seconds < "$work/log/silent"
  step Hosts failed "${names[i]}" "does not answer any more: nothing came within $seconds s; the other steps are left out" \
    "see what it is doing: ${agents[i]} uptime; run this again when it answers"
  return 1
}
at() { # at 0|1 VERB...: of node.sh there; nothing on its input
  on "$1" sh "${folders[$1]}/node" "${@:2}" < /dev/null
}
both() { # both FILE VERB...: at the same time, output in FILE.0 and FILE.1; false when one failed
  local first status=0
  at 0 "${@:2}" > "$1.0" 2> "$1.err.0" &
  first=$!
  at 1 "${@:2}" > "$1.1" 2> "$1.err.1" || status=1
  wait "$first" || status=1
  return "$status"
}

# What a user's shell says of UCX and MPI goes along; not what belongs to the plugin or to this host.
settings() {
  local name value
  printf "tool='%s'\n" "$tool"
  for name in PATH LD_LIBRARY_PATH $(compgen -e | grep -E '^(UCX|OMPI_MCA|OMPI_ALLOW|PRTE_MCA|PRTE_ALLOW|PMIX_MCA|HYDRA|MPIR_CVAR)_'); do
    case $name in
      UCX_TLS | UCX_MODULE_DIR | UCX_PLUGIN_PATH | UCX_VERITY_* | UCX_FAULT_*) continue ;;
    esac
    value=${!name-}
    [ -z "$value" ] || printf "export %s='%s'\n" "$name" "${value//\'/\'\\\'\'}"
  done
}
bootstrap() { # what makes the folder, as a script on the other host's input
  cat << SH
echo '$greeting'
umask 077
dir='${folders[$1]}'
mkdir "\${dir%/*}" 2> /dev/null # the hosts may share it
mkdir "\$dir" "\$dir/pids" || exit 3
cat > "\$dir/settings" << 'END OF SETTINGS'
$(settings)
END OF SETTINGS
cat > "\$dir/node" << 'END OF NODE'
$(cat "$work/node.sh")
END OF NODE
tool='$tool'
if [ -x "\$tool" ]; then "\$tool" --version; else echo missing; fi
SH
}
exec 9>&2 # where an interrupt finds another stderr
greeting='ucx-verity acceptance' # what a host prints before this is none of ours
made=(no no) # a folder on the host
making=no    # one is being made by the command that was started last
descendants() { # descendants PID
  local child
  for child in $(ps -o pid= --ppid "$1"); do
    descendants "$child"
    echo "$child"
  done
}
clean_up() {
  local i enders=('' '') left
  trap '' INT TERM HUP # once
  # Removed before it is there, it would stay.
  for ((i = 0; i < 50; ++i)); do
    [ $making = yes ] && kill -0 "$started" 2> /dev/null || break
    sleep 0.1
  done
  for i in 0 1; do
    [ "${made[i]}" = yes ] || continue
    timeout -k 5 30 bash -c "exec ${agents[i]} \"\$@\"" agent sh "${folders[i]}/node" end < /dev/null > /dev/null 2>&1 9>&- &
    enders[i]=$!
  done
  for i in 0 1; do
    [ -z "${enders[i]}" ] || wait "${enders[i]}" ||
      echo "ucx-verity acceptance: ${names[i]} is not cleaned up: remove ${folders[i]%/*} there" >&9
  done
  # Agents of a step that was interrupted.
  mapfile -t left < <(descendants $$)
  [ ${#left[@]} -eq 0 ] || kill "${left[@]}" 2> /dev/null
}
interrupted() { # interrupted STATUS
  echo "ucx-verity acceptance: interrupted; cleaning up on both hosts, 40 s at most" >&9
  exit "$1"
}

. "$work/steps.sh"

# ---- all of it ------------------------------------------------------------------------------------
choose_hosts
token=$(od -An -N8 -tx8 /dev/urandom | tr -d ' ')
folders=("$base/ucx-verity-acceptance.$token/1" "$base/ucx-verity-acceptance.$token/2")
record host 0 "${names[0]}"
record host 1 "${names[1]}"
trap clean_up EXIT
trap 'interrupted 130' INT
trap 'interrupted 143' TERM HUP
mkdir "$work/log"
printf 'ucx-verity acceptance: %s and %s, by %s\n' "${names[0]}" "${names[1]}" "'${agents[0]% "${names[0]}"}'" >&2
if [ "$quick" = yes ]; then stages=7; echo "about 1 minute, 10 at most; steps that hang are ended" >&2
else echo "about 3 minutes, 20 at most; steps that hang are ended" >&2; fi
[ "$cost" = yes ] || stages=$((stages - 1))

between_hosts() {
  local transport
  progress "hosts: reach, versions"
  reach && facts && answers || return
  progress "set-up: doctor on both hosts"
  doctor
  answers || return
  progress "transports between the hosts"
  choose_transports || { answers; return; }
  for transport in "${transports[@]}"; do
    clean_traffic "$transport"
    answers || return
  done
  [ ${#sound[@]} -gt 0 ] || return
  progress "damage on the way"
  for transport in "${sound[@]}"; do
    damaged_traffic "$transport"
    answers || return
  done
  progress "health: what the tools say of the injected faults"
  health "${sound[0]}"
  if [ "$quick" = no ]; then
    answers || return
    progress "a process that dies"
    death "${sound[0]}"
  fi
  answers || return
  progress "an MPI job"
  mpi "${sound[0]}"
  [ "$cost" = yes ] || return
  answers || return
  progress "cost: raw against wrapped"
  cost "${sound[0]}"
}
between_hosts
[ "$failures" -eq 0 ]
