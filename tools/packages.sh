#!/bin/bash
# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Debian packages, from the release build.
#
#   tools/packages.sh          makes them in build/release/packages, and prints their names
#   tools/packages.sh check    and also: the same bytes when made again, lintian, systemd's own checks,
#                              and a bare Debian in a folder that installs, runs, upgrades and removes
#                              them, and the container images, built and run (needs root, and Debian's
#                              mirror)

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=tools/lib.sh
source tools/lib.sh

if [[ ${1:-} == -h || ${1:-} == --help ]]; then
  sed -n '5,11s/^# \{0,1\}//p' tools/packages.sh
  exit 0
fi
if [[ $# -gt 1 || ! ${1:-check} =~ ^check$ ]]; then
  say "usage: tools/packages.sh [check]"
  exit 2
fi
build=$(tensorhub_build_dir release)
folder=$build/packages

# pack FOLDER: the packages, with the last commit's time in all of them.
pack() {
  rm -rf "$1"
  (cd "$build" && SOURCE_DATE_EPOCH=$(git -c safe.directory='*' -C "$TENSORHUB_ROOT" log -1 --format=%ct) \
    cpack --config CPackConfig.cmake -B "$1" > "$build/cpack.log" 2>&1) ||
    { cat "$build/cpack.log"; say "cpack failed"; return 1; }
  rm -rf "$1/_CPack_Packages"
}

tensorhub_install
tensorhub_build release tensorhub_binaries
pack "$folder"
ls "$folder"/*.deb
if [[ ${1:-} == check ]]; then
  tensorhub_install test
  pack "$folder.again"
  python3 -B tests/install/packages_check.py "$folder" "$folder.again" "$TENSORHUB_BUILD_ROOT/debian"
  python3 -B tests/install/containers_check.py "$folder" "$TENSORHUB_BUILD_ROOT/debian"
fi
