#!/bin/bash
# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Runs server, tool and agent of an earlier release beside today's (tests/upgrade). It builds the
# earlier ones from their revision, which takes minutes, so tools/test.sh does not run it.
#
#   tools/test_upgrade.sh [REVISION]       (default: the newest tag, else packaging/previous_release)
#   tools/test_upgrade.sh --binaries DIR   those in DIR, as the packages of a release bring them

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=tools/lib.sh
source tools/lib.sh

if [[ ${1:-} == -h || ${1:-} == --help ]]; then
  sed -n '5,9s/^# \{0,1\}//p' tools/test_upgrade.sh
  exit 0
fi
programs=(tensorhub-server tensorhubctl tensorhub-agent)

# The revision that is meant, in full.
previous() {
  local named=${1:-}
  [[ -n $named ]] || named=$(git describe --tags --abbrev=0 2>/dev/null) ||
    named=$(grep -v '^#' packaging/previous_release)
  git rev-parse --verify --quiet "$named^{commit}" ||
    { say "$named is no revision here; name one, or fetch the history (git fetch --unshallow)"; return 1; }
}

# build_of REVISION: prints the folder of its programs. It stays for the next run.
build_of() {
  local source=$TENSORHUB_BUILD_ROOT/previous/$1
  if [[ ! -d $source ]]; then
    git worktree prune
    git worktree add --quiet --detach "$source" "$1" >&2 || return
  fi
  env -u TENSORHUB_BUILD_ROOT "$source/tools/build.sh" release "${programs[@]}" >&2 || return
  printf '%s\n' "$source/build/release/bin"
}

tensorhub_install
if [[ ${1:-} == --binaries ]]; then
  old=$2
else
  revision=$(previous "${1:-}")
  old=$(build_of "$revision")
  say "the earlier release: $(git log -1 --format='%h of %cs' "$revision")"
fi
tensorhub_build release "${programs[@]}"
exec python3 -B tests/upgrade/upgrade_test.py "$old" "$(tensorhub_build_dir release)/bin"
