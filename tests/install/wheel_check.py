#!/usr/bin/env python3
# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""The wheel in bare Debians: the oldest and the newest that can be had are given Python, and
nothing else. There pip installs it, and a trainer and a rollout sync. Where the C library is older
than the wheel's tag says, pip refuses it and names it.

Usage: wheel_check.py WHEEL CACHE [SUITE…]
  CACHE   keeps the bare Debians, which debootstrap fetches
  SUITE   of Debian, instead of all: bullseye, bookworm, trixie

Root.
"""

import pathlib
import shutil
import subprocess
import sys

from debian import bare_debian, expect, in_own_namespaces

ROOT = pathlib.Path(__file__).resolve().parents[2]
INSTALL = ("/env/bin/pip", "install", "--quiet", "--disable-pip-version-check")
# Debian 11: glibc 2.31.
TOO_OLD, GOOD = "bullseye", ("bookworm", "trixie")
OLDER_GLIBC = ("--target", "/refused", "--only-binary", ":all:", "--no-deps", "--python-version",
               "3.10", "--platform", "manylinux_2_33_x86_64")  # fmt: skip


def with_python(debian, wheel):
    """What pip is given."""
    debian.apt("update")
    debian.apt("install", "-y", "--no-install-recommends", "python3-venv", "ca-certificates")
    debian.run("update-ca-certificates", stdout=subprocess.DEVNULL)
    debian.run("python3", "-m", "venv", "/env")
    for file in (wheel, ROOT / "examples/hello.py"):
        shutil.copy(file, debian.root / "root")
    return f"/root/{wheel.name}"


def check_refused(debian, *words):
    done = subprocess.run(["chroot", debian.root, *INSTALL, *words], check=False, text=True,
                          capture_output=True)  # fmt: skip
    lines = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
    expect(done.returncode != 0 and len(lines) == 1 and "is not a supported wheel" in lines[0],
           f"pip says in one line: {lines}")  # fmt: skip


def check_syncs(debian, name):
    debian.run(*INSTALL, "--cert", "/etc/ssl/certs/ca-certificates.crt", name, "numpy")
    done = debian.run("/env/bin/python", "/root/hello.py", stdout=subprocess.PIPE)
    expect("rollout: step 1" in done.stdout, "hello.py syncs")
    for program in ("tensorhub-server", "tensorhubctl", "tensorhub-agent"):
        debian.run(f"/env/bin/{program}", "--version")


def main():
    if len(sys.argv) < 3 or not set(sys.argv[3:]) <= {TOO_OLD, *GOOD}:
        sys.exit(__doc__)
    in_own_namespaces()
    wheel, cache = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
    for suite in sys.argv[3:] or (TOO_OLD, *GOOD):
        with bare_debian(cache, suite) as debian:
            name = with_python(debian, wheel)
            if suite == TOO_OLD:
                check_refused(debian, name)
                continue
            check_refused(debian, *OLDER_GLIBC, name)
            check_syncs(debian, name)


if __name__ == "__main__":
    main()
