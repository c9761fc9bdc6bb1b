# SPDX-License-Identifier: BSD-3-Clause
#
# The steps of `ucx-verity acceptance`, sourced by run.sh. Each ends in `step`, whatever happens.
# shellcheck shell=bash disable=SC2154,SC2034

transports=() # that are to be tested
sound=()      # those of them that work where nothing is damaged

# A login's words of its own would be taken for those of what runs there.
noise_of() { # noise_of 0|1: the first of them
  sed "/^$greeting\$/,\$d" "$work/log/reached.$1" | grep -a -m 1 '[^[:space:]]' | cut -c 1-100
}
reach() {
  local i out status noise version=() good=yes
  for i in 0 1; do
    status=0
    bootstrap "$i" > "$work/log/bootstrap"
    made[i]=yes making=yes
    waiting timeout -k 5 60 bash -c "exec ${agents[i]} sh" < "$work/log/bootstrap" > "$work/log/reached.$i" 2> "$work/log/reach.$i" || status=$?
    making=no
    version[i]=$(grep -E '^[0-9]+\.[0-9]+.* for UCX|^missing$' "$work/log/reached.$i" | tail -n 1)
    out=$(last_words "$work/log/reach.$i")
    if ! grep -qx "$greeting" "$work/log/reached.$i"; then
      case $status in 124 | 137) out="nothing came within 60 s${out:+; $out}" ;; *) made[i]=no ;; esac
      step Hosts failed "${names[i]}" "'${agents[i]}' did not run a command there (status $status)${out:+: $out}" \
        "try: ${agents[i]} hostname"
      good=no
      continue
    fi
    noise=$(noise_of "$i")
    if [ -n "$noise" ]; then
      step Hosts failed "${names[i]}" "its shell prints before a command runs: $noise" \
        "let the start-up files there (such as .bashrc) print nothing where there is no terminal"
      good=no
    elif [ $status -eq 3 ]; then
      step Hosts failed "${names[i]}" "no temporary folder in $base there${out:+: $out}" "name a folder that both hosts can write to: --directory"
      made[i]=no good=no
    elif [ "${version[i]}" = missing ]; then
      step Hosts failed "${names[i]}" "$tool is not there" "install ucx-verity on ${names[i]} in the same folder as here"
      good=no
    elif [ -z "${version[i]}" ]; then
      step Hosts failed "${names[i]}" "$tool does not run there (status $status)${out:+: $out}" "try: ${agents[i]} $tool --version"
      good=no
    else
      step Hosts passed "${names[i]}" "reached; ucx-verity ${version[i]}"
    fi
  done
  [ $good = yes ] || return 1
  if [ "${version[0]}" = "${version[1]}" ]; then return 0; fi
  step Hosts warning versions "ucx-verity ${version[0]} on ${names[0]}, ${version[1]} on ${names[1]}" \
    "install one release on both; releases of another protocol version refuse each other"
}

facts() {
  local i key value own=()
  both "$work/log/facts" facts
  for i in 0 1; do
    while IFS=$'\t' read -r key value; do
      [ -z "$value" ] || record fact "$i" "$key" "$value"
      [ "$key" != name ] || own[i]=$value
    done < "$work/log/facts.$i"
  done
  [ -z "${own[0]-}" ] || [ "${own[0]}" != "${own[1]-}" ] ||
    step Hosts warning names "both hosts call themselves ${own[0]}: if they are one machine, nothing between hosts is tested" "name two machines"
}

doctor() {
  local options=(--selftest) merged=$work/log/doctor.json status
  [ "$quick" = no ] || options=()
  patience=160 both "$work/log/doctor" doctor "${options[@]}"
  cat "$work/log"/doctor.[01] | "$tool" doctor --merge - --json > "$merged" 2> "$work/log/doctor.merge"
  status=$?
  if ! grep -q '"verdict"' "$merged"; then
    step Set-up failed doctor "no findings: $(last_words "$work/log/doctor.merge") $(last_words "$work/log/doctor.err.0")" \
      "run $tool doctor on ${names[0]} and ${names[1]}"
    return
  fi
  record file doctor "$merged"
  # Its findings are the report's own steps.
  [ $status -lt 2 ] || failures=$((failures + 1))
  printf '    %s\n' "$(sed -n 's/^ *"verdict": "\(.*\)",\{0,1\}$/\1/p' "$merged" | head -n 1)" >&2
}

# Network transports that both hosts have, the best ones first.
choose_transports() {
  local i name device reaches wanted=() missing
  for i in 0 1; do
    at "$i" transports > "$work/log/transports.$i" 2> "$work/log/transports.err.$i"
    while IFS=$'\t' read -r name device reaches; do [ -z "$reaches" ] || record transport "$i" "$name" "$device" "$reaches"; done < "$work/log/transports.$i"
  done
  on_both() { # on_both NAME
    awk -F'\t' -v name="$1" '$1 == name && $3 == "true" { seen[FILENAME] = 1 } END { exit length(seen) != 2 }' "$work/log/transports.0" "$work/log/transports.1"
  }
  wanted=(dc_mlx5 rc_mlx5 rc_verbs srd ud_mlx5 ud_verbs tcp)
  [ -z "$tls" ] || IFS=, read -ra wanted <<< "$tls"
  for name in "${wanted[@]}"; do
    case $name in v[crudst]*) name=${name#v} ;; esac # a wrapper's name will do
    if on_both "$name" && on_both "v$name"; then
      transports+=("$name")
      step Transports passed "$name" "on both hosts, wrapped as v$name"
      [ "$quick" = no ] || break
    elif [ -n "$tls" ]; then
      missing=$(for i in 0 1; do awk -F'\t' -v name="v$name" '$1 == name && $3 == "true" { seen = 1 } END { exit seen }' \
        "$work/log/transports.$i" && echo "${names[i]}"; done | paste -sd' ')
      step Transports failed "$name" "v$name is not there on $missing" "see ucx-verity doctor there; ucx_info -d lists what UCX has"
    fi
  done
  [ ${#transports[@]} -eq 0 ] || return 0
  step Transports failed "between the hosts" "no network transport is wrapped on both hosts" \
    "run ucx-verity doctor on both; UCX_NET_DEVICES of this shell is taken over: ${UCX_NET_DEVICES:-not set}"
  return 1
}

# The corrupting transport above one of UCX.
fault_name() {
  case $1 in
    rc_verbs) echo frc ;; ud_verbs) echo fud ;; rc_mlx5) echo frcx ;; ud_mlx5) echo fudx ;; dc_mlx5) echo fdcx ;;
    *) echo "f$1" ;;
  esac
}

# UCX_TLS for one transport, raw or wrapped, with self and with what it needs to connect: ud for rc and dc.
lanes() { # lanes TRANSPORT PREFIX: v or nothing
  local helper=
  case $1 in
    rc_verbs | frc) helper=,$2ud_verbs:aux ;; rc_mlx5 | dc_mlx5 | frcx | fdcx) helper=,$2ud_mlx5:aux ;;
  esac
  echo "$2$1$helper,$2self"
}

# traffic LABEL KIND TLS SECONDS OPTION...: both processes; their results are in $work/log/LABEL.0 and .1.
traffic() {
  local label=$1 kind=$2 list=$3 seconds=$4 pipes=$work/log/$1.pipe patience=$(($4 + 60)) first status=0
  shift 4
  mkfifo "$pipes.0" "$pipes.1"
  exec 7<> "$pipes.0" 8<> "$pipes.1"
  on 0 sh "${folders[0]}/node" run "$label" $((seconds + 20)) "$kind" "$list" traffic first --seconds "$seconds" "$@" \
    <&7 >&8 2> "$work/log/$label.0" &
  first=$!
  on 1 sh "${folders[1]}/node" run "$label" $((seconds + 20)) "$kind" "$list" traffic second --seconds "$seconds" "$@" \
    <&8 >&7 2> "$work/log/$label.1" || status=$?
  # The other one waits no longer for what will not come.
  [ $status -eq 0 ] || case " $* " in *" --die-after "*) ;; *) printf 'ended\nended\n' >&7 ;; esac
  wait "$first" || status=$?
  exec 7>&- 8>&-
  return $status
}
of() { # of LABEL KEY: the sum of both
  grep -aoh "\"$2\":[0-9]*" "$work/log/$1.0" "$work/log/$1.1" | awk -F: '{ sum += $2 } END { print sum + 0 }'
}
error_of() { # error_of LABEL: UCX's words, of either
  local words
  words=$(sed -n 's/^{"traffic":"[a-z]*","error":"\([^"]\{1,\}\)".*/\1/p' "$work/log/$1.0" "$work/log/$1.1" |
    sort | grep -v -m 1 'the other process ended')
  echo "${words:-$(last_words "$work/log/$1.0") $(last_words "$work/log/$1.1")}"
}
collect() { # collect LABEL: what node.sh reads on both hosts of that traffic, once
  local i
  for i in 0 1; do
    [ -e "$work/log/$1.seen.$i" ] || at "$i" seen "$1" > "$work/log/$1.seen.$i" 2>&1
  done
}
seen() { # seen LABEL KEY [FIELD]: of both hosts, of what was collected
  awk -v key="$2" -v field="${3-}" '$1 == key { if (field) sum += $field; else for (i = 2; i <= NF; ++i) sum += $i } END { print sum + 0 }' \
    "$work/log/$1".seen.[01]
}

# What the sites' files did not let this test set, if anything.
policy_of() { # policy_of LABEL
  sed -n 's/^ucx-verity: \(UCX_VERITY_[A-Z_]*\)=.* is not used: \(.*\)/; the site allows no other \1: \2/p' "$work/log/$1.0" "$work/log/$1.1" | head -n 1
}

messages=(--messages 400 --largest 262144)
damaging="something between these hosts damages data: run it again and see ucx-verity-report(1)"
clean_traffic() { # clean_traffic TRANSPORT
  local name=$1
  traffic "raw.$name" raw "$(lanes "$name" "")" 60 "${messages[@]}" || {
    step Transports failed "$name, nothing injected" "stock UCX fails: $(error_of "raw.$name")" \
      "not caused by ucx-verity: fix UCX between the hosts first (UCX_NET_DEVICES, UCX_IB_GID_INDEX, firewalls)"
    return
  }
  # The wrapped traffic goes on: whether it repairs the same damage is what the user wants to know next.
  [ "$(of "raw.$name" wrong_bytes)" -eq 0 ] ||
    step Transports failed "$name, stock UCX, nothing injected" \
      "stock UCX delivered $(of "raw.$name" wrong_bytes) wrong bytes in $(of "raw.$name" wrong_messages) of $(of "raw.$name" messages) messages" "$damaging"
  if ! traffic "clean.$name" clean "$(lanes "$name" v)" 60 "${messages[@]}"; then
    step Transports failed "$name, nothing injected" "v$name fails, stock UCX does not: $(error_of "clean.$name")" \
      "please send this report to the project"
  elif [ "$(of "clean.$name" wrong_bytes)" -ne 0 ]; then
    step Transports failed "$name, nothing injected" "$(of "clean.$name" wrong_bytes) wrong bytes through v$name" "please send this report to the project"
  elif
    collect "clean.$name"
    [ "$(seen "clean.$name" verified)" -eq 0 ]; then
    step Transports failed "$name, nothing injected" "no frame was verified$(policy_of "clean.$name")" "see ucx-verity doctor on both hosts"
  elif sound+=("$name") && [ "$(seen "clean.$name" attested)" -ne 0 ]; then
    step Transports warning "$name, nothing injected" \
      "$(of "clean.$name" messages) messages right, but $(seen "clean.$name" attested) faults were found and repaired" "$damaging"
  else
    step Transports passed "$name, nothing injected" \
      "$(of "clean.$name" messages) messages, $(of "clean.$name" bytes) bytes right, $(seen "clean.$name" verified) frames verified, no fault"
  fi
}

damaged_traffic() { # damaged_traffic TRANSPORT
  local name=$1 fault stock injected found twice
  fault=$(fault_name "$1")
  if traffic "stock.$name" stock "$(lanes "$fault" "")" 60 "${messages[@]}"; then
    stock="stock UCX delivered $(of "stock.$name" wrong_messages) of $(of "stock.$name" messages) messages wrong"
    if [ "$(of "stock.$name" wrong_messages)" -eq 0 ]; then
      collect "stock.$name"
      stock="stock UCX: $(seen "stock.$name" injected) frames damaged, no message wrong"
    fi
  else
    stock="stock UCX failed: $(error_of "stock.$name")"
  fi
  if ! traffic "damaged.$name" verified "$(lanes "$fault" v)" 60 "${messages[@]}"; then
    step Damage failed "$name" "v$fault fails: $(error_of "damaged.$name"); $stock" "please send this report to the project"
    return
  fi
  collect "damaged.$name"
  injected=$(seen "damaged.$name" injected) found=$(seen "damaged.$name" attested) twice=$(seen "damaged.$name" twice)
  if [ "$(of "damaged.$name" wrong_bytes)" -ne 0 ]; then
    step Damage failed "$name" "$(of "damaged.$name" wrong_bytes) wrong bytes delivered; $stock" "please send this report to the project"
  elif [ "$injected" -eq 0 ]; then
    step Damage failed "$name" "no frame was damaged: nothing was shown" "see ucx-verity doctor --selftest on both hosts"
  elif [ "$found" -eq 0 ] || [ "$found" -gt "$injected" ] || [ $((found + twice)) -lt "$injected" ]; then
    step Damage failed "$name" "$injected frames damaged, $found faults found, $twice frames received twice; no message wrong; $stock" \
      "please send this report to the project"
  else
    step Damage passed "$name" "$injected frames damaged, $found found and repaired, no message wrong; $stock"
  fi
  case $stock in
    *" messages wrong" | "stock UCX failed"*) ;;
    *) step Damage warning "$name, stock UCX" "$stock: the comparison shows nothing" "run it again" ;;
  esac
}

health() { # health TRANSPORT: of the damaged traffic
  local label=damaged.$1 found i line known
  collect "$label"
  found=$(seen "$label" attested)
  if [ "$found" -eq 0 ]; then
    step Health skipped "injected faults" "none was found on the way, see Damage"
    return
  fi
  agrees() { # agrees NAME NUMBER
    if [ "$2" -eq "$found" ]; then
      step Health passed "$1" "shows the $found faults found on both hosts"
    else
      step Health failed "$1" "shows $2 faults, the attestations $found" "please send this report to the project"
    fi
  }
  agrees status "$(seen "$label" status)"
  agrees "report --injected" "$(seen "$label" report)"
  # The host that found a fault counts it, and the one that sent the frame counts each segment that it retransmits.
  for i in 0 1; do
    read -r line known < <(awk '$1 == "check" { print $2, $3 }' "$work/log/$label.seen.$i")
    if [ "${line:-none}" = 0 ] && [ "${known:-0}" -gt 0 ]; then
      step Health passed "check on ${names[i]}" "OK: $known injected faults, none counted against the host"
    else
      step Health failed "check on ${names[i]}" "exit status ${line:-none}, ${known:-0} injected faults; wanted: 0, and some" \
        "please send this report to the project"
    fi
  done
}

death() { # death TRANSPORT
  local name=$1 words=() after=() kind i=0 list
  for kind in raw clean; do
    [ $kind = raw ] && list=$(lanes "$name" "") || list=$(lanes "$name" v)
    traffic "death.$kind" $kind "$list" 90 --messages 0 --largest 65536 --die-after 41 || true
    words[i]=$(sed -n 's/.*"noticed":"\([^"]\{1,\}\)".*/\1/p' "$work/log/death.$kind.0")
    after[i]=$(sed -n 's/.*"noticed_after":\([0-9]*\.\{0,1\}[0-9]\{0,1\}\).*/\1/p' "$work/log/death.$kind.0")
    i=$((i + 1))
  done
  if [ -n "${words[1]}" ]; then
    step Death passed "$name" "killed on ${names[1]}: noticed on ${names[0]} after ${after[1]} s (${words[1]}); stock UCX: ${after[0]:-?} s (${words[0]:-not noticed})"
  elif [ -z "${words[0]}" ]; then
    step Death skipped "$name" "stock UCX does not notice within 90 s either"
  else
    step Death failed "$name" "killed on ${names[1]}: not noticed on ${names[0]} ($(last_words "$work/log/death.clean.0")); stock UCX: after ${after[0]} s" \
      "please send this report to the project"
  fi
}

# job KIND LIST: the MPI program; its output is in $work/log/job.KIND.
job() {
  patience=150 at 0 job 90 "$1" "$2" "${launcher[@]}" > "$work/log/job.$1" 2> "$work/log/job.$1.err"
}
job_says() { # job_says KIND: how many messages were wrong
  sed -n 's/.* bytes: \([0-9]*\) messages wrong.*/\1/p' "$work/log/job.$1"
}
mpi_ready() { # mpi_ready: a launcher, and the program on both hosts; else why not
  local mpicc=mpicc
  if [ -n "$mpirun" ]; then read -ra launcher <<< "$mpirun"
  elif [[ ${agents[0]} = srun* ]]; then launcher=(srun --mpi=pmix --nodes=2 --ntasks=2 "--nodelist=${names[0]},${names[1]}")
  else
    at 0 launcher "${names[0]}" "${names[1]}" > "$work/log/launcher" 2> /dev/null
    read -ra launcher < "$work/log/launcher"
    [ ${#launcher[@]} -gt 0 ] || { echo "no mpirun of Open MPI and no mpiexec of MPICH in PATH of ${names[0]}"; return 1; }
  fi
  case ${launcher[0]##*/} in *.openmpi | *.mpich) mpicc=mpicc.${launcher[0]##*.} ;; esac
  on 0 sh "${folders[0]}/node" put program.c < "$work/program.c"
  at 0 compile "$mpicc" > "$work/log/compile" 2>&1 || {
    # A compiler's last error, or the first line of Open MPI's explanation.
    echo "the test program is not compiled on ${names[0]} by $mpicc: $(grep -am 1 -E 'error|unable|not found' "$work/log/compile" || last_words "$work/log/compile")"
    return 1
  }
  at 0 go cat "${folders[0]%/*}/program" > "$work/program"
  on 1 sh "${folders[1]}/node" put program < "$work/program"
}
# The job with nothing injected, verified; false where the other ones would show nothing.
clean_job() {
  local reports odd
  job clean "$(lanes "$name" v)"
  reports=$(grep -a '^ucx-verity: .* verified, ' "$work/log/job.clean.err")
  odd=$(grep -v -m 1 ' verified, no damage found$' <<< "$reports") # of one host: the other one may have seen none
  if [ "$(job_says clean)" != 0 ] || [ -z "$reports" ]; then
    step MPI failed "MPI job, nothing injected" "$(job_says clean) messages wrong; $(last_words "$work/log/job.clean.err")" \
      "see LAUNCHERS in ucx-verity-launch(7)"
    return 1
  fi
  case $odd in
    '') step MPI passed "MPI job, nothing injected" "all messages right and verified" ;;
    *UNVERIFIED*) step MPI failed "MPI job, nothing injected" "all messages right, but $odd" "see ucx-verity doctor on both hosts" ;;
    *) step MPI warning "MPI job, nothing injected" "all messages right, but $odd" "$damaging" ;;
  esac
}
mpi() { # mpi TRANSPORT
  local name=$1 fault launcher=() wrong stock
  fault=$(fault_name "$1")
  mpi_ready > "$work/log/mpi" 2>&1 || {
    step MPI skipped "MPI job" "$(last_words "$work/log/mpi")" "load the site's MPI module in this shell, or name the launcher: --mpirun"
    return
  }
  job raw "$(lanes "$name" "")"
  wrong=$(job_says raw)
  if [ -z "$wrong" ]; then
    step MPI skipped "MPI job" "'${launcher[*]/@x@/}' does not run with stock UCX either: $(last_words "$work/log/job.raw.err")" "see --mpirun"
    return
  fi
  [ "$wrong" -eq 0 ] || step MPI failed "MPI job, stock UCX, nothing injected" "$wrong messages wrong" "$damaging"
  clean_job || return
  job stock "$(lanes "$fault" "")"
  stock=$(job_says stock)
  job verified "$(lanes "$fault" v)"
  if [ "$(job_says verified)" = 0 ] && grep -q '^ucx-verity: .* found and repaired' "$work/log/job.verified.err"; then
    step MPI passed "MPI job, damage on the way" "all messages right; stock UCX delivered ${stock:-no readable count} messages wrong"
  else
    step MPI failed "MPI job, damage on the way" \
      "$(job_says verified) messages wrong; $(last_words "$work/log/job.verified.err")" "please send this report to the project"
  fi
}

cost() { # cost TRANSPORT
  local file=$work/log/bench.json openings=3
  [ "$quick" = no ] || openings=1 # each has sixteen logins, which on slow hosts are most of its time
  waiting timeout -k 5 400 "$tool" bench --level ucp --tls "$1" --openings "$openings" --sizes 8,1M --json \
    --on "${agents[0]} sh ${folders[0]}/node go" --on "${agents[1]} sh ${folders[1]}/node go" > "$file" 2> "$work/log/bench.err"
  if grep -q '"raw": [1-9]' "$file"; then
    record file bench "$file"
    step Cost passed "$1" "measured between the hosts, raw and wrapped in turn; see the figures"
  else
    step Cost failed "$1" "nothing was measured within 400 s: $(last_words "$work/log/bench.err")" "run it again while the hosts are idle"
  fi
}
