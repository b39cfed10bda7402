#!/bin/bash
# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Tests the engine plug-ins (python/tests_engines) in a real vLLM on the CPU, with tiny random models.
# The first run makes build/engines from PyPI: two minutes, 2.9 GB. Then some minutes on two cores,
# most of which vLLM takes to start.
#
#   tools/test_engines.sh [TEST FILE…]     (default: all)

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=tools/lib.sh
source tools/lib.sh

if [[ ${1:-} == -h || ${1:-} == --help ]]; then
  sed -n '5,9s/^# \{0,1\}//p' tools/test_engines.sh
  exit 0
fi
env=$TENSORHUB_BUILD_ROOT/engines
requirements=python/tests_engines/requirements.txt
pip=("$env/bin/pip" install --quiet --disable-pip-version-check)

make_environment() {
  local made_of=$env/made_of
  cmp --quiet "$requirements" "$made_of" && return
  say "making an environment with vLLM in $env, from PyPI: two minutes, 2.9 GB"
  rm -rf "$env"
  python3 -m venv "$env"
  "${pip[@]}" numpy pytest nanobind-backend 'setuptools>=77.0.3,<81'
  tools/python_torch.sh 2.13.0 "$env" >&2
  "${pip[@]}" --no-deps --requirement "$requirements"
  cp "$requirements" "$made_of"
}

make_environment
wheel=$(tools/wheel.sh | tail -1)
"${pip[@]}" --force-reinstall --no-deps "$wheel"
export PYTHONDONTWRITEBYTECODE=1
TENSORHUB_TEST_ENGINES=$(mktemp -d)
export TENSORHUB_TEST_ENGINES
trap 'rm -rf "$TENSORHUB_TEST_ENGINES"' EXIT
"$env/bin/python" python/tests_engines/engines.py "$TENSORHUB_TEST_ENGINES"

if (($# == 0)); then set -- python/tests_engines/test_*.py; fi
failed=0
for file in "$@"; do  # each in its own process, as vLLM has one engine in one
  "$env/bin/python" -m pytest --rootdir python/tests_engines "$file" || failed=1
done
exit "$failed"
