#!/usr/bin/env python3
# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Kills, stops and restarts the processes of a running cluster, round after round, and checks that
whoever survives gets what docs/protocol promises. docs/testing.md, "Processes killed".

A life is one cluster: the same processes go through its rounds, but for those that are killed. A
failure ends the life and prints its seed and the command that repeats it; the same plan strikes
again, at about the same moments. Exit code 0 if nothing failed, 1 otherwise, 77 where there can be
no laboratory (--links).
"""

import argparse
import collections
import os
import shutil
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import links  # noqa: E402
import plan as plans  # noqa: E402
import standin  # noqa: E402  (in the folder above)
from cluster import WAYS, Broken, Cluster, Way  # noqa: E402
from processes import Places, Silent  # noqa: E402
from rounds import Round  # noqa: E402

ROUNDS_PER_LIFE = 20
BRIEFLY = 3  # times fewer rounds, in lives that are as many times shorter
LOG_LINES = 12  # of each process, that a failure shows
GONE = "ended with"  # processes.Silent, where the process is no more
# UCX before 1.14 ends its own process when a peer dies while it connects: an assertion of
# ucp_request.c that was taken out then (docs/protocol/guarantees.md).
UCX_GAVE_UP = ("ucp_request.c", "got REP message")
EXCUSED_MAX = 3  # lives that UCX may end so: it is rare, and more would hide something else


class Report:
    """Progress on a terminal, a line per failure, a summary."""

    def __init__(self, rounds):
        self._rounds = rounds
        self._begin = time.monotonic()
        self.done = 0
        self.failures = 0
        self.excused = 0
        self.ways = set()  # names, of lives that counted
        self._hits = collections.Counter()

    def count(self, the_round):
        self.done += 1
        self._hits.update(the_round.hits)
        if sys.stderr.isatty():
            filled = 30 * self.done // self._rounds
            print(f"\r[{'#' * filled}{' ' * (30 - filled)}] {self.done}/{self._rounds} rounds, "
                  f"{self._speed():.2f} a second, {self.failures} failed ", end="",
                  file=sys.stderr, flush=True)

    def fail(self, text):
        self.failures += 1
        self._print(text)

    def excuse(self, text, rounds):
        """The life is to be lived again: the rounds that it had do not count."""
        self.excused += 1
        self.done -= rounds
        self._print(f"skipped, UCX ended a process of its own accord: {text}")

    @staticmethod
    def _print(text):
        print(("\n" if sys.stderr.isatty() else "") + text, flush=True)

    def _speed(self):
        return self.done / (time.monotonic() - self._begin)

    def print_summary(self):
        if sys.stderr.isatty():
            print(file=sys.stderr)
        table = collections.defaultdict(lambda: [0, 0])
        for (verb, fault, under_way), count in self._hits.items():
            table[verb, fault][0] += count
            table[verb, fault][1] += count if under_way else 0
        print(f"{'DURING':<12}{'FAULT':<32}{'TIMES':>6}  IN A CALL OF ITS OWN")
        for (verb, fault), (count, under_way) in sorted(table.items()):
            print(f"{verb:<12}{fault:<32}{count:>6}  {under_way}")
        print(f"{self.done} rounds in {time.monotonic() - self._begin:.0f} s "
              f"({self._speed():.2f} a second), {self.failures} failed")
        if self.excused:
            print(f"{self.excused} lives ended by an assertion of UCX: not counted")


def measure(cluster):
    """What the calls take undisturbed; leaves version 1 published and fetched."""
    paces = {"unpublish": 0.03}

    def timed(workers, command):
        begin = time.monotonic()
        for worker in workers:
            worker.send(command)
        answers = [worker.answer(60) for worker in workers]
        if not all(answer.startswith("ok") for answer in answers):
            raise Broken(f"undisturbed: {command}: {answers}")
        return time.monotonic() - begin

    timed(cluster.trainers, "fill 1")
    paces["publish"] = timed(cluster.trainers, "publish 1")
    paces["fetch"] = timed(cluster.rollouts, "fetch latest")
    return paces


class Life:
    """One cluster from its first process to the end of its last."""

    def __init__(self, arguments, number, lab, attempt):
        self._arguments = arguments
        self._number = number
        self._lab = lab
        ways = arguments.ways
        self._way = ways[0] if lab else ways[number % len(ways)]
        self._folder = os.path.join(arguments.folder, f"life{number}.{attempt}")
        self._plan = "before the first round"
        self._round = 0

    def run(self, rounds, report):
        """Whether it counts: UCX may have ended it."""
        cluster = None
        counts = True
        try:
            cluster = self._begin()
            self._rounds(cluster, rounds, report)
            shutil.rmtree(self._folder)
        except (Broken, Silent) as problem:
            if report.excused < EXCUSED_MAX and self._ucx_gave_up(problem):
                counts = False
                report.excuse(self._describe(problem), self._round)
            else:
                report.fail(f"{self._describe(problem)}\n{self._last_words()}")
        finally:
            if cluster is not None:
                cluster.close()
        if counts:
            report.ways.add(self._way.name)
        return counts

    def _logs(self):
        """(name, lines) of every process."""
        for name in sorted(os.listdir(self._folder)):
            if name.endswith(".log"):
                path = os.path.join(self._folder, name)
                with open(path, encoding="utf-8", errors="replace") as log:
                    yield name, log.readlines()

    def _ucx_gave_up(self, problem):
        """Only where a process is gone, which a Broken may tell of in its own words: bytes and
        answers that are wrong, and processes that live and hang, are no assertion's doing."""
        silent = problem if isinstance(problem, Silent) else problem.__context__
        if not isinstance(silent, Silent) or GONE not in str(silent):
            return False
        return any(all(mark in line for mark in UCX_GAVE_UP)
                   for _, lines in self._logs() for line in lines)

    def _last_words(self):
        """For who has the output only, and not the machine."""
        return "".join(f"  {name}: {line.rstrip()}\n"
                       for name, lines in self._logs() for line in lines[-LOG_LINES:])

    def _begin(self):
        places, hosts = (self._lab, self._lab.hosts) if self._lab else (
            Places(self._arguments.binaries), ["h0", "h1"])
        return Cluster(places, hosts, self._folder, self._way)

    def _rounds(self, cluster, rounds, report):
        paces = measure(cluster)
        version = 2
        names = [str(worker) for worker in cluster.workers()]
        for self._round in range(rounds):
            self._plan = plans.draw(self._arguments.seed, self._number, self._round, names,
                                    self._lab.hosts if self._lab else ())
            if self._arguments.verbose:
                print(f"life {self._number} round {self._round}: {self._plan}", flush=True)
            the_round = Round(cluster, self._plan, version, paces, self._lab)
            version = the_round.run() + 1
            cluster.check_logs()
            report.count(the_round)

    def _describe(self, problem):
        return (f"FAILED seed {self._arguments.seed} life {self._number} round {self._round} "
                f"({self._way.name}): {problem}\n  plan: {self._plan}\n  logs: {self._folder}\n"
                f"  repeat: {sys.argv[0]} --seed {self._arguments.seed} "
                f"--first-life {self._number} --rounds {self._round + 1}"
                f"{' --links' if self._lab else ''}{' --device' if self._arguments.device else ''} "
                f"{self._arguments.binaries}")


def parse():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=60, metavar="N")
    parser.add_argument("--seed", type=int, default=1, metavar="S")
    parser.add_argument("--first-life", type=int, default=0, metavar="L")
    parser.add_argument("--links", action="store_true",
                        help="processes on hosts of tools/netlab, whose links are cut as well")
    parser.add_argument("--device", action="store_true",
                        help="tensors in the memory of a GPU that is not there (tests/standin.py)")
    parser.add_argument("--brief", action="store_true",
                        help="a third of the rounds, in shorter lives; TENSORHUB_FULL: all")
    parser.add_argument("--verbose", action="store_true", help="print each round's plan")
    parser.add_argument("binaries", help="the folder of the programs under test")
    arguments = parser.parse_args()
    arguments.life_rounds = ROUNDS_PER_LIFE
    if arguments.brief and not os.environ.get("TENSORHUB_FULL"):
        arguments.rounds //= BRIEFLY
        arguments.life_rounds = -(-ROUNDS_PER_LIFE // BRIEFLY)
    return arguments


def live(arguments, lab, report):
    """A life that did not count is lived again: the next one goes another way."""
    life = arguments.first_life
    left = arguments.rounds
    while left > 0:
        if Life(arguments, life, lab, report.excused).run(min(left, arguments.life_rounds), report):
            left -= arguments.life_rounds
            life += 1


def check_all_was_done(arguments, report):
    """What was left out must not look like what went well."""
    if not report.failures and report.done < arguments.rounds:
        report.fail(f"FAILED only {report.done} of {arguments.rounds} rounds were done")
    missing = [way.name for way in arguments.ways if way.name not in report.ways]
    turns = arguments.rounds > (len(arguments.ways) - 1) * arguments.life_rounds
    if missing and turns and not arguments.links:
        report.fail(f"FAILED no life went this way: {', '.join(missing)}")


def main():
    arguments = parse()
    arguments.ways = WAYS
    if arguments.device:
        environment = standin.environment(arguments.binaries)
        arguments.ways = (
            Way("device, checked", {**environment, "TENSORHUB_DIGESTS": "on"}, "device=0"),
            Way("device", environment, "device=0"))
    if arguments.links and not links.inside():
        links.enter()
    lab = links.Lab(arguments.binaries) if arguments.links else None
    arguments.folder = tempfile.mkdtemp(prefix="tensorhub-chaos-")
    report = Report(arguments.rounds)
    live(arguments, lab, report)
    check_all_was_done(arguments, report)
    report.print_summary()
    if report.failures == 0:
        shutil.rmtree(arguments.folder)
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main())
