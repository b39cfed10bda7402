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
from tensorhub._ending import Ending
from tensorhub._errors import Error, UnknownError, raise_for, with_code
from tensorhub._types import Selector, latest

__all__ = ["Publication", "fetch", "publish"]

_LEAVE_S = 20.0


class Publication(Ending):
    """Files that a child serves from memory; ends with :meth:`stop`, or with this process."""

    def __init__(self, process: subprocess.Popen[str], said: str) -> None:
        """Not for users: :func:`publish` makes publications."""
        self._process = process
        self.said = said
        """What was published, in words."""

    @property
    def alive(self) -> bool:
        """Whether it still serves."""
        return self._process.poll() is None

    def wait(self, timeout: float | None = None) -> None:
        """Until it ends by itself; TimeoutError after ``timeout`` seconds."""
        try:
            self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            raise TimeoutError(f"still serving after {timeout} s") from None

    def stop(self) -> None:
        """Leaves: readers without another source get ten seconds. Again: nothing."""
        if self.alive:
            self._process.terminate()
            try:
                self._process.wait(_LEAVE_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        for stream in (self._process.stdout, self._process.stderr):
            if stream:
                stream.close()

    def _end(self) -> None:
        self.stop()


def publish(
    server: str,
    model: str,
    version: int,
    *paths: str | os.PathLike[str],
    group: str | None = None,
    location: str = "",
) -> Publication:
    """Publishes files, or a directory, and returns when readers can fetch them.

    They are read into the memory of a child that serves until :meth:`Publication.stop`.
    """
    if not paths:
        raise TypeError("paths: give a safetensors file or a directory, at least one")
    command = _command(server, "publish", location)
    if group is not None:
        command += ["--group", text("group", group)]
    command += [text("model", model), str(whole_number("version", version))]
    command += [os.fspath(path) for path in paths]
    process = subprocess.Popen(
        command, env=_programs.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, start_new_session=True,
        preexec_fn=_programs.end_with_parent(),
    )  # fmt: skip
    assert process.stdout is not None
    said = process.stdout.readline().strip()
    if not said:
        _, complaint = process.communicate()
        raise _error_of(complaint)
    return Publication(process, said)


def fetch(
    server: str,
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
        text("server", server), text("model", model), wanted
    )
    raise_for(number, message)
    command = _command(server, "fetch", location)
    command += ["--timeout", f"{max(milliseconds('timeout', timeout), 1)}ms"]
    command += [text("model", model), str(found), os.fspath(directory)]
    done = subprocess.run(
        command, env=_programs.environment(), capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise _error_of(done.stderr)


def _command(server: str, verb: str, location: str) -> list[str]:
    command = [_programs.program("tensorhubctl"), "--server", text("server", server), verb]
    return [*command, "--location", text("location", location)] if location else command


def _error_of(complaint: str) -> Error:
    lines = complaint.strip().splitlines()
    said = lines[-1] if lines else "tensorhubctl failed and said nothing"
    said = said.removeprefix("tensorhubctl: ")
    code, _, message = said.partition(": ")
    return with_code(code, message) or UnknownError(said)
