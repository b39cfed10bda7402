#!/bin/bash
# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Tests the Python package as users get it: builds the wheel, installs it into build/python, and runs
# ruff, mypy --strict and python/tests there. tools/python_torch.sh adds what needs torch.
#
#   tools/test_python.sh [PYTEST ARGUMENT…]

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=tools/lib.sh
source tools/lib.sh

if [[ ${1:-} == -h || ${1:-} == --help ]]; then
  sed -n '5,8s/^# \{0,1\}//p' tools/test_python.sh
  exit 0
fi
failed=0
step() { "$@" || { printf '!!! %s failed\n' "${1##*/}${2:+ $2}"; failed=1; }; }

wheel=$(tools/wheel.sh | tail -1)
env=$(tensorhub_python_env)
"$env/bin/pip" install --quiet --disable-pip-version-check --force-reinstall --no-deps "$wheel"
export PYTHONDONTWRITEBYTECODE=1
step "$env/bin/ruff" check --no-cache
step "$env/bin/ruff" format --no-cache --check --quiet
step "$env/bin/mypy" --cache-dir "$TENSORHUB_BUILD_ROOT/python/mypy"
step "$env/bin/python" -m pytest "$@"
step "$env/bin/python" examples/hello.py
exit "$failed"
