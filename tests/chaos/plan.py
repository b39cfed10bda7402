# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""What happens in a round, drawn from its seed: whom which fault hits in which call, and when."""

import dataclasses
import random

LEASE_MS = 1000
VERBS = ("publish", "fetch", "unpublish")
# (fault, how often): of workers, and of the server.
_WORKER_FAULTS = (("kill", 5), ("terminate", 2), ("stop", 3), ("stop past the lease", 1))
_SERVER_FAULTS = (("kill", 4), ("kill and leave away", 2), ("kill in a loop", 2), ("stop", 2),
                  ("stop past the lease", 1))
_LINK_FAULTS = (("cut", 3), ("cut past the lease", 2))
SERVER = "server"


@dataclasses.dataclass
class Fault:
    victim: str  # "group/rank", or the server; a host where links are cut
    kind: str
    seconds: float  # how long stopped, away or cut

    def __str__(self):
        duration = f" for {self.seconds:.2f} s" if self.seconds else ""
        return f"{self.kind} {self.victim}{duration}"


@dataclasses.dataclass
class Plan:
    verb: str           # what runs when the faults strike
    moment: float       # 0: as the call begins; 1: about when it ends undisturbed
    faults: list
    fetch_first: bool   # the fetches wait for a version that is not published yet
    drain_ms: int

    def __str__(self):
        faults = " and ".join(str(fault) for fault in self.faults)
        first = ", fetches asked before the publish" if self.fetch_first else ""
        return f"{faults}, at {self.moment:.2f} of {self.verb}{first}, drain {self.drain_ms} ms"


def _choose(rng, weighted):
    kinds, weights = zip(*weighted)
    return rng.choices(kinds, weights)[0]


def _duration(rng, kind):
    lease = LEASE_MS / 1000
    if "past" in kind:
        return rng.uniform(1.3, 1.8) * lease
    if kind in ("stop", "cut"):
        return rng.uniform(0.05, 0.6) * lease
    if kind in ("kill and leave away", "kill in a loop"):
        return rng.uniform(0.05, 0.3)
    return 0.0


def _fault(rng, verb, workers, hosts):
    trainers = [worker for worker in workers if worker.startswith("trainer/")]
    if hosts and rng.random() < 0.6:
        victim, kinds = rng.choice(hosts), _LINK_FAULTS
    elif rng.random() < 0.3:
        victim, kinds = SERVER, _SERVER_FAULTS
    elif verb != "fetch" and rng.random() < 0.6:
        victim, kinds = rng.choice(trainers), _WORKER_FAULTS
    else:
        victim, kinds = rng.choice(workers), _WORKER_FAULTS
    kind = _choose(rng, kinds)
    return Fault(victim, kind, _duration(rng, kind))


def draw(seed, life, number, workers, hosts=()):
    """`workers` are names, `hosts` those whose links may be cut."""
    rng = random.Random(f"{seed}/{life}/{number}")
    verb = _choose(rng, zip(VERBS, (2, 4, 2)))
    plan = Plan(verb=verb, moment=rng.uniform(0, 1.1), faults=[],
                fetch_first=verb == "publish" and rng.random() < 0.5,
                drain_ms=rng.choice((100, 1000)))
    for _ in range(rng.choices((1, 2), (4, 1))[0]):
        fault = _fault(rng, verb, workers, hosts)
        if all(other.victim != fault.victim for other in plan.faults):
            plan.faults.append(fault)
    return plan
