#!/usr/bin/env python3
# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""tensorhub-bench's scenarios over shaped links, small: all bytes arrive, whatever happens on the
way. The bench compares every reader's bytes with the trainer's and fails if they differ; how long
it took is not looked at here.

    bench_test.py FOLDER-OF-THE-BINARIES
"""

import json
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import binaries  # noqa: E402  (in the folder above)

# A second's worth at most, at a rate that costs next to nothing.
SMALL = ("--rate", "40mbit", "--seconds", "1", "--tensors", "30")


def bench(*words):
    return binaries.run("tensorhub-bench", *words)


class BenchTest(unittest.TestCase):
    def measure(self, *words):
        """The figures and what is beside them, by name."""
        done = bench(*words, *SMALL, "-o", "json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout)["scenario"], words[0])
        return binaries.entries_of(done.stdout)

    def test_broadcast(self):
        with tempfile.TemporaryDirectory() as folder:
            picture = os.path.join(folder, "b.svg")
            figures = self.measure("broadcast", "--readers", "4", "--strategies",
                                   "ros,fanout,store,chain", "--plot", picture)
            for strategy in ("ros", "fanout", "store", "chain"):
                self.assertGreater(figures[f"{strategy}.completion"]["value"], 0)
            self.assertGreaterEqual(figures["ros.trainer_sent"]["value"], 1)
            # Readers serve each other: alone, the trainer would send four copies.
            self.assertLess(figures["ros.trainer_sent"]["value"], 2)
            with open(picture, encoding="utf-8") as file:
                self.assertIn("trainer", file.read())

    def test_members_come_and_go(self):
        figures = self.measure("elastic", "--readers", "4", "--server-flag=--lease=1s")
        for figure in ("undisturbed.completion", "join.completion", "kill.completion",
                       "cut.completion", "churn.slowest", "server.completion"):
            self.assertGreater(figures[figure]["value"], 0)
        self.assertIn("unpublish.active", figures)
        # No chunk twice: half of them, which a new start would cost, is far from what headers take.
        for figure in ("kill.received", "cut.received"):
            self.assertLess(figures[figure]["ratio"], 1.2)

    def test_datacenters(self):
        figures = self.measure("crossdc", "--dcs", "2", "--hosts-per-dc", "2", "--wan", "40mbit",
                               "--strategies", "ros,chain")
        # All of it crossed the link; what headers and the server's messages add is small.
        for strategy in ("ros", "chain"):
            self.assertGreaterEqual(figures[f"{strategy}.wan.dc2"]["ratio"], 1)
            self.assertLess(figures[f"{strategy}.wan.dc2"]["ratio"], 1.2)

    def test_several_sources(self):
        figures = self.measure("spread", "--sources", "2")
        self.assertGreater(figures["spread.completion"]["value"], 0)
        # Each byte came once; headers and what is on the way at the end are small.
        self.assertLess(figures["spread.received"]["ratio"], 1.2)
        # Both brought some.
        for source in ("spread.sent.h1", "spread.sent.h2"):
            self.assertGreater(figures[source]["value"], 0.1)

    def test_reshard(self):
        done = bench("reshard-net", "--shape", "row-parallel", "--layers", "1", "--rate", "300mbit",
                     "-o", "json")
        self.assertEqual(done.returncode, 0, done.stderr)
        figures = binaries.entries_of(done.stdout)
        for figure in ("root.completion", "chain.completion"):
            self.assertGreater(figures[figure]["value"], 0)
        self.assertIn("killed.extra", figures)
        # Each byte came once, also where a source was killed.
        self.assertLess(figures["received"]["ratio"], 1.2)
        self.assertLess(figures["killed.received"]["value"], 1.3)

    def test_bad_input(self):
        for words, text in ((("--rate", "0mbit"), "--rate: 0mbit is out of range"),
                            (("--rate", "none"), "--rate none"),
                            (("--readers", "0"), "--readers: give 1 to"),
                            (("--strategies", "magic"), "\"magic\" is none")):
            with self.subTest(text):
                done = bench("broadcast", *words)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(text, done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1, done.stderr)


if __name__ == "__main__":
    binaries.main_in_the_laboratory()
