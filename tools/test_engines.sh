#!/bin/bash
# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Tests the engine plug-ins (python/tests_engines) in real engines on the CPU: vLLM, SGLang, and verl's
# manager under Ray. Models are tiny and random. Each engine has an environment of its own from PyPI, in
# build/engines, since they want other versions of torch and transformers. The first run makes them: six
# minutes, 9 GB. Then some minutes on two cores, most of which the engines take to start.
#
#   tools/test_engines.sh [ENGINE | TEST FILE…]     (default: vllm, sglang and verl)

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=tools/lib.sh
source tools/lib.sh

if [[ ${1:-} == -h || ${1:-} == --help ]]; then
  sed -n '5,10s/^# \{0,1\}//p' tools/test_engines.sh
  exit 0
fi
declare -A torch=([vllm]=2.13.0 [sglang]=2.14.1 [verl]=2.11.0)
tests=python/tests_engines
quiet=(--quiet --disable-pip-version-check)

# Of engine $1. Its tests are in test_ENGINE*.py.
environment() { printf '%s/engines/%s\n' "$TENSORHUB_BUILD_ROOT" "$1"; }

make_environment() {
  local env requirements=$tests/requirements_$1.txt
  env=$(environment "$1")
  cmp --quiet "$requirements" "$env/made_of" && return
  say "making an environment with $1 in $env, from PyPI: two minutes, 2.4 to 3.7 GB"
  rm -rf "$env"
  python3 -m venv "$env"
  "$env/bin/pip" install "${quiet[@]}" pytest nanobind-backend 'setuptools>=77.0.3,<81'
  tools/python_torch.sh "${torch[$1]}" "$env" >&2
  "$env/bin/pip" install "${quiet[@]}" --no-deps --requirement "$requirements"
  cp "$requirements" "$env/made_of"
}

# The engine that a test file is for, or nothing.
engine_of() {
  local engine
  for engine in "${!torch[@]}"; do
    if [[ ${1##*/} == test_$engine*.py ]]; then printf '%s\n' "$engine"; fi
  done
}

files=()
if (($# == 0)); then set -- vllm sglang verl; fi
for given in "$@"; do
  if [[ -v torch[$given] ]]; then
    files+=("$tests/test_$given"*.py)
  elif [[ -f $given && -n $(engine_of "$given") ]]; then
    files+=("$given")
  else
    say "$given is no engine (${!torch[*]}) and no test file of one"
    exit 2
  fi
done

wheel=$(tools/wheel.sh | tail -1)
export PYTHONDONTWRITEBYTECODE=1
TENSORHUB_TEST_ENGINES=$(mktemp -d)
export TENSORHUB_TEST_ENGINES
trap 'rm -rf "$TENSORHUB_TEST_ENGINES"' EXIT

declare -A ready=()
# With the wheel; of vLLM also what its tests compare with.
prepare() {
  local env
  [[ -z ${ready[$1]:-} ]] || return 0
  env=$(environment "$1")
  make_environment "$1"
  "$env/bin/pip" install "${quiet[@]}" --force-reinstall --no-deps "$wheel"
  if [[ $1 == vllm ]]; then "$env/bin/python" $tests/engines.py "$TENSORHUB_TEST_ENGINES"; fi
  ready[$1]=1
}

failed=0
for file in "${files[@]}"; do  # each in its own process, as vLLM has one engine in one
  engine=$(engine_of "$file")
  prepare "$engine"
  # SGLang on a CPU wants some names of vLLM.
  PYTHONPATH=$([[ $engine != sglang ]] || printf '%s' "$PWD/$tests/sglang_shim") \
    "$(environment "$engine")/bin/python" -m pytest -rs --rootdir $tests "$file" || failed=1
done
exit "$failed"
