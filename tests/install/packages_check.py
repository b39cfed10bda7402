#!/usr/bin/env python3
# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""What must hold of the Debian packages: the same bytes when they are made again; lintian; the
checks that systemd has for units; and, in a bare Debian in a folder, an installation, a first
fetch, an upgrade that keeps data and configuration, a removal that leaves them, and a purge.

Usage: packages_check.py PACKAGES PACKAGES_AGAIN CACHE
  CACHE   keeps the bare Debian, which debootstrap fetches

Prints the seconds from the packages to the first fetch. Root. Mounts are of a namespace of its own,
and so are processes, so that none is left.
"""

import contextlib
import filecmp
import json
import os
import pathlib
import re
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time

SUITE = "bookworm"
UNITS = ("tensorhub-server", "tensorhub-agent")
# Ten times what systemd calls exposure. An agent needs more (its unit says why).
EXPOSURE_MOST = {"tensorhub-server": 20, "tensorhub-agent": 50}
EARLIER = "0.0.1"
DATA = "var/lib/tensorhub"
MOUNTED = ("proc", "sys", "dev")


def run(*command, **options):
    print("$", " ".join(map(str, command)), flush=True)
    return subprocess.run([str(word) for word in command], check=True, text=True, **options)


def expect(condition, what):
    if not condition:
        sys.exit(f"BAD: {what}")
    print("ok:", what, flush=True)


class Debian:
    """A bare Debian in a folder, entered by chroot."""

    def __init__(self, folder, cache):
        self.root = folder
        base = cache / f"{SUITE}.tar"
        if not base.exists():
            cache.mkdir(parents=True, exist_ok=True)
            fresh = pathlib.Path(tempfile.mkdtemp(dir=cache))
            fresh.chmod(0o755)
            run("debootstrap", "--variant=minbase", SUITE, fresh, stdout=subprocess.DEVNULL)
            run("tar", "-C", fresh, "-cf", base.with_suffix(".new"), ".")
            base.with_suffix(".new").rename(base)
            shutil.rmtree(fresh)
        run("tar", "-C", folder, "-xf", base)
        shutil.copy("/etc/resolv.conf", folder / "etc/resolv.conf")
        (folder / "usr/sbin/policy-rc.d").write_text("#!/bin/sh\nexit 101\n")
        (folder / "usr/sbin/policy-rc.d").chmod(0o755)

    def run(self, *command, **options):
        return run("chroot", self.root, *command, **options)

    def apt(self, *words):
        self.run("env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq", "-o",
                 "Dpkg::Use-Pty=0", *words, stdout=subprocess.DEVNULL)  # fmt: skip

    def install(self, packages):
        shutil.rmtree(self.root / "packages", ignore_errors=True)
        shutil.copytree(packages, self.root / "packages")
        names = sorted(f"/packages/{deb.name}" for deb in packages.glob("*.deb"))
        self.apt("install", "-y", "--no-install-recommends", *names)

    def traces(self):
        """What of ours is left."""
        names = {"tensorhub", "tensorhubctl", "libtensorhub"}
        found = []
        for top in ("etc", "usr", "var/lib"):
            for path in (self.root / top).rglob("*tensorhub*"):
                inside = path.relative_to(self.root)
                ours = any(inside.name.startswith(name) for name in names)
                if ours and not str(inside).startswith("var/lib/dpkg/"):
                    found.append(str(inside))
        return sorted(found)


class Service:
    """The server as systemd would start it: its user, its configuration, its notifications."""

    def __init__(self, debian):
        self.notified = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        path = debian.root / "run/notify"
        path.unlink(missing_ok=True)
        self.notified.bind(str(path))
        path.chmod(0o777)
        self.notified.settimeout(30)
        debian.run("install", "-d", "-m", "700", "-o", "tensorhub", "-g", "tensorhub", f"/{DATA}")
        self.process = subprocess.Popen(
            ["chroot", "--userspec=tensorhub:tensorhub", debian.root, "env",
             "NOTIFY_SOCKET=/run/notify", "WATCHDOG_USEC=600000", "TENSORHUB_LISTEN=127.0.0.1:0",
             "/usr/bin/tensorhub-server", "--config", "/etc/tensorhub/server.conf"],
            stdout=subprocess.PIPE, text=True)  # fmt: skip
        self.address = self.process.stdout.readline().split()[-1]
        self.ready = self.heard()

    def heard(self):
        return dict(line.split("=", 1) for line in self.notified.recv(4096).decode().split("\n"))

    def stop(self):
        self.process.terminate()
        while "STOPPING" not in self.heard():
            continue
        return self.process.wait(30)


def made_earlier(packages, folder):
    """The same packages under an earlier version's number."""
    folder.mkdir()
    for deb in packages.glob("*.deb"):
        tree = folder / "tree"
        run("dpkg-deb", "-R", deb, tree)
        control = tree / "DEBIAN/control"
        text = control.read_text()
        version = re.search("^Version: (.*)$", text, re.MULTILINE).group(1)
        text = text.replace(f"Version: {version}", f"Version: {EARLIER}")
        control.write_text(text.replace(f"(= {version})", f"(= {EARLIER})"))
        run("dpkg-deb", "-b", tree, folder / deb.name.replace(version, EARLIER),
            stdout=subprocess.DEVNULL)  # fmt: skip
        shutil.rmtree(tree)
    return folder


def tensors():
    """A safetensors file of 1 MiB."""
    data = bytes(range(256)) * 4096
    tensor = {"dtype": "U8", "shape": [len(data)], "data_offsets": [0, len(data)]}
    header = json.dumps({"w": tensor})
    return struct.pack("<Q", len(header)) + header.encode() + data


def check_first_fetch(debian, server):
    (debian.root / "in.safetensors").write_bytes(tensors())
    ctl = ["chroot", debian.root, "tensorhubctl"]
    publisher = subprocess.Popen([*ctl, "publish", "m", "1", "/in.safetensors", "--server",
                                  server.address], stdout=subprocess.PIPE)  # fmt: skip
    publisher.stdout.readline()  # it serves
    run(*ctl, "fetch", "m", "1", "/out", "--server", server.address, "--timeout", "30s")
    publisher.terminate()
    publisher.wait(30)
    fetched = next((debian.root / "out").rglob("*.safetensors"))
    expect(fetched.stat().st_size >= 1 << 20 and fetched.read_bytes()[-256:] == tensors()[-256:],
           "the first fetch brings what was published")  # fmt: skip


def check_packages(packages, again):
    names = sorted(deb.name for deb in packages.glob("*.deb"))
    expect(len(names) == 5, f"five packages: {' '.join(names)}")
    _, differ, missing = filecmp.cmpfiles(packages, again, names, shallow=False)
    expect(not differ and not missing, "made again, they have the same bytes")
    run("lintian", "--fail-on", "error,warning", "--allow-root", *packages.glob("*.deb"))


def check_units(debian):
    """By this machine's systemd, since a bare Debian has none: with the programs where they are."""
    for unit in UNITS:
        text = (debian.root / f"usr/lib/systemd/system/{unit}.service").read_text()
        file = debian.root / f"{unit}.service"
        file.write_text(text.replace("=/usr/bin/", f"={debian.root}/usr/bin/"))
        run("systemd-analyze", "verify", "--man=no", file)
        run("systemd-analyze", "security", "--offline=true", "--no-pager",
            f"--threshold={EXPOSURE_MOST[unit]}", file, stdout=subprocess.DEVNULL)  # fmt: skip


def check_life(debian, packages, earlier):
    begun = time.monotonic()
    debian.apt("update")
    debian.install(earlier)
    server = Service(debian)
    expect(server.ready.get("READY") == "1" and "epoch 1" in server.ready["STATUS"], "ready")
    check_first_fetch(debian, server)
    print(f"from packages to the first fetch: {time.monotonic() - begun:.1f} s", flush=True)
    expect([server.heard(), server.heard()] == [{"WATCHDOG": "1"}] * 2, "it gives signs of life")
    expect(server.stop() == 0, "it stops in order")
    check_units(debian)

    configuration = debian.root / "etc/tensorhub/server.conf"
    configuration.write_text(configuration.read_text() + "lease = 7s\n")
    debian.install(packages)
    server = Service(debian)
    expect("epoch 2" in server.ready["STATUS"] and "7000 ms" in server.ready["STATUS"],
           "an upgrade keeps data and configuration")  # fmt: skip
    expect(server.stop() == 0, "the new one stops in order")

    debian.apt("remove", "-y", "tensorhub-server", "tensorhub-agent")
    expect((debian.root / DATA / "hub.db").exists() and configuration.exists(),
           "a removal leaves data and configuration")  # fmt: skip
    debian.apt("purge", "-y", *(f"{name}" for name in installed(debian)))
    expect(debian.traces() == [], f"a purge leaves nothing: {debian.traces()}")


def installed(debian):
    listed = debian.run("dpkg-query", "-W", "-f", "${Package}\n", "*tensorhub*",
                        stdout=subprocess.PIPE)  # fmt: skip
    return listed.stdout.split()


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    if os.geteuid() != 0:
        sys.exit("packages_check.py: needs root, for a Debian of its own in a folder")
    if os.environ.get("TENSORHUB_IN_NAMESPACE") is None:
        os.environ["TENSORHUB_IN_NAMESPACE"] = "1"
        os.execvp("unshare", ["unshare", "--mount", "--propagation", "private", "--pid", "--fork",
                              "--kill-child", "--", sys.executable, "-B", *sys.argv])  # fmt: skip
    packages, again, cache = map(pathlib.Path, sys.argv[1:])
    check_packages(packages, again)
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(tempfile.mkdtemp(prefix="tensorhub-debian-"))
        # Never through a mount: the machine's own devices lie behind one.
        stack.callback(run, "rm", "--one-file-system", "-rf", folder)
        root = folder / "root"
        root.mkdir()
        debian = Debian(root, cache)
        for mounted in MOUNTED:
            run("mount", "--rbind", f"/{mounted}", root / mounted)
            stack.callback(run, "umount", "--recursive", "--lazy", root / mounted)
        check_life(debian, packages, made_earlier(packages, folder / "earlier"))


if __name__ == "__main__":
    main()
