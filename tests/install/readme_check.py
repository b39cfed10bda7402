#!/usr/bin/env python3
# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""The commands that README.md promises for a Debian with nothing but git and apt, in such a one: a
bare Debian in a folder, with git, and with a clone of this checkout's last commit.

Usage: readme_check.py CHECKOUT CACHE LOGS SUITE [NUMBER…]
  SUITE    which Debian: bookworm, trixie
  CACHE    keeps the bare Debian, which debootstrap fetches
  LOGS     a folder for what the commands print
  NUMBER   runs these alone of README.md's commands (1: the first)

Shows the end of a log whose command failed, and goes on. Exits with 1 if one did. Root.
"""

import os
import pathlib
import re
import subprocess
import sys
import time

from debian import bare_debian, in_own_namespaces, run

HEADING = "## Two commands"
CLONE = "root/tensorhub"
SHOWN = 60
# A caller's cache of compilations, and what its proxy needs. Nothing else of this machine comes in.
KEPT = re.compile("CCACHE_DIR|TENSORHUB_JOBS|.*_(proxy|PROXY)|(PIP|SSL)_CERT(_FILE)?")


def commands_of(readme):
    """Of the block behind the heading: without comments, and without what may be left out."""
    block = re.search(f"^{HEADING}\n.*?^```sh\n(.*?)^```", readme, re.DOTALL | re.MULTILINE)
    lines = [re.sub(r"\[[A-Z]+\]|#.*", "", line) for line in block.group(1).splitlines()]
    return [line.strip() for line in lines if line.strip()]


def clone(checkout, debian):
    """By this machine's git: what the checkout is a worktree of is not within."""
    run("git", "-c", "safe.directory=*", "clone", "--quiet", "--no-hardlinks", checkout,
        debian.root / CLONE)  # fmt: skip
    run("git", "-C", debian.root / CLONE, "log", "-1", "--format=%h %s")


def environment(debian):
    kept = {name: value for name, value in os.environ.items() if KEPT.fullmatch(name)}
    if "CCACHE_DIR" in kept:
        inside = debian.root / kept["CCACHE_DIR"].lstrip("/")
        inside.mkdir(parents=True)
        run("mount", "--bind", kept["CCACHE_DIR"], inside)
    return {**kept, "HOME": "/root", "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}


def succeeds(debian, command, log, variables):
    """As a person types it, with nobody to answer questions."""
    print(f"=== {command}   (log: {log})", flush=True)
    begun = time.monotonic()
    with open(log, "w", encoding="utf-8") as output:
        entered = debian.entered("sh", "-c", f"cd /{CLONE} && {command}")
        done = subprocess.run(entered, env=variables, stdin=subprocess.DEVNULL, stdout=output,
                              stderr=subprocess.STDOUT, check=False)  # fmt: skip
    how = "passed" if done.returncode == 0 else f"FAILED with {done.returncode}"
    print(f"=== {command}: {how}, {time.monotonic() - begun:.0f} s", flush=True)
    if done.returncode != 0:
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
        print(*lines[-SHOWN:], sep="\n", flush=True)
    return done.returncode == 0


def main():
    if len(sys.argv) < 5:
        sys.exit(__doc__)
    in_own_namespaces()
    checkout, cache, logs = map(pathlib.Path, sys.argv[1:4])
    commands = commands_of((checkout / "README.md").read_text(encoding="utf-8"))
    if len(commands) < 2:
        sys.exit(f"readme_check.py: README.md has no two commands behind {HEADING!r}: {commands}")
    suite = sys.argv[4]
    wanted = [int(number) for number in sys.argv[5:]] or range(1, len(commands) + 1)
    logs.mkdir(parents=True, exist_ok=True)
    with bare_debian(cache, suite) as debian:
        debian.apt("update")
        debian.apt("install", "-y", "--no-install-recommends", "git")
        clone(checkout, debian)
        variables = environment(debian)
        done = [succeeds(debian, commands[number - 1], logs / f"{suite}-{number}.log", variables)
                for number in wanted]  # fmt: skip
    sys.exit(0 if all(done) else 1)


if __name__ == "__main__":
    main()
