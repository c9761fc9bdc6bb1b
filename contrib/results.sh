# SPDX-License-Identifier: BSD-3-Clause
#
# Runs tests of builds and adds up their results, for contrib/run-tests and contrib/check-matrix. A pass is a
# build's folder below $work. Sourced by bash after contrib/setup.sh.
# shellcheck shell=bash

# shellcheck disable=SC2154 # $work, $jobs
passes=()
unstable=()

check() { # check PASS TARGET [VARIABLE=VALUE...]: its results stay in $work/PASS for the summary
  passes+=("$1")
  find "$work/$1" \( -name '*.trs' -o -name '*.first' -o -name '*.log' ! -name config.log \) -delete
  check_more "$@"
}

check_more() { # check_more PASS TARGET [VARIABLE=VALUE...]: adds results to those of the pass
  local dir=$work/$1 out=$work/$1/$2.out
  # A failed test is counted below; a test that did not even build has no result and is fatal. What a test said of its failure
  # follows the line that names it, as a log of CI may be all that one has.
  make -C "$dir" -k -j"$jobs" "${@:2}" TESTS_ENVIRONMENT= LOG_DRIVER_FLAGS=--comments SH_LOG_DRIVER_FLAGS=--comments 2>&1 |
    tee "$out" |
    awk '/^(PASS|XFAIL): / { if (++passed % 100 == 0) print passed " passed, now in " $2 }
      /^(PASS|XFAIL|SKIP): / { if ($2 ":" == failed) lines = 0 }
      /^(FAIL|ERROR|XPASS): / { failed = $2 ":"; lines = 30 }
      $1 == "#" && $2 == failed && lines-- > 0
      /^(FAIL|ERROR|XPASS): |: error: /; { fflush() }' || true
  grep -q '^# TOTAL:' "$out" || {
    # With -k the first error is far from the end.
    grep -E -A 3 '(error|undefined reference)[: ]' "$out" | head -n 40 || true
    tail -n 20 "$out"
    die "the tests of $1, $2, did not run (all of it in $out)"
  }
}

# A machine that stalls for seconds makes peers look dead: what failed runs once more, with nothing beside it. Damage that
# reached a program, a crash, or a sanitizer's finding is believed at once, and the first logs stay beside the new ones.
never_again='(wrong|lost|repeated|reordered) [1-9]|Sanitizer|runtime error|SIG(SEGV|BUS|ABRT)|status 1(34|35|39)'
check_again() { # check_again PASS: its jobs that failed; those that pass now are named in $unstable
  local dir=$work/$1 trs test
  for trs in $(find "$dir/test/integration" "$dir/test/roce" -name '*.trs' -print0 2> /dev/null | xargs -0 -r grep -lE '^:global-test-result: (FAIL|ERROR)'); do
    test=${trs#"$dir/"}
    test=${test%.trs}.sh
    [ -e "${trs%.trs}.first" ] && continue # one more try, not more
    grep -A 12 '^not ok' "${trs%.trs}.log" | grep -v '^ok' | grep -qE "$never_again" && continue
    cp "${trs%.trs}.log" "${trs%.trs}.first"
    echo "failed, runs once more: $test"
    grep -m 5 '^not ok' "${trs%.trs}.first" | sed 's/^/  /' || true
    make -C "$dir" check-TESTS TESTS="$test" TESTS_ENVIRONMENT= > "$dir/again.out" 2>&1 &&
      unstable+=("$test: $(grep -m 1 -E '^(not ok|ERROR|Bail out)' "${trs%.trs}.first" || tail -n 1 "${trs%.trs}.first")") ||
      true
  done
}

results() { # results PATTERN: the tests of all passes with that result, as 'pass: test number - name'
  local pass
  for pass in "${passes[@]}"; do
    (cd "$work/$pass" && find . -name '*.log' ! -name config.log ! -name test-suite.log -print0 | sort -z |
      xargs -0 -r grep -hE "^($1): " | sed -E "s|^[A-Z]+: |$pass: |") || true
  done
}
count() { # count PATTERN: by automake's own account
  local pass
  for pass in "${passes[@]}"; do
    find "$work/$pass" -name '*.trs' -print0 | xargs -0 -r grep -hE "^:test-result: ($1)( |$)" || true
  done | wc -l
}

# What a test must not leave: health files, by which the machine would be judged, and folders. Others may be at work here,
# too: what is newer than $work/started.
traces() {
  { find /dev/shm -maxdepth 2 -name '*.health' -user "$(id -u)" -newer "$work/started" 2> /dev/null
    find /tmp -maxdepth 1 \( -name 'ucx-verity-bench-*' -o -name 'verity-health-*' \) -user "$(id -u)" -newer "$work/started" 2> /dev/null
  } || true
}
show_slowest() { # the scripts that took longest (test/tap.sh)
  local pass
  echo "slowest:"
  for pass in "${passes[@]}"; do
    (cd "$work/$pass" && grep -r --include='*.log' '^# took [0-9]* s, ' test 2> /dev/null) | sed "s|\(.*\)\.log:# took \(.*\)|\2: $pass: \1.sh|"
  done | sort -rn | head -n 20 | sed 's/^/  /'
}
# What failed stands last: a record of CI may hold no more than the end.
show_results() { # show_results FAILED: what was skipped and, if FAILED is not 0, what failed
  local failed=$1 pass skipped trs
  skipped=$(count SKIP)
  if [ "$skipped" -gt 0 ]; then
    echo "skipped, and why:"
    results SKIP | sed 's/^/  /; s/ # SKIP / -- /'
  fi
  if [ ${#unstable[@]} -gt 0 ]; then
    echo "failed first and passed when run again, alone (their first logs end in .first):"
    printf '  %s\n' "${unstable[@]}"
  fi
  if [ "$failed" -gt 0 ]; then
    for pass in "${passes[@]}"; do
      { grep -rlE "^:global-test-result: (FAIL|ERROR)" "$work/$pass" --include="*.trs" || true; } | while read -r trs; do
        echo "---- from ${trs%.trs}.log"
        grep -E -A 12 '^(not ok|Bail out|ERROR)|Failure$' "${trs%.trs}.log" | head -n 80 || tail -n 40 "${trs%.trs}.log"
      done
    done
    echo "failed:"
    results 'FAIL|ERROR|XPASS' | sed 's/^/  /'
  fi
}
