#!/bin/bash
# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Has Spin explore the model of group epochs (tests/model) exhaustively, and checks that it finds each
# fault that is planted in it.
#
#   tools/check_model.sh                 the sound model within its bounds, then each planted fault
#   tools/check_model.sh FLAG…           one exploration, and its counter-example step by step if it
#                                        has one; flags are -DFAULT, -DFETCH and bounds as -DLIVES=3
#
# Fails if the sound model is violated, or a planted fault is not found.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
model=$PWD/tests/model/group_epochs.pml
if ! command -v spin >/dev/null || ! command -v gcc >/dev/null; then
  echo "there is no spin, or no gcc: install the packages spin and gcc" >&2
  exit 1
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
failures=0

# Bounds of the sound model. With CALMS, each run also ends without faults, and must end well.
sound=(
  "-DCALMS=1 -DKILLS=1 -DLEASES=0"
  "-DCUTS=1 -DLEASES=1"
  "-DFETCH -DCALMS=1 -DKILLS=1 -DLEASES=0 -DGIVEUPS=0"
  "-DFETCH -DCALMS=1 -DKILLS=1 -DLEASES=1 -DLIVES=1"
)
# Each breaks what the card of the rule in docs/protocol/rules.md demands.
faults=(
  "VISIBLE_WHEN_BEGUN"
  "EPOCHS_ARE_MIXED"
  "RECOVERY_BEGINS_NO_EPOCH"
  "EPOCHS_ARE_FORGOTTEN"
  "LIFE_IS_NOT_RAISED"
  "ONE_SPEAKS_FOR_ALL -DPROCS=4"
  "RECOVERY_PUBLISHES_AT_ONCE"
  "WHAT_WAITS_OUTLIVES_ITS_EPOCH"
  "WHO_IS_LATE_BELONGS"
  "OLDER_ONE_IS_NO_NEWS"
  "OUTLIVED_SPEAKS"
  "GONE_STAYS_LISTED"
  "COMMIT_BEFORE_ALL -DFETCH"
  "DECISION_IS_NOT_KEPT -DFETCH"
  "FAILED_FETCH_IS_REOPENED -DFETCH -DFETCHES=2 -DGIVEUPS=0 -DLEASES=0"
  "GIVEN_UP_IS_NOT_SAID -DFETCH -DCALMS=1 -DLEASES=0 -DLIVES=1"
)

# explore OPTIMIZATION FLAG…: its report is in ./report, its counter-example in ./*.trail.
explore() {
  local optimization="$1"
  shift
  rm -f ./*.trail
  spin -a "$@" "$model" > report || { cat report; return 1; }
  gcc "$optimization" -w -DSAFETY -DNOREDUCE -DNOBOUNDCHECK -DMEMLIM=4000 -o pan pan.c
  ./pan -m100000 -w22 > report
}

figure() { sed -n "s/$1/\1/p" report | tr -d ' '; }
is_complete() { grep -q 'errors: 0' report && ! grep -q 'Search not completed' report; }
what_failed() { sed -n 's/^pan:1: \(.*\) (at depth .*/\1/p' report; }

if (($# > 0)); then
  explore -O2 "$@"
  grep -E 'errors:|states, stored|elapsed|^pan:1:' report
  if [[ -f group_epochs.pml.trail ]]; then
    spin -k group_epochs.pml.trail -T "$@" "$model" | grep -vP '^\t\t'
  fi
  is_complete
  exit
fi

for flags in "${sound[@]}"; do
  # shellcheck disable=SC2086  # the flags are words
  explore -O2 $flags
  printf 'sound %s: %s states, depth %s, %s s\n' "$flags" "$(figure '^ *\([0-9.e+]*\) states, stored.*')" \
    "$(figure '.*depth reached \([0-9]*\),.*')" "$(figure '.*elapsed time \([0-9.e-]*\) sec.*')"
  if ! is_complete; then
    printf '!!! violated: %s; see tools/check_model.sh %s\n' "$(what_failed)" "$flags"
    failures=$((failures + 1))
  fi
done
for fault in "${faults[@]}"; do
  # shellcheck disable=SC2086
  explore -O0 -DPLANTED=1 -D$fault
  if grep -q '^pan:1: ' report; then
    printf 'found %s: %s\n' "$fault" "$(what_failed)"
  else
    printf '!!! not found: %s\n' "$fault"
    failures=$((failures + 1))
  fi
done
printf '%s explorations, %s failed\n' "$((${#sound[@]} + ${#faults[@]}))" "$failures"
((failures == 0))
