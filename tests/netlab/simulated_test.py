#!/usr/bin/env python3
# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Holds the simulator against the laboratory: one trainer and four readers over shaped links, the
same bytes at the rate that a plain stream reached there, with the agents' own state machines.

    simulated_test.py FOLDER-OF-THE-BINARIES
"""

import json
import os
import subprocess
import sys
import unittest

SKIPPED = 77
BIN = ""
READERS = 4
# The same scenario, times within 15 %.
TOLERANCE = 0.15


def report_of(*words):
    done = subprocess.run([os.path.join(BIN, words[0]), *words[1:], "-o", "json"],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(f"{words[0]}: {done.stderr}")
    report = json.loads(done.stdout)
    return {entry["name"]: entry["value"] for entry in report["figures"] + report["beside"]}


class SimulatedTest(unittest.TestCase):
    def test_broadcast_takes_as_long_as_in_the_laboratory(self):
        lab = report_of("tensorhub-bench", "broadcast", "--readers", str(READERS),
                        "--rate", "200mbit", "--seconds", "4", "--strategies", "ros",
                        "--rounds", "3")
        for agents in ("core", "flow"):
            with self.subTest(agents):
                simulated = report_of(
                    "tensorhub-sim", "scale", "--strategy", "ros", "--agents", agents,
                    "--gpus", str(READERS + 1), "--group-size", "1", "--gpus-per-host", "1",
                    "--shard-bytes", str(round(lab["size"] * 1e6)),
                    "--nic-gbit", str(lab["stream"] / 1000))
                self.assertAlmostEqual(simulated["ros.completion"] / lab["ros.completion"], 1,
                                       delta=TOLERANCE)


def main():
    global BIN
    BIN = sys.argv.pop()
    probe = subprocess.run([os.path.join(BIN, "netlab"), "with", "--hosts", "1", "--", "true"],
                           capture_output=True, text=True, check=False)
    if probe.returncode == SKIPPED:
        print(f"skipped: {probe.stderr.strip()}")
        sys.exit(SKIPPED)
    unittest.main()


if __name__ == "__main__":
    main()
