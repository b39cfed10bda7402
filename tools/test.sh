#!/bin/bash
# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
#
# The tests, on a machine with nothing but git and apt: installs what is missing, builds, runs.
# tools/test.sh --help says which there are; tools/testing runs them.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=tools/lib.sh
source tools/lib.sh

if [[ ! ${1:-} =~ ^(-h|--help|times)$ ]]; then
  tensorhub_install test || { echo "failed: packages"; echo "0 passed, 1 failed"; exit 1; }
fi
exec python3 -B tools/testing "$@"
