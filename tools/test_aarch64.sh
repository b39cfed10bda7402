#!/bin/bash
# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Builds unit tests and the simulation for aarch64 by a cross compiler, and runs them under qemu-user. It
# needs Debian's mirror, root for two packages, and, for all of them, 15 minutes of both processors.
# Everything is in build/aarch64. The libraries are unpacked there: the machine's own packages stay
# of one architecture.
#
#   tools/test_aarch64.sh [TEST…]     all, or these alone: common_test, hub_test

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=tools/lib.sh
source tools/lib.sh

if [[ ${1:-} == -* ]]; then
  sed -n '5,10s/^# \{0,1\}//p' tools/test_aarch64.sh
  [[ $1 == -h || $1 == --help ]] && exit 0
  exit 2
fi
folder=$TENSORHUB_BUILD_ROOT/aarch64
export TENSORHUB_SYSROOT=$folder/sysroot
build=$folder/release

# apt as it were on the other machine, on which nothing is installed.
apt_there() {
  mkdir -p "$folder"/apt/{state/lists,cache/archives}/partial
  touch "$folder/apt/status"
  apt-get -qq -o Dir::State="$folder/apt/state" -o Dir::State::status="$folder/apt/status" \
    -o Dir::Cache="$folder/apt/cache" -o APT::Architecture=arm64 -o APT::Architectures=arm64 "$@" >&2
}

# Of what building needs: the libraries. The tools are this machine's.
download() {
  local libraries=() package
  for package in "${tensorhub_build_packages[@]}"; do
    [[ ! $package =~ ^lib|-dev$ ]] || libraries+=("$package")
  done
  apt_there update
  apt_there -y --no-install-recommends --download-only install "${libraries[@]}" libc6-dev libstdc++-12-dev
}

# What packages name by /lib or /usr is of the folder.
make_relative() {
  local link target
  while read -r link; do
    target=$(readlink "$link")
    ln -sfnr "$TENSORHUB_SYSROOT$target" "$link"
  done < <(find "$TENSORHUB_SYSROOT" -type l -lname '/*')
}

make_sysroot() {
  local name package
  rm -rf "$TENSORHUB_SYSROOT"
  mkdir -p "$TENSORHUB_SYSROOT"/usr/{bin,lib,sbin}
  for name in bin lib sbin; do ln -s "usr/$name" "$TENSORHUB_SYSROOT/$name"; done
  for package in "$folder"/apt/cache/archives/*.deb; do
    dpkg-deb --fsys-tarfile "$package" | tar -x --keep-directory-symlink -C "$TENSORHUB_SYSROOT"
  done
  make_relative
  # CMake's files of gRPC and Protobuf look for them there.
  ln -s /usr/bin/grpc_*_plugin /usr/bin/protoc "$TENSORHUB_SYSROOT/usr/bin/"
  touch "$folder/made"
}

# The cross compiler looks for a linker of its own name, and any lld links for all machines.
link_fast() {
  mkdir -p "$folder/bin"
  ln -sf "$(command -v ld.lld)" "$folder/bin/aarch64-linux-gnu-ld.lld"
  PATH=$folder/bin:$PATH
}

tensorhub_install aarch64
if [[ ! -e $folder/made ]]; then
  download && make_sysroot || { say "the libraries for aarch64 could not be had"; exit 1; }
fi
link_fast
cmake --preset release -B "$build" --toolchain cmake/aarch64.cmake >&2
targets=("$@")
[[ $# -gt 0 ]] || targets=(tensorhub_unit tensorhub-sim)
cmake --build "$build" --parallel "$(build_jobs)" --target "${targets[@]}" >&2
if [[ $# -gt 0 ]]; then
  ctest --test-dir "$build" --output-on-failure --no-tests=error -R "^($(IFS='|'; echo "$*"))\$"
  exit
fi
ctest --test-dir "$build" --output-on-failure --no-tests=error --parallel 2 -L '^unit$'
sim=$folder/sim
printf '#!/bin/sh\nexec qemu-aarch64-static -L "%s" "%s" "$@"\n' "$TENSORHUB_SYSROOT" "$build/bin/tensorhub-sim" > "$sim"
chmod +x "$sim"
tensorhub_build release tensorhub-sim
tools/same_runs.sh "$sim" "$(tensorhub_build_dir release)/bin/tensorhub-sim" 5
