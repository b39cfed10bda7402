#!/usr/bin/env python3
# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""The images of deploy/containers are built and run, without a registry or an engine: the base is
the bare Debian that packages_check.py keeps.

Usage: containers_check.py PACKAGES CACHE
       PACKAGES  what tools/packages.sh has made
       CACHE     where packages_check.py keeps its Debian
Root. Prints what was checked, and exits with 1 at the first thing that is not so.
"""

import contextlib
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

FILE = pathlib.Path(__file__).resolve().parents[2] / "deploy" / "containers" / "Containerfile"
BASE = "localhost/tensorhub-bookworm"
# The containers of this test share the host's network.
ADDRESS = "127.0.0.1:7971"


class Buildah:
    """Its store is a folder of its own, which goes with it."""

    def __init__(self, folder):
        self.environment = {
            **os.environ, "STORAGE_DRIVER": "vfs", "BUILDAH_ISOLATION": "chroot", "TMPDIR": folder,
        }
        self.store = ["--root", f"{folder}/images", "--runroot", f"{folder}/run"]

    def command(self, verb, *arguments):
        return ["buildah", *self.store, verb, *map(str, arguments)]

    def run(self, verb, *arguments):
        done = subprocess.run(
            self.command(verb, *arguments), env=self.environment, capture_output=True, text=True,
            check=False,
        )
        if done.returncode != 0:
            sys.exit(f"buildah {verb} ends with {done.returncode}:\n{done.stdout}{done.stderr}")
        return done.stdout.strip()

    def start(self, *arguments):
        return subprocess.Popen(
            self.command("run", *arguments), env=self.environment, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True,
        )


def expect(holds, what):
    if not holds:
        sys.exit(f"not so: {what}")
    print(f"  {what}", flush=True)


def image_of(buildah, target, packages):
    buildah.run(
        "bud", "-q", "-f", FILE, "--build-arg", f"BASE={BASE}", "--target", target, "-t", target,
        packages,
    )
    return buildah.run("from", f"localhost/{target}")


def answer_of(buildah, tools, deadline=20.0):
    """What `tensorhubctl status` says, once the server is there."""
    end = time.monotonic() + deadline
    while True:
        done = subprocess.run(
            buildah.command("run", tools, "--", "tensorhubctl", "--server", ADDRESS, "status"),
            env=buildah.environment, capture_output=True, text=True, check=False,
        )
        if done.returncode == 0 or time.monotonic() > end:
            return done.stdout + done.stderr
        time.sleep(0.2)


def check_server(buildah, server, tools):
    running = buildah.start(
        server, "--", "tensorhub-server", "--listen", ADDRESS, "--data-dir", "/var/lib/tensorhub"
    )
    try:
        status = answer_of(buildah, tools)
        expect(f"Listens on: {ADDRESS}" in status, "the tools' image reaches the server's")
    finally:
        # The server itself, and not buildah, whose command line has this as well.
        pattern = rf"^(/usr/bin/)?tensorhub-server --listen {re.escape(ADDRESS)}"
        subprocess.run(["pkill", "-TERM", "-f", pattern], check=False)
        text, _ = running.communicate(timeout=30)
    expect(running.returncode == 0, f"SIGTERM ends the server: {text.splitlines()[-1]}")


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    packages, cache = map(pathlib.Path, sys.argv[1:])
    with contextlib.ExitStack() as stack:
        folder = tempfile.mkdtemp(prefix="tensorhub-containers-")
        # Never through a mount: the machine's own devices lie behind one.
        remove = ["rm", "--one-file-system", "-rf", folder]
        stack.callback(subprocess.run, remove, check=True)
        buildah = Buildah(folder)
        base = buildah.run("from", "scratch")
        buildah.run("add", "-q", base, cache / "bookworm.tar", "/")
        buildah.run("commit", "-q", base, BASE)
        images = {name: image_of(buildah, name, packages) for name in ("server", "agent", "tools")}
        for name, program in (
            ("server", "tensorhub-server"), ("agent", "tensorhub-agent"), ("tools", "tensorhubctl"),
        ):
            expect(
                program in buildah.run("run", images[name], "--", program, "--version"),
                f"{name}: {program} runs",
            )
            user = buildah.run("run", images[name], "--", "id", "-u")
            expect(user == "65532", f"{name}: not as root")
        check_server(buildah, images["server"], images["tools"])
        for container in (base, *images.values()):
            buildah.run("rm", container)


if __name__ == "__main__":
    main()
