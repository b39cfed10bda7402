#!/bin/bash
# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Fuzzes what strangers can reach (tests/fuzz; docs/testing.md, "Fuzzers").
#
#   tools/fuzz.sh [SECONDS] [TARGET…]    each TARGET (all; e.g. hub, layout) for so long (60 s)
#
# TENSORHUB_JOBS=N   how many at once (default: the processors)
#
# What is learnt stays in build/asan-ubsan/tests/fuzz/corpus, and the next run begins there. Prints a
# line per target; the exit status is 1 if one of them found something, and the line says where.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=tools/lib.sh
source tools/lib.sh

all=()
for source in tests/fuzz/*_fuzz.cc; do
  name=${source##*/}
  all+=("${name%_fuzz.cc}")
done
duration="${1:-60}"
targets=("${@:2}")
if ((${#targets[@]} == 0)); then targets=("${all[@]}"); fi
if [[ ! "$duration" =~ ^[1-9][0-9]*$ ]]; then
  echo "usage: tools/fuzz.sh [SECONDS] [TARGET…]; targets: ${all[*]}" >&2
  exit 2
fi
for target in "${targets[@]}"; do
  if [[ " ${all[*]} " != *" $target "* ]]; then
    echo "tools/fuzz.sh: no target $target; there are: ${all[*]}" >&2
    exit 2
  fi
done

tensorhub_install test
tensorhub_build asan-ubsan "${targets[@]/#/fuzz_}"
folder="$(tensorhub_build_dir asan-ubsan)/tests"

# fuzz FOLDER SECONDS TARGET
fuzz() {
  local log="$1/fuzz/$3.log"
  if "$1/fuzz_$3" "-max_total_time=$2" -timeout=20 -print_final_stats=1 \
    "-artifact_prefix=$1/fuzz/$3-" "$1/fuzz/corpus/$3" >"$log" 2>&1; then
    printf '%-14s ok, %s inputs\n' "$3" \
      "$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")"
  else
    printf '%-14s FAILED: see %s; %s\n' "$3" "$log" \
      "$(sed -n 's/^artifact_prefix.*Test unit written to /the input is /p' "$log" | tail -n 1)"
    return 1
  fi
}
export -f fuzz

printf '%s\n' "${targets[@]}" |
  xargs -P "${TENSORHUB_JOBS:-$(nproc)}" -I '{}' bash -c "fuzz '$folder' '$duration' '{}'"
