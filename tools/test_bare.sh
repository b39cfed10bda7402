#!/bin/bash
# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Runs the commands of README.md, as they are written there, in a bare Debian in a folder that has git
# and a clone of the last commit, and nothing else. It needs root, Debian's mirror, 20 GB, and as
# long as the commands do; a CCACHE_DIR is used there, too. What they print is in build/bare.
#
#   tools/test_bare.sh [SUITE] [NUMBER…]    all of the commands, or these alone (1: the first); SUITE is
#                                           bookworm, which is Debian 12, or trixie, which is 13

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=tools/lib.sh
source tools/lib.sh

if [[ ${1:-} == -h || ${1:-} == --help ]]; then
  sed -n '5,10s/^# \{0,1\}//p' tools/test_bare.sh
  exit 0
fi
suite=bookworm
if [[ ${1:-} =~ ^[a-z]+$ ]]; then
  suite=$1
  shift
fi
if [[ ! "$*" =~ ^[1-9\ ]*$ ]]; then
  say "usage: tools/test_bare.sh [SUITE] [NUMBER…]"
  exit 2
fi
if [[ $(id -u) -ne 0 ]]; then
  say "skipped: tools/test_bare.sh needs root, for a Debian of its own in a folder"
  exit 77
fi
tensorhub_install test
exec python3 -B tests/install/readme_check.py "$TENSORHUB_ROOT" "$TENSORHUB_BUILD_ROOT/debian" \
  "$TENSORHUB_BUILD_ROOT/bare" "$suite" "$@"
