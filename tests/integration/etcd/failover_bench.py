#!/usr/bin/env python3
# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""How long it takes until another server leads, and until it has decided the first fetch.

    failover_bench.py [--rounds N] FOLDER-OF-THE-BINARIES

Three members of etcd and two servers on this machine, a leader's lease of 2 s, a trainer that holds
a version and a rollout that was connected before. What is done to the leader: it is told to end
(SIGTERM), killed, stopped, or cut off from etcd. Printed per fault: the median and the longest of N
rounds, in seconds, from the fault until the other server's log says that it leads, and until the
rollout's fetch, which began at the fault, has its answer. With TMPDIR=/dev/shm the disk, which etcd
waits for, is no part of it.
"""

import argparse
import datetime
import os
import re
import signal
import statistics
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from several_servers import SeveralServersTest, binaries  # noqa: E402


class Bench(SeveralServersTest):
    PROXIED = False

    def runTest(self):  # noqa: N802  (unittest's name)
        """Not a test: measures, and is measured by nobody."""

    def led_at(self, server):
        times = re.findall(r"(\S+)Z info tensorhub-server: this server leads", server.log())
        at = datetime.datetime.fromisoformat(times[-1]).replace(tzinfo=datetime.timezone.utc)
        return at.timestamp()

    def round(self, fault):
        trainer = self.worker("trainer")
        rollout = self.worker("rollout")
        trainer.publish(1)
        rollout.fetch("latest", 1)
        leader = self.leading()
        began = time.time()
        fault(leader)
        rollout.do("fetch latest")
        decided = time.time() - began
        led = self.led_at(self.await_another(leader)) - began
        return led, decided


FAULTS = {
    "SIGTERM": lambda leader: leader.signal(signal.SIGTERM),
    "SIGKILL": lambda leader: leader.signal(signal.SIGKILL),
    "SIGSTOP": lambda leader: leader.signal(signal.SIGSTOP),
    "cut off from etcd": lambda leader: leader.cut_from_etcd(),
}


def measure(fault):
    bench = Bench()
    try:
        bench.setUp()
        return bench.round(fault)
    finally:
        bench.doCleanups()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("folder")
    arguments = parser.parse_args()
    binaries.use(arguments.folder)
    print(f"{'fault':20} {'leads: median':>14} {'longest':>8} {'decides: median':>16} "
          f"{'longest':>8}")
    for name, fault in FAULTS.items():
        rounds = [measure(fault) for _ in range(arguments.rounds)]
        led, decided = zip(*rounds)
        print(f"{name:20} {statistics.median(led):14.2f} {max(led):8.2f} "
              f"{statistics.median(decided):16.2f} {max(decided):8.2f}", flush=True)


if __name__ == "__main__":
    main()
