#!/bin/bash
# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
#
# All tests, on a machine with nothing but git and apt: installs what is missing, builds, runs.
#
#   tools/test.sh          everything: also thread-safety analysis, sanitizers, clang-tidy, packages,
#                          the demo
#   tools/test.sh quick    format, house rules, release build, unit, simulation and integration tests
#   tools/test.sh engines  the plug-ins in real engines alone (tools/test_engines.sh)
#
# TENSORHUB_JOBS=N   how many things at once (default: the processors)
#
# Goes on after a failure, so that one run shows all of them. The last line is `N passed, N failed`,
# counting each test program and each other check once; the exit status is 1 if anything failed.

set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
# shellcheck source=tools/lib.sh
source tools/lib.sh

if [[ ${1:-} == -h || ${1:-} == --help ]]; then
  sed -n '5,14s/^# \{0,1\}//p' tools/test.sh
  exit 0
fi
mode="${1:-full}"
if [[ $# -gt 1 || ! "$mode" =~ ^(full|quick|engines)$ ]]; then
  echo "usage: tools/test.sh [quick|engines]" >&2
  exit 2
fi
jobs="${TENSORHUB_JOBS:-$(nproc)}"
passed=0
failed=()
times=()

# check NAME COMMAND…: one step; counts once.
check() {
  local name="$1" started=$SECONDS
  shift
  printf '\n=== %s\n' "$name"
  if "$@"; then
    passed=$((passed + 1))
  else
    failed+=("$name")
    printf '!!! %s failed\n' "$name"
  fi
  took "$name" "$started"
}

# ahead NAME COMMAND…: runs COMMAND in the time that the tests beside it leave the processors idle, as
# integration tests do, which mostly wait: the scheduler's idle class keeps it out of their way. One
# at a time, in the order of the calls. Its step is `check … awaited NAME`.
declare -A ahead_of=()
last_ahead=""
ahead() {
  local name="$1" before="$last_ahead"
  shift
  mkdir -p "$TENSORHUB_BUILD_ROOT"
  {
    chrt --idle --pid 0 "$BASHPID" || echo "no idle class here: $name runs beside the tests as they do"
    if [[ -n "$before" ]]; then tail --pid="$before" --follow /dev/null; fi
    "$@"
  } > "$(log_ahead "$name")" 2>&1 &
  last_ahead=$!
  ahead_of[$name]=$!
}

log_ahead() { printf '%s/ahead-%s.log\n' "$TENSORHUB_BUILD_ROOT" "$1"; }

# awaited NAME: waits for what runs ahead, shows what it printed, and has its exit status.
awaited() {
  local status=0
  wait "${ahead_of[$1]}" || status=$?
  cat "$(log_ahead "$1")"
  return "$status"
}

took() {
  local line
  line="$(printf '%5d s  %s' "$((SECONDS - $2))" "$1")"
  times+=("$line")
  printf '=== %s\n' "$line"
}

skip() {
  printf '\n=== %s\nskipped: %s\n' "$1" "$2"
  times+=("skipped  $1: $2")
}

# failures_of RESULTS.xml: the programs that failed or could not be run, but not those that said that
# they cannot be run here.
failures_of() {
  awk -F '"' '
    /<testcase / {
      if (/status="fail"/) print $2
      not_run = /status="notrun"/ ? $2 : ""
      next
    }
    not_run != "" {
      if (!/SKIP_RETURN_CODE/) print not_run
      not_run = ""
    }' "$1"
}

# tests PRESET LABEL [WITHOUT]: the test programs of a label, but for those of another. Each counts once.
tests() {
  local preset="$1" label="$2" without="${3:-}" name="$1: $2 tests" started=$SECONDS
  local folder results program
  folder="$(tensorhub_build_dir "$preset")"
  results="$folder/$label-results.xml"
  printf '\n=== %s\n' "$name"
  rm -f "$results"
  ctest --test-dir "$folder" --label-regex "$label" ${without:+--label-exclude "$without"} --parallel "$jobs" --output-on-failure \
    --no-tests=error --output-junit "$results" || true
  if [[ ! -f "$results" ]]; then
    failed+=("$name: ctest did not run")
  else
    passed=$((passed + $(grep -c '<testcase .*status="run"' "$results")))
    while read -r program; do
      failed+=("$preset: $program")
    done < <(failures_of "$results")
    # What was left out, and why.
    grep -h -A 1 ': Skipped$' "$folder/Testing/Temporary/LastTest.log" | sed 's/^/skipped: /'
    grep -h '^skipped: ' "$folder/Testing/Temporary/LastTest.log"
  fi
  took "$name" "$started"
}

summary() {
  printf '\n=== summary\n'
  printf '%s\n' "${times[@]}"
  printf '%5d s  altogether\n' "$SECONDS"
  if ((${#failed[@]} > 0)); then
    printf 'failed: %s\n' "${failed[@]}"
  fi
  printf '%d passed, %d failed\n' "$passed" "${#failed[@]}"
  ((${#failed[@]} == 0))
}

check "packages" tensorhub_install test
if [[ "$mode" == engines ]]; then
  check "engines: the plug-ins in a real vLLM, SGLang and verl" tools/test_engines.sh
  summary
  exit
fi
# For gpu_test, which is skipped without, and says so.
tools/gpu/get_ucx.sh >/dev/null || true
check "format" tools/lint.sh format
check "scripts" tools/lint.sh shell
check "house rules" tools/lint.sh rules
check "release: build" tensorhub_build release
tests release unit
tests release sim
tests release integration patient
# Not before: those tests take a thread that is held up for a tenth of a second for a fault. The
# patient ones wait most of the time, and look at decisions only.
if [[ "$mode" == full ]]; then
  ahead asan-ubsan tensorhub_build asan-ubsan
  ahead clang-tidy tools/lint.sh tidy "$(tensorhub_build_dir asan-ubsan)"
  ahead tsan-core tensorhub_build tsan-core
  if [[ $(id -u) -eq 0 ]]; then ahead packages tools/packages.sh check; fi
fi
tests release patient
# Late, so that ccache has what the wheel is made of.
check "python: wheel, ruff, mypy, tests" tools/test_python.sh
skip "engines" "environments of 9 GB and minutes; run tools/test.sh engines after a change of the plug-ins"

if [[ "$mode" == full ]]; then
  check "asan-ubsan: build with thread-safety analysis" awaited asan-ubsan
  tests asan-ubsan unit
  tests asan-ubsan integration
  check "clang-tidy" awaited clang-tidy
  check "tsan-core: build" awaited tsan-core
  tests tsan-core unit
  if [[ $(id -u) -eq 0 ]]; then
    check "packages" awaited packages
  else
    skip "packages" "a Debian in a folder needs root"
  fi
  check "kubernetes, alerts" tools/check_deploy.sh
  if [[ -x tools/demo.sh ]]; then
    check "demo" tools/demo.sh
  else
    skip "demo" "there is no tools/demo.sh"
  fi
fi
summary
