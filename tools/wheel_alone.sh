#!/bin/bash
# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Tries the wheel where there is nothing but Python: in a root file system of its own, which has the
# interpreter, the C and C++ libraries, and PyPI. Installs it there, runs examples/hello.py and says
# how long that took, from nothing to the first synced step.
#
#   tools/wheel_alone.sh [WHEEL [PYTHON]]     (default: build/wheel's, python3)
#   tools/wheel_alone.sh debians [SUITE…]     build/wheel's, in bare Debians: the oldest, whose pip
#                                             refuses it, and the newest (root, Debian's mirror)

set -euo pipefail
# shellcheck source=tools/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

if [[ ${1:-} == -h || ${1:-} == --help ]]; then
  sed -n '5,12s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
  exit 0
fi
debians=
if [[ ${1:-} == debians ]]; then
  debians=yes
  suites=("${@:2}")
  set --
fi
wheel=${1:-$(find "$TENSORHUB_BUILD_ROOT/wheel" -name '*.whl' | head -1)}
[[ -f $wheel ]] || { say "there is no wheel; run tools/wheel.sh"; exit 2; }
if [[ -n $debians ]]; then
  exec python3 -B "$TENSORHUB_ROOT/tests/install/wheel_check.py" "$wheel" "$TENSORHUB_BUILD_ROOT/debian" "${suites[@]}"
fi
mapfile -t places < <("${2:-python3}" -c '
import os, sys, sysconfig
print(os.path.realpath(sys.executable))
print(sysconfig.get_path("stdlib"))
print(sysconfig.get_path("platstdlib"))')
interpreter=${places[0]}

if ! unshare --mount true 2>/dev/null; then
  echo "skipped: this environment lets nobody make a mount namespace"
  exit 0
fi
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT

# Of the system: what the interpreter and its modules link, name resolution, certificates.
needs() {
  { ldd "$interpreter"; find "${places[1]}/lib-dynload" -name '*.so' -exec ldd {} + 2>/dev/null; } |
    awk '$2 == "=>" && $3 ~ /^\// {print $3} $1 ~ /^\/.*ld-linux/ {print $1}' | sort -u
  # The C library has parts that nothing here links, and C++'s comes with any Python that has wheels.
  ls /lib/"$(gcc -print-multiarch)"/lib{c,m,dl,rt,pthread,util,resolv,nss_dns,nss_files,stdc++,gcc_s}.so.[0-9] 2>/dev/null || true
  ls /etc/{resolv.conf,hosts,nsswitch.conf} /etc/ssl/certs/ca-certificates.crt 2>/dev/null || true
}
while read -r file; do
  install -D -m 755 "$(readlink -f "$file")" "$root$file"
done < <(needs)
install -D "$interpreter" "$root$interpreter"
for folder in "${places[@]:1}" /usr/share/python-wheels; do
  [[ ! -d $folder || -d $root$folder ]] && continue
  mkdir -p "$root$folder"
  tar -C "$folder" --exclude=site-packages --exclude=dist-packages --exclude=__pycache__ --exclude=test \
    -cf - . | tar -C "$root$folder" -xf -
done
mkdir -p "$root"/{proc,dev/shm,tmp,sys}
cp "$wheel" "$TENSORHUB_ROOT/examples/hello.py" "$root/tmp/"
find "$root" \( -name 'libuc[mpst].so*' -o -name 'libgrpc*' -o -name 'libabsl*' -o -name 'libprotobuf*' \) |
  grep . && { say "these are not Python's"; exit 1; }

cat > "$root/tmp/try.py" <<'PYTHON'
import glob, os, subprocess, sys, time, venv
began = time.monotonic()
venv.create("/tmp/env", with_pip=True)
python = "/tmp/env/bin/python"
wheel, = glob.glob("/tmp/*.whl")
run = lambda *command: subprocess.run(command, check=True)
run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel, "numpy")
first = None
hello = subprocess.Popen([python, "-X", "faulthandler", "/tmp/hello.py"], stdout=subprocess.PIPE, text=True)
for line in hello.stdout:
    print(line, end="", flush=True)
    if line.startswith("rollout: step 1") and first is None:
        first = time.monotonic() - began
if hello.wait() or first is None:
    sys.exit(f"hello.py failed: {hello.returncode}, first step after {first} s")
run(python, "-c", "import tensorhub; print(tensorhub.info())")
for program in ("tensorhub-server", "tensorhubctl", "tensorhub-agent"):
    run("/tmp/env/bin/" + program, "--version")
print(f"from nothing to the first synced step: {first:.1f} s")
PYTHON

variables=()
for name in PIP_INDEX_URL PIP_EXTRA_INDEX_URL PIP_TRUSTED_HOST HTTPS_PROXY HTTP_PROXY NO_PROXY https_proxy http_proxy no_proxy; do
  [[ -z ${!name:-} ]] || variables+=("$name=${!name}")
done
[[ ! -f $root/etc/ssl/certs/ca-certificates.crt ]] || variables+=(PIP_CERT=/etc/ssl/certs/ca-certificates.crt)
# shellcheck disable=SC2016  # expanded inside
unshare --mount --pid --fork bash -c '
  root=$1; shift
  mount -t proc none "$root/proc"
  mount -t sysfs none "$root/sys" 2>/dev/null
  mount --rbind /dev "$root/dev" 2>/dev/null
  exec env -i HOME=/tmp PATH=/tmp/env/bin "$@"' bash "$root" \
  "${variables[@]}" "$(command -v chroot)" "$root" "$interpreter" -B /tmp/try.py
