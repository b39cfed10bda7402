# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Checkpoints: safetensors files and Hugging Face directories, to and from the hub.

By ``tensorhubctl``, which came with the package: what ``publish`` serves ``fetch`` writes
again, bit for bit, with the split into files and their metadata.
"""

from __future__ import annotations

import os
import subprocess

from tensorhub import _native, _programs
from tensorhub._arguments import milliseconds, text, whole_number
from tensorhub._child import Child, start
from tensorhub._errors import UnavailableError, raise_for
from tensorhub._programs import Server, address_of
from tensorhub._types import Selector, latest

__all__ = ["Publication", "fetch", "publish"]

_CTL = "tensorhubctl"
_LEAVE_S = 20.0


class Publication(Child):
    """Files that a child serves from memory; ends with :meth:`stop`, or with this process."""

    _anew = "publish"

    def __init__(self, process: subprocess.Popen[bytes], timeout: float | None) -> None:
        """Not for users: :func:`publish` makes publications."""
        super().__init__(process, _CTL, _LEAVE_S)
        said = self._line("", timeout)
        if said is None:
            raise self._failure() or UnavailableError(f"{_CTL} ended before it had published")
        self.said = said
        """What was published, in words."""

    def wait(self, timeout: float | None = None) -> None:
        """Until it ends by itself, and raises its error; TimeoutError after ``timeout`` seconds."""
        if not self._wait(_seconds(timeout)):
            raise TimeoutError(f"still serving after {timeout} s")
        if (error := self._failure()) is not None:
            raise error

    def stop(self) -> None:
        """Leaves: readers without another source get ten seconds. Again: nothing."""
        super().stop()


def publish(
    server: str | Server,
    model: str,
    version: int,
    *paths: str | os.PathLike[str],
    group: str | None = None,
    location: str = "",
    timeout: float | None = None,
) -> Publication:
    """Publishes files, or a directory, and returns when readers can fetch them.

    They are read into the memory of a child that serves until :meth:`Publication.stop`. If an
    exception, such as Ctrl-C's, ends the call, or ``timeout`` seconds (DeadlineExceededError), the
    child ends as well, and serves nothing. Errors as ``Client.publish``; NotFoundError: a path.
    """
    if not paths:
        raise TypeError("paths: give a safetensors file or a directory, at least one")
    command = _command(server, "publish", location)
    if group is not None:
        command += ["--group", text("group", group)]
    command += [text("model", model), str(whole_number("version", version))]
    command += [os.fspath(path) for path in paths]
    patience = _seconds(timeout)
    return Publication(start(command, _programs.environment()), patience)


def fetch(
    server: str | Server,
    model: str,
    selector: Selector | None,
    directory: str | os.PathLike[str],
    *,
    location: str = "",
    timeout: float = 600.0,
) -> None:
    """Writes a version (the latest one for None) into a directory, as it was published.

    The directory is made, or must be empty, and is filled by renames: never half of it.
    """
    chosen = selector or latest()
    if chosen.kind == "newer_than":
        raise ValueError("selector: give latest() or version(n); Client.wait waits for a newer one")
    wanted = None if chosen.kind == "latest" else chosen.number
    number, message, found, _ = _native.describe_version(
        address_of(server), text("model", model), wanted
    )
    raise_for(number, message)
    command = _command(server, "fetch", location)
    command += ["--timeout", f"{max(milliseconds('timeout', timeout), 1)}ms"]
    command += [text("model", model), str(found), os.fspath(directory)]
    with Child(start(command, _programs.environment()), _CTL, _LEAVE_S) as child:
        child._wait()
        if (error := child._failure()) is not None:
            raise error


def _seconds(timeout: float | None) -> float | None:
    return None if timeout is None else milliseconds("timeout", timeout) / 1000


def _command(server: str | Server, verb: str, location: str) -> list[str]:
    command = [_programs.program(_CTL), "--server", address_of(server), verb]
    return [*command, "--location", text("location", location)] if location else command
