# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""A tensorhub-server and workers (tensorhub-test-worker, tests/integration/worker/commands.h), as
processes that are talked to, signalled, killed and started again."""

import json
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from driven import Process, Silent, TestWorker  # noqa: E402  (in the folder above)

__all__ = ["PATIENCE", "Places", "Process", "Server", "Silent", "Worker", "field"]

PATIENCE = 60  # seconds, of an answer on a machine that does something else as well


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

    def __init__(self, places, folder, server, *, group, rank, world, place, way, shard,
                 model=MODEL):
        self.group = group
        self.model = model
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
        self.start()

    def __str__(self):
        return f"{self.group}/{self.rank}"

    def start(self):
        self.life += 1
        self._process = TestWorker(
            self._log_path(), self._way.environment,
            self._places.command(self._place, ["tensorhub-test-worker"]))

    def _log_path(self):
        return os.path.join(self._folder, f"{self.group}-{self.rank}.log")

    def log(self):
        """The lines of all its lives."""
        with open(self._log_path(), encoding="utf-8", errors="replace") as log:
            return log.readlines()

    def join(self, timeout_ms):
        """Connects and registers. A predecessor that was killed may still be known: it waits."""
        location = self._places.location(self._place)
        self.send(f"connect server={self._server.address} model={self.model} group={self.group} "
                  f"rank={self.rank} world={self._world} location={location} "
                  f"timeout={timeout_ms}")
        connected = self.answer(timeout_ms / 1000 + PATIENCE)
        if connected != "ok":
            return connected
        return self.do(f"register {self._shard} {self._way.memory}", PATIENCE)

    def wait(self, seconds):
        return self._process.wait(seconds)

    @property
    def progress(self):
        return self._process.progress

    def send(self, command):
        self._process.send(command)

    def answer(self, seconds):
        return self._process.answer(seconds)

    def do(self, command, seconds=PATIENCE):
        return self._process.ask(command, seconds)

    def kill(self):
        self._process.end()

    def signal(self, number):
        self._process.send_signal(number)


def field(answer, name):
    for word in answer.split():
        if word.startswith(name + "="):
            return word[len(name) + 1:]
    return ""
