#!/usr/bin/env python3
# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""What must hold of the Debian packages: the same bytes when they are made again; lintian; the
checks that systemd has for units; and, in a bare Debian in a folder, an installation, a first
fetch, an upgrade that keeps data and configuration, a removal that leaves them, and a purge.

Usage: packages_check.py PACKAGES PACKAGES_AGAIN CACHE
  CACHE   keeps the bare Debian, which debootstrap fetches

Prints the seconds from the packages to the first fetch. Root.
"""

import filecmp
import json
import pathlib
import re
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time

from debian import bare_debian, expect, in_own_namespaces, run

UNITS = ("tensorhub-server", "tensorhub-agent")
# Ten times what systemd calls exposure. An agent needs more (its unit says why).
EXPOSURE_MOST = {"tensorhub-server": 20, "tensorhub-agent": 50}
EARLIER = "0.0.1"
DATA = "var/lib/tensorhub"


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


def install(debian, packages):
    shutil.rmtree(debian.root / "packages", ignore_errors=True)
    shutil.copytree(packages, debian.root / "packages")
    names = sorted(f"/packages/{deb.name}" for deb in packages.glob("*.deb"))
    debian.apt("install", "-y", "--no-install-recommends", *names)


def traces(debian):
    """What of ours is left."""
    names = {"tensorhub", "tensorhubctl", "libtensorhub"}
    found = []
    for top in ("etc", "usr", "var/lib"):
        for path in (debian.root / top).rglob("*tensorhub*"):
            inside = path.relative_to(debian.root)
            ours = any(inside.name.startswith(name) for name in names)
            if ours and not str(inside).startswith("var/lib/dpkg/"):
                found.append(str(inside))
    return sorted(found)


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
    install(debian, earlier)
    server = Service(debian)
    expect(server.ready.get("READY") == "1" and "epoch 1" in server.ready["STATUS"], "ready")
    check_first_fetch(debian, server)
    print(f"from packages to the first fetch: {time.monotonic() - begun:.1f} s", flush=True)
    expect([server.heard(), server.heard()] == [{"WATCHDOG": "1"}] * 2, "it gives signs of life")
    expect(server.stop() == 0, "it stops in order")
    check_units(debian)

    configuration = debian.root / "etc/tensorhub/server.conf"
    configuration.write_text(configuration.read_text() + "lease = 7s\n")
    install(debian, packages)
    server = Service(debian)
    expect("epoch 2" in server.ready["STATUS"] and "7000 ms" in server.ready["STATUS"],
           "an upgrade keeps data and configuration")  # fmt: skip
    expect(server.stop() == 0, "the new one stops in order")

    debian.apt("remove", "-y", "tensorhub-server", "tensorhub-agent")
    expect((debian.root / DATA / "hub.db").exists() and configuration.exists(),
           "a removal leaves data and configuration")  # fmt: skip
    debian.apt("purge", "-y", *(f"{name}" for name in installed(debian)))
    expect(traces(debian) == [], f"a purge leaves nothing: {traces(debian)}")


def installed(debian):
    listed = debian.run("dpkg-query", "-W", "-f", "${Package}\n", "*tensorhub*",
                        stdout=subprocess.PIPE)  # fmt: skip
    return listed.stdout.split()


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    in_own_namespaces()
    packages, again, cache = map(pathlib.Path, sys.argv[1:])
    check_packages(packages, again)
    with bare_debian(cache) as debian, tempfile.TemporaryDirectory() as folder:
        earlier = made_earlier(packages, pathlib.Path(folder) / "earlier")
        check_life(debian, packages, earlier)


if __name__ == "__main__":
    main()
