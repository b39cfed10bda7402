# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""A bare Debian in a folder, for tests that need a machine which has nothing yet.

Root. Mounts are of a namespace of its own, and so are processes, so that none is left.
"""

import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

SUITE = "bookworm"
# A mirror that is being brought up to date, or is busy, is well again in a minute.
PAUSES = (20, 60, None)
MOUNTED = ("proc", "sys", "dev")
# Not by chroot, in which the kernel lets nobody make a namespace of users, or mount at "/".
ENTER = 'cd "$0" && pivot_root . mnt && cd / && umount --lazy /mnt && exec "$@"'


def run(*command, **options):
    print("$", " ".join(map(str, command)), flush=True)
    return subprocess.run([str(word) for word in command], check=True, text=True, **options)


def expect(condition, what):
    if not condition:
        sys.exit(f"BAD: {what}")
    print("ok:", what, flush=True)


class Debian:
    """What debootstrap makes, and nothing else."""

    def __init__(self, folder, cache, suite):
        self.root = folder
        base = cache / f"{suite}.tar"
        if not base.exists():
            cache.mkdir(parents=True, exist_ok=True)
            fresh = bootstrapped(cache, suite)
            run("tar", "-C", fresh, "-cf", base.with_suffix(".new"), ".")
            base.with_suffix(".new").rename(base)
            shutil.rmtree(fresh)
        run("tar", "-C", folder, "-xf", base)
        shutil.copy("/etc/resolv.conf", folder / "etc/resolv.conf")
        self.trust_as_here()
        (folder / "usr/sbin/policy-rc.d").write_text("#!/bin/sh\nexit 101\n")
        (folder / "usr/sbin/policy-rc.d").chmod(0o755)

    def trust_as_here(self):
        """The authorities that this machine's owner has added, behind whose proxy it may be."""
        added = pathlib.Path("usr/local/share/ca-certificates")
        if (pathlib.Path("/") / added).is_dir():
            shutil.copytree(pathlib.Path("/") / added, self.root / added, dirs_exist_ok=True)

    def run(self, *command, **options):
        return run("chroot", self.root, *command, **options)

    def entered(self, *command):
        """The command that runs another one with this as the root of all."""
        return ["unshare", "--mount", "--propagation", "private", "sh", "-c", ENTER,
                str(self.root), *map(str, command)]  # fmt: skip

    def apt(self, *words):
        self.run("env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq", "-o",
                 "Dpkg::Use-Pty=0", "-o", "Acquire::Retries=3", *words,
                 stdout=subprocess.DEVNULL)  # fmt: skip


def bootstrapped(cache, suite):
    """The folder of what debootstrap makes. What it says is shown when it fails."""
    for pause in PAUSES:
        fresh = pathlib.Path(tempfile.mkdtemp(dir=cache))
        fresh.chmod(0o755)
        words = ["debootstrap", "--variant=minbase", suite, str(fresh)]
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode == 0:
            return fresh
        log = fresh / "debootstrap/debootstrap.log"
        said = done.stdout + (log.read_text(encoding="utf-8") if log.exists() else "")
        print("\n".join(said.splitlines()[-20:]), flush=True)
        shutil.rmtree(fresh)
        if pause is not None:
            time.sleep(pause)
    sys.exit(f"debootstrap of {suite} failed {len(PAUSES)} times, as it says above")


def in_own_namespaces():
    """Begins the program anew in them."""
    name = pathlib.Path(sys.argv[0]).name
    if os.geteuid() != 0:
        sys.exit(f"{name}: needs root, for a Debian of its own in a folder")
    if os.environ.get("TENSORHUB_IN_NAMESPACE") is None:
        os.environ["TENSORHUB_IN_NAMESPACE"] = "1"
        os.execvp("unshare", ["unshare", "--mount", "--propagation", "private", "--pid", "--fork",
                              "--kill-child", "--mount-proc", "--", sys.executable, "-B",
                              *sys.argv])  # fmt: skip
    del os.environ["TENSORHUB_IN_NAMESPACE"]
    # The first process of a namespace hears only what it listens to.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))


def remove(folder):
    """Never through a mount: the machine's own lies behind one. Nor beside what still runs."""
    if os.getpid() == 1 and len([name for name in os.listdir("/proc") if name.isdigit()]) > 1:
        os.kill(-1, signal.SIGKILL)  # all others of this namespace
    subprocess.run(["umount", "--recursive", "--lazy", folder / "root"], check=False)
    mounts = pathlib.Path("/proc/self/mountinfo").read_text(encoding="utf-8")
    if str(folder) in mounts:
        sys.exit(f"{folder} is left, since something is still mounted in it")
    run("rm", "--one-file-system", "-rf", folder)


@contextlib.contextmanager
def bare_debian(cache, suite=SUITE):
    """One with this machine's devices and processes mounted, gone afterwards."""
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(tempfile.mkdtemp(prefix="tensorhub-debian-"))
        stack.callback(remove, folder)
        root = folder / "root"
        root.mkdir()
        run("mount", "--bind", root, root)
        debian = Debian(root, cache, suite)
        for mounted in MOUNTED:
            run("mount", "--rbind", f"/{mounted}", root / mounted)
        yield debian
