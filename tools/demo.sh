#!/usr/bin/env bash
# One trainer (two ranks) gives five versions of a model to four rollout groups (two ranks each),
# all processes of their own, through a running tensorhub-server; every byte is checked.
#
#   tools/demo.sh [CHECKPOINT]     a safetensors file or a Hugging Face directory;
#                                  without one, a model of 369 MB is made
#
# TENSORHUB_DEMO_SMALL=1   makes one of 153 MB (the tests do)
#
# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0

set -euo pipefail
# shellcheck source=tools/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

readonly RANKS=2 ROLLOUTS=4 VERSIONS=5

temp=""
declare -A names=()  # of the children, by process id

stop_children() {
  local pid
  for pid in "${!names[@]}"; do kill "$pid" 2>/dev/null || true; done
  # A stopped process does not hear the first signal.
  for pid in "${!names[@]}"; do
    timeout 5 tail --pid="$pid" -f /dev/null 2>/dev/null || kill -KILL "$pid" 2>/dev/null || true
    wait "$pid" 2>/dev/null || true
  done
  names=()
}

clean_up() {
  local code=$?
  trap - EXIT INT TERM HUP
  stop_children
  [[ -z $temp ]] || rm -rf "$temp"
  exit "$code"
}

# start NAME COMMAND…: in the background, its output in a log.
start() {
  local name=$1
  shift
  "$@" </dev/null >"$temp/$name.log" 2>"$temp/$name.err" &
  names[$!]=$name
}

# Ends the demonstration, showing what the process said last.
fail() {
  local name=$1 code=$2
  say ""
  say "$name ended with exit code $code:"
  local log
  for log in "$temp/$name.log" "$temp/$name.err" "$temp/server.err"; do
    [[ ! -s $log ]] || tail -n 20 "$log" >&2
  done
  exit 1
}

# Prints the address once the server is ready.
await_server() {
  local pid=$1 tries address
  for ((tries = 0; tries < 300; ++tries)); do
    address=$(sed -n 's/^listening on //p' "$temp/server.log" 2>/dev/null | head -n 1)
    if [[ -n $address ]]; then
      printf '%s\n' "$address"
      return 0
    fi
    kill -0 "$pid" 2>/dev/null || return 1
    sleep 0.1
  done
  return 1
}

start_processes() {
  local bin=$1 rank group
  shift
  for ((rank = 0; rank < RANKS; ++rank)); do
    start "trainer-$rank" "$bin/tensorhub-demo" trainer --rank "$rank" "$@"
    for ((group = 1; group <= ROLLOUTS; ++group)); do
      start "rollout-$group-$rank" "$bin/tensorhub-demo" rollout --group "$group" --rank "$rank" "$@"
    done
  done
  # In the foreground as far as people are concerned: its output is what they watch.
  "$bin/tensorhub-demo" report "$@" </dev/null &
  names[$!]=report
}

# All but the server end by themselves; the first that fails ends the demonstration.
await_processes() {
  local server_pid=$1 pid name code
  while ((${#names[@]} > 1)); do
    code=0
    wait -n -p pid "${!names[@]}" || code=$?
    name=${names[$pid]}
    unset "names[$pid]"
    # A report that fails has said why itself; what is left then is the others' doing.
    if ((code != 0)) || [[ $pid == "$server_pid" ]]; then fail "$name" "$code"; fi
  done
}

main() {
  if [[ ${1:-} == -h || ${1:-} == --help ]]; then
    sed -n '2,8s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
    exit 0
  fi
  [[ $# -le 1 ]] || { say "demo.sh: at most one checkpoint; see --help"; exit 2; }
  local checkpoint=${1:-}
  [[ -z $checkpoint || -e $checkpoint ]] || {
    say "demo.sh: $checkpoint: there is no such file or directory"
    exit 1
  }

  "$TENSORHUB_ROOT/tools/build.sh" release tensorhub-server tensorhub-demo tensorhubctl
  local bin
  bin=$(tensorhub_build_dir release)/bin

  temp=$(mktemp -d "${TMPDIR:-/tmp}/tensorhub-demo.XXXXXX")
  trap clean_up EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP

  if [[ -z $checkpoint ]]; then
    say "making a model"
    checkpoint=$temp/model.safetensors
    "$bin/tensorhub-demo" make-model "$checkpoint" ${TENSORHUB_DEMO_SMALL:+--layers 3}
  fi

  start server "$bin/tensorhub-server" --listen 127.0.0.1:0 --data-dir "$temp/data"
  local server_pid=$! address
  address=$(await_server "$server_pid") || fail server "$?"
  say "tensorhub-server listens on $address"

  local setting=(--server "$address" --checkpoint "$checkpoint" --dir "$temp"
    --ranks "$RANKS" --rollouts "$ROLLOUTS" --versions "$VERSIONS")
  start_processes "$bin" "${setting[@]}"
  await_processes "$server_pid"
  printf '\nwhat the trainer saw:\n'
  cat "$temp"/trainer-*.log
}

main "$@"
