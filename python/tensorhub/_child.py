# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Programs of the package as children of this process, with which they end."""

from __future__ import annotations

import logging
import os
import select
import signal
import subprocess
import threading
import time
from collections import deque

from tensorhub._ending import Ending
from tensorhub._errors import (
    DeadlineExceededError,
    Error,
    InvalidArgumentError,
    ResourceExhaustedError,
    UnavailableError,
    UnknownError,
    with_code,
)
from tensorhub._waiting import look

__all__ = ["Child", "start"]

_PIECE_S = 0.1
_USAGE = 2  # the status of a program that was called wrongly
_logger = logging.getLogger("tensorhub")
# Each is kept, and with it the pipe that is its standard input, until it has ended.
_running: set[subprocess.Popen[bytes]] = set()


def start(
    command: list[str], environment: dict[str, str], *, complaints: int | None = subprocess.PIPE
) -> subprocess.Popen[bytes]:
    """Starts a program that takes ``--child``: it ends when its standard input does.

    That is a pipe to this process, so it ends with the process, whatever ends that, and whichever
    thread has started it. ``complaints``: what becomes of its standard error.
    """
    for other in list(_running):
        if other.poll() is not None:
            _running.discard(other)
    process = subprocess.Popen(
        [command[0], "--child", *command[1:]], env=environment, stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=complaints, start_new_session=True,
    )  # fmt: skip
    _running.add(process)
    return process


def _let_go() -> None:
    # In a fork, which may outlive the parent: the children are the parent's.
    for process in _running:
        if process.stdin is not None:
            process.stdin.close()
    _running.clear()


os.register_at_fork(after_in_child=_let_go)


class Child(Ending):
    """A program that runs for this process. Whatever it says on standard error goes to the log."""

    def __init__(self, process: subprocess.Popen[bytes], name: str, patience: float) -> None:
        """``patience``: how many seconds it has to end in order."""
        self._process = process
        self._name = name
        self._patience = patience
        self._owner = os.getpid()
        self._said = b""
        self._complaints: deque[str] = deque(maxlen=1)
        self._listener = threading.Thread(target=self._listen, name="tensorhub-child", daemon=True)
        if process.stderr is not None:
            self._begin_to_listen()

    def _begin_to_listen(self) -> None:
        try:
            self._listener.start()
        except RuntimeError as error:
            self._forget()
            raise ResourceExhaustedError(f"{error}; raise the limit of processes") from None

    @property
    def alive(self) -> bool:
        """Whether it still runs."""
        return self._process.poll() is None

    def stop(self) -> None:
        """Ends it, in order. Again: nothing."""
        if self._owner != os.getpid():
            return
        try:
            if self.alive:
                self._process.terminate()
                self._process.wait(self._patience)
        except subprocess.TimeoutExpired:
            pass
        finally:
            self._forget()

    def _end(self) -> None:
        self.stop()

    def _wait(self, timeout: float | None = None) -> bool:
        """Whether it has ended by then; the main thread's end ends the wait."""
        deadline = None if timeout is None else time.monotonic() + timeout
        look()
        while self._process.poll() is None:
            left = _PIECE_S if deadline is None else min(deadline - time.monotonic(), _PIECE_S)
            if left <= 0:
                return False
            try:
                self._process.wait(left)
            except subprocess.TimeoutExpired:
                look()
        return True

    def _line(self, begin: str, timeout: float | None) -> str | None:
        """The first line of its output that begins so; None if it ends without.

        Until then nobody else has it: whatever is raised meanwhile ends it.
        """
        try:
            return self._await_line(begin.encode(), timeout)
        except BaseException:
            self.stop()
            raise

    def _await_line(self, begin: bytes, timeout: float | None) -> str | None:
        assert self._process.stdout is not None
        output = self._process.stdout.fileno()
        poll = select.poll()
        poll.register(output, select.POLLIN)
        deadline = None if timeout is None else time.monotonic() + timeout
        while deadline is None or time.monotonic() < deadline:
            look()
            piece = os.read(output, 4096) if poll.poll(_PIECE_S * 1000) else None
            self._said += piece or b""
            for line in self._said.splitlines(keepends=True):
                if line.startswith(begin) and line.endswith(b"\n"):
                    return line.decode(errors="replace").strip()
            if piece == b"":
                return None
        raise DeadlineExceededError(
            f"{self._name} was not ready within {timeout:g} s, and was ended"
        )

    def _failure(self) -> Error | None:
        """What it ended with, if that is an error; it has ended."""
        status = self._process.wait()
        self._forget()
        if status == 0:
            return None
        if status < 0:
            return UnavailableError(
                f"{self._name} was ended by {signal.Signals(-status).name}; if nobody did so, see "
                "whether the host has memory left"
            )
        said = next(iter(self._complaints), f"{self._name} ended with status {status}")
        code, _, message = said.partition(": ")
        if status == _USAGE:
            return InvalidArgumentError(said)
        return with_code(code, message) or UnknownError(said)

    def _listen(self) -> None:
        """In a thread of its own. The last line that the program's name begins is the error."""
        assert self._process.stderr is not None
        name = f"{self._name}: "
        rest = b""
        while piece := os.read(self._process.stderr.fileno(), 4096):
            *lines, rest = (rest + piece).split(b"\n")
            for line in lines:
                text = line.decode(errors="replace")
                if text.startswith(name):
                    self._complaints.append(text.removeprefix(name))
                else:
                    _logger.warning("%s", text)

    def _forget(self) -> None:
        """It has ended, or is killed."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        if self._listener.is_alive():
            self._listener.join(1.0)  # it hears what is left
        _running.discard(self._process)
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()
