#!/usr/bin/env bash
# Installs what building needs and is missing, and builds what a user runs into build/PRESET/bin.
#
#   tools/build.sh [PRESET [TARGET…]]                         (default: release)
#   tools/build.sh release tensorhub-bench tensorhub-sim      what measures and simulates
#
# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0

set -euo pipefail
# shellcheck source=tools/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

if [[ ${1:-} == -h || ${1:-} == --help ]]; then
  sed -n '2,5s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
  exit 0
fi

preset=${1:-release}
[[ $# -eq 0 ]] || shift
[[ $# -gt 0 ]] || set -- tensorhub_binaries

tensorhub_install
tensorhub_build "$preset" "$@"
say "built into $(tensorhub_build_dir "$preset")/bin"
