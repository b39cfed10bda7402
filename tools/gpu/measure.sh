#!/bin/bash
# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Measures device memory on a machine with a GPU: looks at the machine, runs the tests that need a
# device, and the bench beside the device's own speed. What runs is built here, with a UCX that has
# CUDA, or was packed elsewhere by tools/gpu/pack.sh, which this file is part of then.
#
#   tools/gpu/measure.sh FOLDER [PART…] [BENCH-FLAG…]
#   tools/gpu/measure.sh out --bytes 16GiB
#   tools/gpu/measure.sh out reads digests --quick     # does it work at all?
#
# PART: machine doctor tests reads digests host-copies ucx (reads by UCX); all of them if none is
# given. Into FOLDER: machine.txt, doctor.txt, tests.txt, a .json of each of the others, and, added to
# by each run, tables.txt and log.txt. A UCX that is there already is taken from ucx_ROOT; otherwise
# tools/gpu/get_ucx.sh fetches one.

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
  sed -n '5,18s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
  exit 0
fi
if [[ $# -lt 1 || $1 == -* ]]; then
  say "usage: tools/gpu/measure.sh FOLDER [PART…] [BENCH-FLAG…]"
  exit 2
fi
all=(machine doctor tests reads digests host-copies ucx)
out=$1
shift
parts=()
while [[ $# -gt 0 && $1 != -* ]]; do
  [[ " ${all[*]} " == *" $1 "* ]] || { say "no part $1; there are: ${all[*]}"; exit 2; }
  parts+=("$1")
  shift
done
((${#parts[@]} > 0)) || parts=("${all[@]}")
mkdir -p "$out"
folder=$(cd "$out" && pwd)

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

# keep PART FILE COMMAND…: its output into FOLDER/FILE, also where it fails; what it says into log.txt.
keep() {
  local part=$1 file=$2 started=$SECONDS
  shift 2
  say "$part"
  "$@" >"$folder/$file" 2> >(tee -a "$folder/log.txt" >&2) || failed+=("$part")
  say "$part took $((SECONDS - started)) s"
  { echo "== $part, $(date -u +%Y-%m-%dT%H:%M:%SZ)"; show "$folder/$file"; } >>"$folder/tables.txt"
}

# show FILE: as people read it.
show() {
  case $1 in
    */machine.txt | */tests.txt) tail -n 5 "$1" ;;
    *.txt) cat "$1" ;;
    *) python3 -c "$print_table" "$1" || true ;;
  esac
}

look_at_machine() {
  date -u +%Y-%m-%dT%H:%M:%SZ
  cat "$here/commit" 2>/dev/null || git -C "$here" rev-parse HEAD
  uname -srm
  nproc
  free -g || true
  nvidia-smi
  nvidia-smi topo -m || true
}

run_tests() {
  local ok=0
  "$tests/agent_cuda_test" --gtest_filter='*Driver*:*RealDevice*' || ok=1
  "$tests/kernels_test" || ok=1
  # A device that is there and not used is a failure here.
  ! grep -q 'SKIPPED \] Real' "$folder/tests.txt" || ok=1
  return $ok
}

# bench PART FLAG…
bench() {
  local part=$1
  shift
  keep "$part" "$part.json" "$bin/tensorhub-bench" device "$@" -o json
  ! grep -q '"skipped"' "$folder/$part.json" || failed+=("$part")
}

for part in "${parts[@]}"; do
  case $part in
    machine) keep machine machine.txt look_at_machine ;;
    doctor) keep doctor doctor.txt "$bin/tensorhubctl" doctor --offline ;;
    tests) keep tests tests.txt run_tests ;;
    reads) bench reads --what reads --gather all "$@" ;;
    ucx) bench ucx --what reads --by ucx "$@" ;;
    *) bench "$part" --what "$part" "$@" ;;
  esac
done
cat "$folder/tables.txt"

if ((${#failed[@]} > 0)); then
  say "failed: ${failed[*]} (what they said is in $folder/log.txt)"
  exit 1
fi
say "everything is in $folder"
