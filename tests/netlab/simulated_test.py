#!/usr/bin/env python3
# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Holds the simulator against the laboratory: one trainer and four readers over shaped links. The
simulator gets the same bytes and the rate that a plain stream reached there, nothing else; how long
it says that all readers take must be what they took.

    simulated_test.py FOLDER-OF-THE-BINARIES
"""

import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import binaries  # noqa: E402  (in the folder above)

READERS = 4
# Of the laboratory's time.
TOLERANCE = 0.15


def report_of(*words):
    """The values of the figures and of what is beside them, by name."""
    done = binaries.run(*words, "-o", "json")
    if done.returncode != 0:
        raise AssertionError(f"{words[0]} ended with {done.returncode}: {done.stderr}")
    return {name: entry["value"] for name, entry in binaries.entries_of(done.stdout).items()}


class SimulatedTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.lab = report_of("tensorhub-bench", "broadcast", "--readers", str(READERS),
                            "--rate", "200mbit", "--seconds", "4", "--tensors", "30",
                            "--strategies", "ros,chain", "--rounds", "2")

    def simulate(self, *words):
        return report_of("tensorhub-sim", "scale", *words, "--gpus", str(READERS + 1),
                         "--group-size", "1", "--gpus-per-host", "1",
                         "--shard-bytes", str(round(self.lab["size"] * 1e6)),
                         "--nic-gbit", str(self.lab["stream"] / 1000))

    def assert_as_in_the_laboratory(self, simulated, figure):
        ratio = simulated[figure] / self.lab[figure]
        self.assertAlmostEqual(ratio, 1, delta=TOLERANCE,
                               msg=f"{figure}: {simulated[figure]:.3f} s simulated, "
                                   f"{self.lab[figure]:.3f} s in the laboratory")

    def test_agents_frame_by_frame(self):
        self.assert_as_in_the_laboratory(
            self.simulate("--strategy", "ros", "--agents", "core"), "ros.completion")

    def test_agents_as_flows(self):
        self.assert_as_in_the_laboratory(
            self.simulate("--strategy", "ros", "--agents", "flow"), "ros.completion")

    def test_network_alone(self):
        """A static chain: neither the hub nor agents, only the modelled links."""
        self.assert_as_in_the_laboratory(
            self.simulate("--strategy", "chain"), "chain.completion")


if __name__ == "__main__":
    binaries.main_in_the_laboratory()
