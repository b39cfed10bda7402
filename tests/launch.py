# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs one test by itself: ctest starts each of them so, in every build.

    python3 launch.py NAME COMMAND…

As root a test gets a network of its own: a loopback and `eth0`, as a host has. Tests may then run
side by side, since no port of one is another's. Without root they share this machine's network,
which works too, but for a port that two of them take in the same moment.

Its temporary files are in memory: a server answers nobody before the disk has kept what it decided,
and a disk that others write to takes seconds for that. What a failed test leaves is moved to the
disk.

With TENSORHUB_TEST_TIMES=FOLDER it notes in FOLDER/NAME what the test took: seconds that passed,
and seconds of processors, of all processes that it waited for. `tools/test.sh times` shows them.
"""

import ctypes
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

_MEMORY = "/dev/shm"
_PREFIX = "tensorhub-launched-"  # of nothing else: what has it is swept
_ROOM = 4 << 30  # bytes: in less of it, as containers have, temporary files stay where they are
_SKIPPED = 77
_CLONE_NEWNET = 0x40000000
_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)
# The far end of eth0 is there for nothing but that eth0 is up.
_NETWORK = """
link set lo up
link add eth0 type veth peer name wire
addr add 192.0.2.2/24 dev eth0
link set eth0 up
link set wire up
route add default dev eth0
"""


def own_network():
    """Without, tests may disturb each other; where root has none either, it says why."""
    if os.geteuid() != 0:
        return
    if _libc.unshare(_CLONE_NEWNET) != 0:
        print(f"no network of its own: {os.strerror(ctypes.get_errno())}", file=sys.stderr)
        return
    made = subprocess.run(
        ["ip", "-batch", "-"], input=_NETWORK, text=True, capture_output=True, check=False
    )
    if made.returncode != 0:
        sys.exit(f"a network of its own could not be made: {made.stderr.strip()}")


def own_folder():
    """Of temporary files; None where memory is short."""
    if not os.access(_MEMORY, os.W_OK) or shutil.disk_usage(_MEMORY).free < _ROOM:
        return None
    sweep()
    os.environ["TMPDIR"] = tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-", dir=_MEMORY)
    return os.environ["TMPDIR"]


def sweep():
    """What tests left that took too long, and were killed with their launchers."""
    for name in os.listdir(_MEMORY):
        if name.startswith(_PREFIX) and not os.path.exists(
            f"/proc/{name[len(_PREFIX) :].split('-')[0]}"
        ):
            shutil.rmtree(os.path.join(_MEMORY, name), ignore_errors=True)


def clear(folder, name, failed):
    if failed and os.listdir(folder):
        kept = os.path.abspath(f"left-by-{name}")
        shutil.rmtree(kept, ignore_errors=True)
        shutil.copytree(folder, kept, symlinks=True, ignore_dangling_symlinks=True)
        print(f"what {folder} had is in {kept}", file=sys.stderr)
    shutil.rmtree(folder, ignore_errors=True)


def start(command):
    """The test ends with its launcher, which is what ctest ends."""
    child = os.fork()
    if child == 0:
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        try:
            os.execvp(command[0], command)
        except OSError as error:
            print(f"{command[0]}: {error.strerror}", file=sys.stderr)
            os._exit(127)
    return child


def note(name, seconds, used):
    folder = os.environ.get("TENSORHUB_TEST_TIMES")
    if folder:
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(f"{seconds:.3f} {used.ru_utime + used.ru_stime:.3f}\n")


def main():
    name, command = sys.argv[1], sys.argv[2:]
    own_network()
    folder = own_folder()
    began = time.monotonic()
    _, status, used = os.wait4(start(command), 0)
    note(name, time.monotonic() - began, used)
    code = os.waitstatus_to_exitcode(status)
    if folder is not None:
        clear(folder, name, code not in (0, _SKIPPED))
    if code < 0:  # as a shell has it, which ctest takes for a failure as well
        print(f"{name} was ended by {signal.Signals(-code).name}", file=sys.stderr)
        code = 128 - code
    return code


if __name__ == "__main__":
    sys.exit(main())
