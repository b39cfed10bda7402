# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""One round: a version is published, fetched and unpublished while faults strike; then everything
is mended, and must work.

Checked, with the numbers of docs/protocol/rules.md:
  R3  an unpublish ends within its bound; the owner overwrites the memory the moment it does
  R4  a fetch that succeeds has every byte of its version and no other
  R6  ranks of a group that survive get the same version or all an error
  R8  a call of a process that lives ends within its bound, with an error that fits; whoever was
      killed joins again; a version that a whole group holds can be fetched by everybody, whatever
      became of the others and of the server; with no such group the next version can be
"""

import signal
import time

from cluster import Broken, demand
from plan import SERVER
from processes import Silent, field

FETCH_MS = 15000
WAITING_FETCH_MS = 3000  # of one that is asked before the publish, which may never come
PUBLISH_MS = 8000
RETURN_SECONDS = 30.0    # after which a worker that was stopped or cut off is known again
LEAVE_MS = 2000 + 6000   # of a worker that is told to end: its drain time, and the bound on top
SLACK = 30.0             # seconds on top of a call's own bound, for a busy machine
UNPUBLISH_MS = 2000      # an unpublish's bound on top of its drain time
# What a fetch may fail with while something is broken.
_FETCH_ERRORS = ("UNAVAILABLE", "NOT_FOUND", "ABORTED", "UNKNOWN", "DEADLINE_EXCEEDED")
_PUBLISH_ERRORS = ("UNAVAILABLE", "ABORTED", "DEADLINE_EXCEEDED")


class Round:
    def __init__(self, cluster, plan, version, paces, links=None):
        self.cluster = cluster
        self.plan = plan
        self.version = version
        self.paces = paces    # {verb: seconds that it takes undisturbed}
        self.hits = []        # (verb, fault, whether the victim's own call was under way)
        self._links = links   # cut(host), heal(host)
        self._out = {}        # worker: its call
        self._dead = set()    # killed, or told to end, and not started again
        self._lost = set()    # that died in this round
        self._longest = 0.0   # a fault lasts, and delays whoever it strikes
        self._answers = {}    # worker: the fetch's answer
        self._held = set()    # trainers that published and did not unpublish

    def run(self):
        """The version that everybody holds in the end."""
        self._replace()
        self._disturbed()
        self._collect_fetches()
        self._mend()
        return self._settle()

    # --- the round's calls ------------------------------------------------------------------

    def _replace(self):
        for trainer in self.cluster.trainers:
            self._ask(trainer, f"unpublish drain={self.plan.drain_ms}")
        self._collect_unpublishes()
        self._fill(self.version)

    def _fill(self, version):
        for trainer in self._living(self.cluster.trainers):
            demand(trainer.do(f"fill {version}") == "ok", f"{trainer}: fill")

    def _disturbed(self):
        if self.plan.fetch_first:
            for rollout in self.cluster.rollouts:
                self._ask(rollout, self._waiting_fetch())
        begin = time.monotonic()
        for trainer in self.cluster.trainers:
            self._ask(trainer, f"publish {self.version} timeout={PUBLISH_MS}")
        if self.plan.verb == "publish":
            self._strike(begin)
        published = self._collect_publishes()
        if self.plan.fetch_first:
            self._let_join()
        elif published:
            self._fetch()

    def _fetch(self):
        self._mend()
        begin = time.monotonic()
        for rollout in self.cluster.rollouts:
            self._ask(rollout, f"fetch exact={self.version} timeout={FETCH_MS}")
        if self.plan.verb == "fetch":
            self._strike(begin)
        elif self.plan.verb == "unpublish":
            self._unpublish_under_readers(begin)

    def _let_join(self):
        """Those that died while they waited for the version take part after all."""
        for rollout in self._mend():
            if rollout.group != "trainer":
                self._ask(rollout, self._waiting_fetch())

    def _waiting_fetch(self):
        return f"fetch newer={self.version - 1} timeout={WAITING_FETCH_MS}"

    def _unpublish_under_readers(self, begin):
        self._wait_until(begin + self.paces["fetch"] * (self.plan.moment % 0.5))
        begin = time.monotonic()
        for trainer in self.cluster.trainers:
            self._ask(trainer, f"unpublish drain={self.plan.drain_ms}")
        self._strike(begin)
        self._collect_unpublishes()
        self._fill(self.version + 1)  # late readers must not see it as this version

    def _ask(self, worker, command):
        self._out[worker] = command
        worker.send(command)

    # --- faults -----------------------------------------------------------------------------

    @staticmethod
    def _wait_until(when):
        time.sleep(max(0.0, when - time.monotonic()))

    def _strike(self, begin):
        self._wait_until(begin + self.plan.moment * self.paces[self.plan.verb])
        struck = time.monotonic()
        for fault in self.plan.faults:
            self._begin_fault(fault)
        for fault in sorted(self.plan.faults, key=lambda fault: fault.seconds):
            self._wait_until(struck + fault.seconds)
            self._end_fault(fault)
        self._longest = time.monotonic() - struck

    def _begin_fault(self, fault):
        if fault.kind.startswith("cut"):
            self.hits.append((self.plan.verb, fault.kind, True))
            self._links.cut(fault.victim)
        else:
            self._hit(fault, self.cluster.named(fault.victim))

    def _hit(self, fault, victim):
        of_server = fault.victim == SERVER
        self.hits.append((self.plan.verb, f"{fault.kind} {'server' if of_server else 'worker'}",
                          of_server or victim in self._out))
        if fault.kind.startswith("stop"):
            victim.signal(signal.SIGSTOP)
            return
        if fault.kind == "terminate":
            victim.signal(signal.SIGTERM)
        else:
            victim.kill()
        if not of_server:
            self._dead.add(victim)
            self._lost.add(victim)

    def _end_fault(self, fault):
        if fault.kind.startswith("cut"):
            self._links.heal(fault.victim)
        elif fault.kind.startswith("stop"):
            self.cluster.named(fault.victim).signal(signal.SIGCONT)
        elif fault.victim == SERVER:
            self.cluster.server.start()
            if fault.kind == "kill in a loop":
                for _ in range(3):
                    time.sleep(fault.seconds)
                    self.cluster.server.kill()
                    self.cluster.server.start()

    # --- answers ----------------------------------------------------------------------------

    def _living(self, workers):
        return [worker for worker in workers if worker not in self._dead]

    def _answer(self, worker, bound_ms):
        """Of the call that was asked; nothing if the worker was killed."""
        command = self._out.pop(worker)
        if worker in self._dead:
            return None
        try:
            return worker.answer(bound_ms / 1000 + self._longest + SLACK)
        except Silent as silent:
            raise Broken(f"{worker}: `{command}`: {silent}") from None

    def _collect_unpublishes(self):
        bound_ms = self.plan.drain_ms + UNPUBLISH_MS
        for trainer in self.cluster.trainers:
            answer = self._answer(trainer, bound_ms)
            if answer is None:
                continue
            demand(answer.startswith("ok"), f"{trainer}: unpublish: {answer}")
            took_ms = int(field(answer, "ms"))
            demand(took_ms <= bound_ms + (self._longest + SLACK) * 1000,
                   f"{trainer}: unpublish took {took_ms} ms of {bound_ms}")
            self._held.discard(trainer)

    def _collect_publishes(self):
        """Whether every rank published."""
        for trainer in self.cluster.trainers:
            answer = self._answer(trainer, PUBLISH_MS)
            if answer is None:
                continue
            if answer.startswith("ok"):
                self._held.add(trainer)
            else:
                demand(answer.split()[1] in _PUBLISH_ERRORS, f"{trainer}: publish: {answer}")
        return len(self._held) == len(self.cluster.trainers)

    def _collect_fetches(self):
        for rollout in self.cluster.rollouts:
            if rollout in self._out:
                self._answers[rollout] = self._answer(rollout, FETCH_MS)
        for group, ranks in self.cluster.groups.items():
            answers = {rank: self._answers[rank] for rank in ranks
                       if self._answers.get(rank) is not None}
            self._check_group(group, answers)

    def _check_group(self, group, answers):
        whole = [rank for rank, answer in answers.items() if answer.startswith("ok")]
        for rank in whole:
            self._check_bytes(rank, answers[rank], self.version)
        for rank, answer in answers.items():
            if rank in whole:
                continue
            code = answer.split()[1]
            demand(code in _FETCH_ERRORS, f"{rank}: fetch: {answer}")
            demand(code != "DEADLINE_EXCEEDED" or self._may_take_long(rank.group),
                   f"{rank}: nothing that lasts kept it from an answer: {answer}")
            # Its former life may have taken part to the end: then nobody joins it now.
            alone = rank in self._lost and "joined the fetch in time" in answer
            demand(not whole or code == "UNKNOWN" or alone,
                   f"{group}: {', '.join(map(str, whole))} fetched, {rank} did not: {answer}")

    def _may_take_long(self, group):
        """It waits for a version that may never come, for a rank that is gone, or for a holder
        that is away."""
        return (self.plan.fetch_first or self._outlasted_lease()
                or any(rank in self._lost for rank in self.cluster.groups[group]))

    def _check_bytes(self, worker, answer, version):
        demand(field(answer, "version") == str(version),
               f"{worker}: not version {version}: {answer}")
        if worker not in self._dead:
            checked = worker.do(f"check {version}")
            demand(checked == "ok", f"{worker}: {answer}, but: {checked}")

    # --- the end ----------------------------------------------------------------------------

    def _mend(self):
        """Starts again who died; returns them."""
        again = list(self._dead)
        for worker in again:
            self._out.pop(worker, None)
            try:
                worker.wait(LEAVE_MS / 1000 + self._longest + SLACK)
            except Silent as silent:
                raise Broken(f"{worker}: told to end: {silent}") from None
            worker.kill()  # frees its pipes
            worker.start()
        self.cluster.join(again)
        self._dead.clear()
        return again

    def _whole_groups(self):
        """Groups that hold the version, all ranks of them, and were spared."""
        for group, ranks in self.cluster.groups.items():
            fetched = all((self._answers.get(rank) or "").startswith("ok") for rank in ranks)
            published = all(rank in self._held for rank in ranks)
            if (fetched or published) and not self._lost & set(ranks):
                yield group

    def _settle(self):
        version = self.version
        whole = list(self._whole_groups())
        if not whole:
            version += 1
            self._publish_anew(version)
        # A holder whose lease had ended is known again once it has connected anew.
        deadline = time.monotonic() + (RETURN_SECONDS if self._outlasted_lease() else 0)
        missing = list(self.cluster.groups.values())[1:]
        while missing:
            missing = self._fetch_in_the_end(missing, version, whole or ["trainer"], deadline)
        self.cluster.check_view(version)
        return version

    def _outlasted_lease(self):
        return any("past" in fault.kind or "cut" in fault.kind for fault in self.plan.faults)

    def _fetch_in_the_end(self, groups, version, held_by, deadline):
        """The groups that have to try again."""
        for rank in (rank for ranks in groups for rank in ranks):
            rank.send(f"fetch exact={version} timeout={FETCH_MS * 2}")
        missing = []
        for ranks in groups:
            answers = [self._last_answer(rank) for rank in ranks]
            if all(answer.startswith("ok") for answer in answers):
                self._check_ranks(ranks, answers, version)
            else:
                demand(time.monotonic() < deadline,
                       f"{ranks[0].group}: in the end, held by {', '.join(held_by)}, "
                       f"`fetch exact={version}`: {answers}")
                missing.append(ranks)
        return missing

    @staticmethod
    def _last_answer(worker):
        try:
            return worker.answer(FETCH_MS * 2 / 1000 + SLACK)
        except Silent as silent:
            raise Broken(f"{worker}: in the end: {silent}") from None

    @staticmethod
    def _check_ranks(ranks, answers, version):
        for rank, answer in zip(ranks, answers):
            checked = rank.do(f"check {version}")
            demand(checked == "ok", f"{rank}: in the end: {answer}, but: {checked}")

    def _publish_anew(self, version):
        for trainer in self.cluster.trainers:
            answer = trainer.do("unpublish drain=100")
            demand(answer.startswith("ok"), f"{trainer}: in the end, unpublish: {answer}")
            demand(trainer.do(f"fill {version}") == "ok", f"{trainer}: fill")
        for trainer in self.cluster.trainers:
            answer = trainer.do(f"publish {version} timeout={PUBLISH_MS}")
            demand(answer.startswith("ok"), f"{trainer}: in the end, publish {version}: {answer}")
