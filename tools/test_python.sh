#!/bin/bash
# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Tests the Python package as users get it: builds the wheel, installs it into build/python, and runs
# ruff, mypy --strict and python/tests there. A new build/python gets torch (tools/python_torch.sh: a
# minute, 1.4 GB), which stays.
#
#   tools/test_python.sh [PYTEST ARGUMENT…]
#   tools/test_python.sh --environment             only makes the environment
#   tools/test_python.sh --wheel-is-built [PYTEST ARGUMENT…]

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=tools/lib.sh
source tools/lib.sh

if [[ ${1:-} == -h || ${1:-} == --help ]]; then
  sed -n '5,11s/^# \{0,1\}//p' tools/test_python.sh
  exit 0
fi
failed=0
step() { "$@" || { printf '!!! %s failed\n' "${1##*/}${2:+ $2}"; failed=1; }; }

# A torch that was put there halfway, since somebody interrupted it, lacks the mark.
make_environment() {
  env=$(tensorhub_python_env)
  if [[ ! -f $env/has_torch ]]; then
    say "installing torch for the tests of modules: a minute, 1.4 GB in $env"
    tools/python_torch.sh && touch "$env/has_torch"
  fi
}

step make_environment
if [[ ${1:-} == --environment ]]; then
  exit "$failed"
fi
if [[ ${1:-} == --wheel-is-built ]]; then
  shift
  wheel=$(find "$TENSORHUB_BUILD_ROOT/wheel" -name '*.whl')
else
  wheel=$(tools/wheel.sh | tail -1)
fi
"$env/bin/pip" install --quiet --disable-pip-version-check --force-reinstall --no-deps "$wheel"
export PYTHONDONTWRITEBYTECODE=1
# For the tests of two UCX in one process: the package libucx, which tools/wheel.sh has fetched.
TENSORHUB_TEST_LIBUCX=$(find "$TENSORHUB_BUILD_ROOT/ucx" -mindepth 1 -maxdepth 1 -type d | sort | tail -1)
export TENSORHUB_TEST_LIBUCX
step "$env/bin/ruff" check --no-cache
step "$env/bin/ruff" format --no-cache --check --quiet
step "$env/bin/mypy" --cache-dir "$TENSORHUB_BUILD_ROOT/python/mypy"
step "$env/bin/python" -m pytest "$@"
step "$env/bin/python" examples/hello.py
exit "$failed"
