# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""A server, a trainer group and several rollout groups; what every one of them holds, by its own
word and by the server's."""

import dataclasses
import os
import re
import time

from plan import LEASE_MS, SERVER
from processes import PATIENCE, Server, Worker

RANKS = 2
ROLLOUTS = 3
SHARD = "tensors=12 bytes=25165824"  # 24 MiB a rank: long enough to be hit on the way
JOIN_MS = 60000
# What an agent's watchdog says of a thread that waits, or turns and turns in one place. On a busy
# machine that lasts a second or two without anybody's fault: a thread that maps memory waits for a
# sibling that touches some, and that one for a processor. What a peer or a network can hold a
# thread up with lasts longer: a name that nobody resolves, a connection that nobody takes. One that
# never ends keeps a call from ending.
HELD_UP = re.compile(": the progress thread "
                     "was (held up|busy) for "
                     "([3-9][0-9]{3}|[0-9]{5,}) ms")



class Broken(Exception):
    """What is promised did not hold."""


@dataclasses.dataclass
class Way:
    """How bytes travel: what the workers' environment and memory make of it."""
    name: str
    environment: dict
    memory: str


WAYS = (Way("tcp", {"UCX_TLS": "tcp"}, ""),
        Way("served", {}, ""),
        Way("one-sided", {}, "shared=1"))


def demand(condition, what):
    if not condition:
        raise Broken(what)


def eventually(condition, seconds):
    """The last value of the condition: true, or what was false until the end."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value is True or time.monotonic() > deadline:
            return value
        time.sleep(0.02)


class Cluster:
    def __init__(self, places, hosts, folder, way):
        """`hosts`: the server's place, then the groups', which may be the same."""
        self.places = places
        self.folder = folder
        os.makedirs(folder)
        self.server = Server(places, hosts[0], folder, LEASE_MS)
        self.groups = {}
        for number, group in enumerate(["trainer", *(f"rollout{n}" for n in range(ROLLOUTS))]):
            self.groups[group] = [
                Worker(places, folder, self.server, group=group, rank=rank, world=RANKS,
                       place=hosts[1 + number % (len(hosts) - 1)], way=way, shard=SHARD)
                for rank in range(RANKS)]
        self.join(self.workers())

    def workers(self):
        return [worker for ranks in self.groups.values() for worker in ranks]

    @property
    def trainers(self):
        return self.groups["trainer"]

    @property
    def rollouts(self):
        return [worker for worker in self.workers() if worker.group != "trainer"]

    def named(self, name):
        if name == SERVER:
            return self.server
        return next(worker for worker in self.workers() if str(worker) == name)

    def join(self, workers):
        for worker in workers:
            answer = worker.join(JOIN_MS)
            demand(answer == "ok", f"{worker} (life {worker.life}) cannot join: {answer}")

    def close(self):
        for worker in self.workers():
            worker.kill()
        self.server.kill()

    def check_logs(self):
        """Nothing holds a progress thread up, whatever happens to the others (R8)."""
        for worker in self.workers():
            held = [line.strip() for line in worker.log() if HELD_UP.search(line)]
            demand(not held, f"{worker}: {held[:1]}")

    def check_view(self, version):
        """The server lists every rollout group as a complete holder, nobody as reading, and every
        process as connected: at last, since what a stopped worker holds is known again only after
        its next session."""
        problem = eventually(lambda: self._view_problem(version), 3 * LEASE_MS / 1000 + PATIENCE)
        demand(problem is True, f"the server's view of version {version}: {problem}")

    def _view_problem(self, version):
        listed = self.server.ask("replicas", Worker.MODEL, str(version))
        if listed is None:
            return "it does not answer"
        complete = {f"{entry['group']}/{entry['rank']}" for entry in listed["replicas"]
                    if entry["state"] == "complete"}
        missing = [str(worker) for worker in self.rollouts if str(worker) not in complete]
        if missing:
            return f"{', '.join(missing)} not listed as complete holders: {listed}"
        if any(entry["readers"] for entry in listed["replicas"]):
            return f"readers are left: {listed}"
        status = self.server.ask("status")
        if status is None or status["transfers"] or status["connected"] != len(self.workers()):
            return f"status: {status}"
        return True
