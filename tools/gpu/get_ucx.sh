#!/bin/bash
# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Fetches a UCX with CUDA, as the Python package that NVIDIA publishes (no Python is needed to use
# it), unpacks it into build/ucx, and says how to build with it.
#
#   tools/gpu/get_ucx.sh [CUDA_MAJOR [VERSION]]     (default: 13 1.22.0)
#
# It has CUDA and shared memory, but no RDMA: docs/gpu.md says where to get one that has.

set -euo pipefail
# shellcheck source=tools/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

if [[ ${1:-} == -h || ${1:-} == --help ]]; then
  sed -n '5,10s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
  exit 0
fi
cuda=${1:-13}
version=${2:-1.22.0}
if [[ $# -gt 2 || ! $cuda =~ ^[0-9]+$ || ! $version =~ ^[0-9]+(\.[0-9a-z]+)*$ ]]; then
  say "usage: tools/gpu/get_ucx.sh [CUDA_MAJOR [VERSION]], for example: tools/gpu/get_ucx.sh 12 1.20.1"
  exit 2
fi

folder=$TENSORHUB_BUILD_ROOT/ucx/cuda$cuda-$version
if [[ ! -d $folder/libucx ]]; then
  python3 -m pip --version >/dev/null 2>&1 || { say "pip is needed to fetch it: install python3-pip"; exit 1; }
  download=$(mktemp -d)
  trap 'rm -rf "$download"' EXIT
  python3 -m pip download --quiet --disable-pip-version-check --timeout 15 --retries 2 --no-deps \
    --only-binary=:all: --dest "$download" "libucx-cu$cuda==$version" >&2 ||
    { say "pip could not fetch libucx-cu$cuda $version (pip index versions libucx-cu$cuda lists them)"; exit 1; }
  mkdir -p "$folder"
  # Into place by a rename, so that half a folder is never taken for a whole one.
  python3 -m zipfile -e "$download"/*.whl "$download/unpacked"
  cp -r "$download"/unpacked/. "$folder.part"
  rm -rf "$folder"
  mv "$folder.part" "$folder"
fi

say "UCX $version for CUDA $cuda is in $folder/libucx. To build with it:"
printf 'cmake --preset release -B %q -Ducx_ROOT=%q\n' \
  "$TENSORHUB_BUILD_ROOT/release-ucx$version" "$folder/libucx"
