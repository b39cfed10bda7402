# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""The one driver of processes for tests in Python: they are told lines, answer lines, and are
signalled and killed. And tensorhub-test-worker, the one program that tests drive in this way
(tests/integration/worker/commands.h). Its sibling for tests in C++ is tests/integration/harness.
"""

import ctypes
import os
import select
import signal
import subprocess
import time

import binaries

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None)


def _die_with_parent():
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


class Silent(Exception):
    """A process did not say in time what was waited for, or is gone."""


class Process:
    """Reads lines of standard output; standard error goes to a file, or nowhere."""

    def __init__(self, command, log_path=os.devnull, environment=None):
        with open(log_path, "ab") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
                env={**os.environ, "UCX_ERROR_SIGNALS": "", **(environment or {})},
                preexec_fn=_die_with_parent)
        self._buffer = b""

    @property
    def pid(self):
        return self._process.pid

    def write_line(self, text):
        try:
            self._process.stdin.write(text.encode() + b"\n")
            self._process.stdin.flush()
        except (BrokenPipeError, ValueError):  # it died, or was killed by us
            pass  # whoever waits for the answer hears that it is gone

    def line(self, deadline):
        """The next line; Silent at the deadline, or if there will be none."""
        fd = self._process.stdout.fileno()
        while b"\n" not in self._buffer:
            left = deadline - time.monotonic()
            if not select.select([fd], [], [], max(0, left))[0]:
                raise Silent("said nothing in time")
            read = os.read(fd, 65536)
            if not read:
                raise Silent(f"ended with {self._process.wait()}")
            self._buffer += read
        text, _, self._buffer = self._buffer.partition(b"\n")
        return text.decode()

    def send_signal(self, number):
        self._process.send_signal(number)

    def wait(self, seconds):
        """Its exit code, or 128 + the signal that ended it; Silent if it runs on."""
        try:
            code = self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise Silent(f"still runs after {seconds:.0f} s") from None
        return code if code >= 0 else 128 - code

    def end(self):
        """Kills it if it still runs, and frees what belongs to it."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            try:
                stream.close()
            except BrokenPipeError:
                pass


class TestWorker(Process):
    """A tensorhub-test-worker, here or where `command` starts it."""

    PATIENCE = 180  # a sanitizer's worker, on a machine that does something else

    def __init__(self, log_path=os.devnull, environment=None, command=None):
        super().__init__(command or [binaries.path("tensorhub-test-worker")], log_path,
                         environment)
        self.progress = ""  # the last line of what was sent last that is no answer

    def send(self, command):
        self.progress = ""
        self.write_line(command)

    def answer(self, seconds=PATIENCE):
        """"ok …" or "error CODE …"; Silent if neither comes."""
        deadline = time.monotonic() + seconds
        while True:
            line = self.line(deadline)
            if line.startswith(("ok", "error")):
                return line
            self.progress = line

    def ask(self, command, seconds=PATIENCE):
        self.send(command)
        return self.answer(seconds)

    def do(self, test, command):
        """What succeeds in that test."""
        answer = self.ask(command)
        test.assertTrue(answer.startswith("ok"), f"{command}: {answer}")
        return answer
