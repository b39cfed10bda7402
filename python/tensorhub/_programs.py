# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""The programs that come with the package: on the PATH, and a server as a child."""

from __future__ import annotations

import atexit
import os
import pathlib
import shutil
import subprocess
import sys

from tensorhub import _ucx
from tensorhub._arguments import text
from tensorhub._child import Child, start
from tensorhub._errors import UnavailableError

__all__ = ["Server", "address_of", "environment", "program", "serve"]

_FOLDER = pathlib.Path(__file__).parent / "_bin"
_SERVER = "tensorhub-server"
_START_S = 20.0
_STOP_S = 5.0


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
    _run(_SERVER)


def run_ctl() -> None:
    """The command tensorhubctl."""
    _run("tensorhubctl")


def run_agent() -> None:
    """The command tensorhub-agent."""
    _run("tensorhub-agent")


class Server(Child):
    """A server that runs as a child of this process; :func:`serve` starts it."""

    _anew = "give its address"

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        """Not for users: ``tensorhub.serve`` makes servers."""
        super().__init__(process, _SERVER, _STOP_S)
        said = self._line("listening on ", _START_S)
        if said is None:
            status = process.wait()
            self.stop()
            raise UnavailableError(
                f"the server ended with status {status}; what it said is on standard error"
            )
        self.address = said.split()[-1]
        """``HOST:PORT``, for ``tensorhub.connect`` and ``tensorhubctl --server``."""
        atexit.register(self.stop)

    def stop(self) -> None:
        """Ends it. Clients go on looking for it. Again: nothing."""
        atexit.unregister(self.stop)
        super().stop()

    def __repr__(self) -> str:
        return f"<tensorhub.Server at {self.address}>"


def serve(data_dir: str | os.PathLike[str] | None = None, *, listen: str = "127.0.0.1:0") -> Server:
    """Starts a server as a child: for notebooks, tests and runs on one host.

    It ends with this process, however that ends.
    ``data_dir``: what must outlive it is kept there.
    ``listen`` is HOST:PORT; port 0 takes a free one. UnavailableError: it did not start.
    DeadlineExceededError: not within 20 s.
    """
    command = [program(_SERVER), "--listen", text("listen", listen)]
    if data_dir is not None:
        command += ["--data-dir", os.fspath(data_dir)]
    if "TENSORHUB_LOG_LEVEL" not in os.environ:
        command += ["--log-level", "error"]
    return Server(start(command, environment(), complaints=None))


def address_of(server: str | Server) -> str:
    """HOST:PORT, of a server that :func:`serve` started as well."""
    return server.address if isinstance(server, Server) else text("server", server)
