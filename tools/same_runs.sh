#!/bin/bash
# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
#
# A seed is one run, whichever compiler built the simulation: so a seed that the sanitizers' build finds
# is repeated by the other one.
#
#   tools/same_runs.sh SIM SIM [SEEDS]

set -euo pipefail
first="$(mktemp)" second="$(mktemp)"
trap 'rm -f "$first" "$second"' EXIT
seeds="${3:-20}"
# A sanitizer takes ten times as long for each second.
trace() { "$1" trace --seed 1 --seeds "$seeds" --seconds 120; }
trace "$1" > "$first"
trace "$2" > "$second"
if ! diff "$first" "$second"; then
  echo "tools/same_runs.sh: $1 and $2 go other ways with one seed: something is drawn in no order, or is not initialised" >&2
  exit 1
fi
echo "$seeds seeds, the same runs"
