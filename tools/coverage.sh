#!/bin/bash
# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Which share of the product's lines and branches the tests run, per folder: builds with g++'s
# --coverage in build/coverage what the sanitizers' build has, and runs the tests of some labels.
#
#   tools/coverage.sh [LABEL…]    labels of ctest (default: unit integration)
#   tools/coverage.sh report      the table alone, of what has run in build/coverage so far
#
# TENSORHUB_JOBS=N   how many things at once (default: the processors)
#
# A process that is killed leaves no trace of what it ran. The exit status is 1 if a test failed.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=tools/lib.sh
source tools/lib.sh

if [[ ${1:-} == -h || ${1:-} == --help ]]; then
  sed -n '5,13s/^# \{0,1\}//p' tools/coverage.sh
  exit 0
fi
folder=$(tensorhub_build_dir coverage)
[[ $# -gt 0 ]] || set -- unit integration
failed=0

# The sanitizer that is named looks at functions that end without a value, which costs nothing: with it
# come the sanitizers' choice of tests, and their time.
build() {
  cmake --preset asan-ubsan -B "$folder" -D CMAKE_CXX_COMPILER=g++ -D TENSORHUB_SANITIZE=return \
    -D CMAKE_CXX_FLAGS_DEBUG="-O0 --coverage" >&2
  cmake --build "$folder" --parallel "$(build_jobs)" >&2
}

if [[ $1 != report ]]; then
  tensorhub_install test
  build
  find "$folder" -name '*.gcda' -delete
  for label in "$@"; do
    ctest --test-dir "$folder" --label-regex "^$label\$" --parallel "${TENSORHUB_JOBS:-$(nproc)}" \
      --no-tests=error --output-on-failure >&2 || failed=1
  done
fi
python3 -B tools/coverage.py "$TENSORHUB_ROOT" "$folder"
exit "$failed"
