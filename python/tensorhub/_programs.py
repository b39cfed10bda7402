# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""The programs that come with the package: on the PATH, and a server as a child."""

from __future__ import annotations

import atexit
import ctypes
import os
import pathlib
import select
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable

from tensorhub import _ucx
from tensorhub._arguments import text
from tensorhub._ending import Ending
from tensorhub._errors import UnavailableError

__all__ = ["Server", "end_with_parent", "environment", "program", "serve"]

_FOLDER = pathlib.Path(__file__).parent / "_bin"
_START_S = 20.0
_PR_SET_PDEATHSIG = 1


def program(name: str) -> str:
    """The path of a program of the package."""
    own = _FOLDER / name
    if own.exists():
        return str(own)
    if found := shutil.which(name):
        return found
    raise FileNotFoundError(f"{name} did not come with this package and is not on the PATH")


def environment() -> dict[str, str]:
    """What the programs run with: the same UCX as this process."""
    ucx = _ucx.in_use()
    variables = {**_ucx.settings(ucx), **os.environ}
    if ucx.path:
        others = variables.get("LD_LIBRARY_PATH")
        variables["LD_LIBRARY_PATH"] = f"{ucx.path}:{others}" if others else ucx.path
    variables["TENSORHUB_UCX_WHY"] = ucx.reason  # for tensorhubctl doctor
    return variables


def _run(name: str) -> None:
    path = program(name)
    os.execve(path, [name, *sys.argv[1:]], environment())


def run_server() -> None:
    """The command tensorhub-server."""
    _run("tensorhub-server")


def run_ctl() -> None:
    """The command tensorhubctl."""
    _run("tensorhubctl")


def run_agent() -> None:
    """The command tensorhub-agent."""
    _run("tensorhub-agent")


class Server(Ending):
    """A server that runs as a child of this process; :func:`serve` starts it."""

    def __init__(self, process: subprocess.Popen[bytes], address: str) -> None:
        """Not for users: ``tensorhub.serve`` makes servers."""
        self._process = process
        self._owner = os.getpid()
        self.address = address
        """``HOST:PORT``, for ``tensorhub.connect`` and ``tensorhubctl --server``."""
        atexit.register(self.stop)

    def stop(self) -> None:
        """Ends it. Clients go on looking for it. Again: nothing."""
        if self._owner != os.getpid():
            return
        atexit.unregister(self.stop)
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(timeout=5)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        if self._process.stdout:
            self._process.stdout.close()

    def _end(self) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"<tensorhub.Server at {self.address}>"


def serve(data_dir: str | os.PathLike[str] | None = None, *, listen: str = "127.0.0.1:0") -> Server:
    """Starts a server as a child: for notebooks, tests and runs on one host.

    It ends with this process, however that ends; killed, only if the main thread called this.
    ``data_dir``: what must outlive it is kept there.
    ``listen`` is HOST:PORT; port 0 takes a free one. UnavailableError: it did not start.
    """
    command = [program("tensorhub-server"), "--listen", text("listen", listen)]
    if data_dir is not None:
        command += ["--data-dir", os.fspath(data_dir)]
    if "TENSORHUB_LOG_LEVEL" not in os.environ:
        command += ["--log-level", "error"]
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=environment(),
        start_new_session=True, preexec_fn=end_with_parent(),
    )  # fmt: skip
    return Server(process, _address(process))


_libc = ctypes.CDLL(None)


def end_with_parent() -> Callable[[], None] | None:
    """For Popen's preexec_fn: the child gets SIGTERM when this process ends, however it does."""
    # It follows the end of the thread that started it.
    return _ask_for_sigterm if threading.current_thread() is threading.main_thread() else None


def _ask_for_sigterm() -> None:
    # In the child, before the program: also when this process is killed.
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def _address(process: subprocess.Popen[bytes]) -> str:
    assert process.stdout is not None
    said = b""
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline:
        ready, _, _ = select.select([process.stdout], [], [], 0.1)
        piece = os.read(process.stdout.fileno(), 4096) if ready else b""
        said += piece
        for line in said.decode(errors="replace").splitlines(keepends=True):
            if line.startswith("listening on ") and line.endswith("\n"):
                return line.split()[-1]
        if ready and not piece:
            raise UnavailableError(
                f"the server ended with status {process.wait()}; what it said is on standard error"
            )
    process.kill()
    raise UnavailableError(f"the server was not ready within {_START_S:.0f} s")
