#!/bin/bash
# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Packs what measuring on a GPU needs into a folder that runs on a machine with NVIDIA's driver and
# nothing else of ours: no compiler, no gRPC, no UCX, no network.
#
#   tools/gpu/pack.sh FOLDER     then, there:  FOLDER/measure.sh OUT [PART…] [BENCH-FLAG…]
#
# FOLDER: the programs, the libraries that they load (a UCX with CUDA among them), measure.sh. That
# machine's C library must not be older than this one's.

set -euo pipefail
# shellcheck source=tools/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

if [[ ${1:-} == -h || ${1:-} == --help ]]; then
  sed -n '5,11s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
  exit 0
fi
if [[ $# -ne 1 || $1 == -* ]]; then
  say "usage: tools/gpu/pack.sh FOLDER"
  exit 2
fi
if [[ -e $1 ]]; then
  say "$1 is there already; remove it, or name another folder"
  exit 1
fi
command -v strip >/dev/null || { say "strip is missing: install binutils"; exit 1; }

configure=$("$TENSORHUB_ROOT/tools/gpu/get_ucx.sh")
ucx=${configure##*-Ducx_ROOT=}/lib
tensorhub_build release tensorhub-bench tensorhub-server tensorhubctl agent_cuda_test kernels_test
build=$(tensorhub_build_dir release)

part=$(mktemp -d "$1.part-XXXXXX")
trap 'rm -rf "$part"' EXIT
mkdir "$part/bin" "$part/lib" "$part/lib/ucx"
cp "$build"/bin/tensorhub-{bench,server} "$build/bin/tensorhubctl" \
  "$build"/tests/{agent_cuda_test,kernels_test} "$part/bin"
cp -L "$ucx"/libuc{m,p,s,t}.so.0 "$part/lib"
cp -L "$ucx"/ucx/libuc{m_cuda,t_cuda,t_cma}.so.0 "$part/lib/ucx"
cp -L "$ucx"/../../libucx_cu*.libs/*.so* "$part/lib"

# Whatever else they load, but for the C library's own, which belong to the machine.
for program in "$part"/bin/*; do
  LD_LIBRARY_PATH=$part/lib ldd "$program"
done | awk '$2 == "=>" && $3 ~ /^\// {print $3}' | sort -u |
  grep -vE "^$part|/(libc|libm|libdl|librt|libpthread|libresolv)\.so" |
  xargs -I {} cp -L {} "$part/lib"
find "$part" -type f -exec strip --strip-unneeded {} + 2>/dev/null || true

git -C "$TENSORHUB_ROOT" rev-parse HEAD >"$part/commit"
cp "$TENSORHUB_ROOT/tools/gpu/measure.sh" "$part"
chmod -R u=rwX,go=rX "$part"
mv "$part" "$1"
trap - EXIT
say "$(du -sh "$1" | cut -f 1) in $1; there: $1/measure.sh OUT"
