# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""A tensorhub-server and workers (tensorhub-test-worker, tests/integration/worker/commands.h), as
processes that are talked to, signalled, killed and started again."""

import ctypes
import json
import os
import select
import signal
import subprocess
import time

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None)


def _die_with_parent():
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


class Silent(Exception):
    """A process did not say in time what was waited for, or is gone."""


class Places:
    """Where processes run: all on this machine."""

    def __init__(self, binaries):
        self.binaries = binaries

    def command(self, place, words):
        del place
        return [os.path.join(self.binaries, words[0]), *words[1:]]

    def address(self, place):
        del place
        return "127.0.0.1"

    def location(self, place):
        return f"us/dc1/r1/{place}"


class Process:
    """Reads lines of standard output; standard error goes to a file."""

    def __init__(self, command, log_path, environment=None):
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


class Server:
    """Keeps its address and its data through all restarts."""

    def __init__(self, places, place, folder, lease_ms):
        self._places = places
        self._place = place
        self._folder = folder
        self._lease_ms = lease_ms
        self._process = None
        self.address = f"{places.address(place)}:0"
        self.start()

    def start(self):
        self._process = Process(
            self._places.command(self._place, [
                "tensorhub-server", "--listen", self.address, "--data-dir",
                os.path.join(self._folder, "data"), "--lease", f"{self._lease_ms}ms",
                # The rounds say themselves what is held: unpublishing ends it.
                "--keep-latest", "0"]),
            os.path.join(self._folder, "server.log"))
        line = self._process.line(time.monotonic() + 30)
        self.address = line.removeprefix("listening on ")

    def kill(self):
        self._process.end()

    def signal(self, number):
        self._process.send_signal(number)

    def ask(self, *words):
        """What `tensorhubctl -o json WORDS` prints; None if it fails."""
        done = subprocess.run(
            self._places.command(self._place, ["tensorhubctl", "--server", self.address, "-o",
                                               "json", *words]),
            capture_output=True, text=True, check=False)
        return json.loads(done.stdout) if done.returncode == 0 else None


class Worker:
    """One rank of a group. Its process may be replaced by another; `life` counts them."""

    MODEL = "m/actor"

    def __init__(self, places, folder, server, *, group, rank, world, place, way, shard):
        self.group = group
        self.rank = rank
        self.life = 0
        self._places = places
        self._place = place
        self._folder = folder
        self._server = server
        self._world = world
        self._way = way
        self._shard = shard
        self._process = None
        self.progress = ""
        self.start()

    def __str__(self):
        return f"{self.group}/{self.rank}"

    def start(self):
        self.life += 1
        self._process = Process(self._places.command(self._place, ["tensorhub-test-worker"]),
                                self._log_path(), self._way.environment)

    def _log_path(self):
        return os.path.join(self._folder, f"{self.group}-{self.rank}.log")

    def log(self):
        """The lines of all its lives."""
        with open(self._log_path(), encoding="utf-8", errors="replace") as log:
            return log.readlines()

    def join(self, timeout_ms):
        """Connects and registers. A predecessor that was killed may still be known: it waits."""
        location = self._places.location(self._place)
        self.send(f"connect server={self._server.address} model={self.MODEL} group={self.group} "
                  f"rank={self.rank} world={self._world} location={location} "
                  f"timeout={timeout_ms}")
        connected = self.answer(timeout_ms / 1000 + 10)
        if connected != "ok":
            return connected
        return self.do(f"register {self._shard} {self._way.memory}", 30)

    def wait(self, seconds):
        return self._process.wait(seconds)

    def send(self, command):
        self.progress = ""
        self._process.write_line(command)

    def answer(self, seconds):
        """"ok …" or "error CODE …"; Silent if neither comes."""
        deadline = time.monotonic() + seconds
        while True:
            line = self._process.line(deadline)
            if line.startswith(("ok", "error")):
                return line
            self.progress = line

    def do(self, command, seconds=30):
        self.send(command)
        return self.answer(seconds)

    def kill(self):
        self._process.end()

    def signal(self, number):
        self._process.send_signal(number)


def field(answer, name):
    for word in answer.split():
        if word.startswith(name + "="):
            return word[len(name) + 1:]
    return ""
