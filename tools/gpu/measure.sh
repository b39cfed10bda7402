#!/bin/bash
# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Measures device memory on a machine with a GPU: looks at the machine, runs the tests that need a
# device, and the bench beside the device's own speed. What runs is built here, with a UCX that has
# CUDA, or was packed elsewhere by tools/gpu/pack.sh, which this file is part of then.
#
#   tools/gpu/measure.sh FOLDER [BENCH-FLAG…]     (for example: tools/gpu/measure.sh out --bytes 16GiB)
#
# Into FOLDER: machine.txt, doctor.json and .txt, driver_test.txt, kernels_test.txt, device.json and
# .txt, and reads by UCX in ucx.json and .txt. A UCX that is there already is taken from ucx_ROOT;
# otherwise tools/gpu/get_ucx.sh fetches one.

set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
packed=$([[ -x $here/bin/tensorhub-bench ]] && echo yes || echo no)
if [[ $packed == yes ]]; then
  say() { printf '%s\n' "$*" >&2; }
else
  # shellcheck source=tools/lib.sh
  source "$here/../lib.sh"
fi

if [[ ${1:-} == -h || ${1:-} == --help ]]; then
  sed -n '5,14s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
  exit 0
fi
if [[ $# -lt 1 || $1 == -* ]]; then
  say "usage: tools/gpu/measure.sh FOLDER [BENCH-FLAG…]"
  exit 2
fi
mkdir -p "$1"
folder=$(cd "$1" && pwd)
shift

# need COMMAND WHAT-TO-DO
need() {
  command -v "$1" >/dev/null || { say "$1 is missing: $2"; exit 1; }
}

need nvidia-smi "this machine has no NVIDIA driver; install it, or run the container with the GPUs"
need python3 "install it"
nvidia-smi --list-gpus | grep -q . || { say "nvidia-smi lists no GPU"; exit 1; }

# The folders of programs and of tests into $bin and $tests.
use_packed() {
  bin=$here/bin
  tests=$here/bin
  export LD_LIBRARY_PATH=$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} UCX_MODULE_DIR=$here/lib/ucx
}

build_here() {
  local driver_cuda major configure build
  need cmake "run tools/build.sh once, which installs what building needs"
  need ninja "run tools/build.sh once, which installs what building needs"
  [[ -n $(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null || true) ]] ||
    { say "nvcc is missing: install the CUDA toolkit, or set CUDAToolkit_ROOT and PATH"; exit 1; }
  if [[ -z ${ucx_ROOT:-} ]]; then
    # CUDA 12.8 -> 12: the package of UCX that fits the driver.
    driver_cuda=$(nvidia-smi | sed -n 's/.*CUDA Version: *\([0-9]*\)\..*/\1/p' | head -n 1)
    [[ $driver_cuda =~ ^[0-9]+$ ]] || { say "nvidia-smi does not say which CUDA the driver offers"; exit 1; }
    major=$((driver_cuda >= 13 ? 13 : 12))
    configure=$("$TENSORHUB_ROOT/tools/gpu/get_ucx.sh" "$major")
    ucx_ROOT=${configure##*-Ducx_ROOT=}
  fi
  [[ -d $ucx_ROOT ]] || { say "ucx_ROOT=$ucx_ROOT is no folder"; exit 1; }
  build=$TENSORHUB_BUILD_ROOT/release-gpu
  say "building with the UCX in $ucx_ROOT"
  (cd "$TENSORHUB_ROOT" &&
    cmake --preset release -B "$build" -DTENSORHUB_CUDA=ON -Ducx_ROOT="$ucx_ROOT" >&2 &&
    cmake --build "$build" --target tensorhub-bench tensorhub-server tensorhubctl agent_cuda_test \
      kernels_test >&2)
  bin=$build/bin
  tests=$build/tests
}

if [[ $packed == yes ]]; then use_packed; else build_here; fi

{
  date -u +%Y-%m-%dT%H:%M:%SZ
  cat "$here/commit" 2>/dev/null || git -C "$here" rev-parse HEAD
  uname -srm
  nvidia-smi
  nvidia-smi topo -m
} >"$folder/machine.txt" 2>&1 || true

# Of the one run, so that both forms have the same figures.
print_table='
import json, sys
report = json.load(open(sys.argv[1]))
if "skipped" in report:
    sys.exit("skipped: " + report["skipped"])
line = "{:32} {:>10.4g} {:6} {:>10.4g} {:24} {:>6.3f} {}"
for figure in report["figures"]:
    print(line.format(figure["name"], figure["value"], figure["unit"], figure["limit"],
                      figure["limit_name"], figure["ratio"], "ok" if figure["ok"] else "short"))
for beside in report["beside"]:
    print("{:32} {:>10.4g} {}".format(beside["name"], beside["value"], beside["unit"]))
for note in report["notes"]:
    print("note: " + note)
'

failed=()

# keep NAME COMMAND…: its output into FOLDER/NAME, also where it fails.
keep() {
  local name=$1
  shift
  say "$name"
  "$@" >"$folder/$name" || failed+=("$name")
}

keep doctor.txt "$bin/tensorhubctl" doctor --offline
keep doctor.json "$bin/tensorhubctl" doctor --offline -o json
keep driver_test.txt "$tests/agent_cuda_test" --gtest_filter='*Driver*:*RealDevice*'
keep kernels_test.txt "$tests/kernels_test"
keep device.json "$bin/tensorhub-bench" device --gather all "$@" -o json
keep device.txt python3 -c "$print_table" "$folder/device.json"
keep ucx.json "$bin/tensorhub-bench" device --what reads --by ucx "$@" -o json
keep ucx.txt python3 -c "$print_table" "$folder/ucx.json"
cat "$folder/doctor.txt" "$folder/device.txt" "$folder/ucx.txt"

if ((${#failed[@]} > 0)); then
  say "failed: ${failed[*]} (what they said is in $folder and above)"
  exit 1
fi
say "everything is in $folder"
