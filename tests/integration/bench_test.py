#!/usr/bin/env python3
# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""tensorhub-bench's scenarios that need a server and no laboratory, small: they come to an end and
say all that they promise. How fast it was is not looked at here.

    bench_test.py FOLDER-OF-THE-BINARIES
"""

import json
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import binaries  # noqa: E402  (in the folder above)


def bench(*words):
    return binaries.run("tensorhub-bench", *words)


class BenchTest(unittest.TestCase):
    def measure(self, *words):
        """The figures and what is beside them, by name."""
        done = bench(*words, "-o", "json")
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads(done.stdout)
        self.assertEqual(report["scenario"], words[0])
        for figure in report["figures"]:
            with self.subTest(figure["name"]):
                self.assertNotEqual(figure["unit"], "")
                self.assertGreater(figure["limit"], 0)
        return binaries.entries_of(done.stdout)

    def assert_figures(self, figures, names):
        for name in names:
            with self.subTest(name):
                self.assertGreater(figures[name]["value"], 0)

    def assert_same_order(self, one, other):
        """A wrong unit is a factor of a thousand; a busy machine, of a few, either way."""
        ratio = self.seconds(one) / self.seconds(other)
        self.assertGreater(ratio, 1 / 30)
        self.assertLess(ratio, 30)

    @staticmethod
    def seconds(figure):
        return figure["value"] * {"us": 1e-6, "ms": 1e-3}[figure["unit"]]

    def test_publish(self):
        figures = self.measure("publish", "--quick", "--tensors", "30", "--small-tensors", "2000",
                               "--workers", "2")
        for tensors in (30, 2000):
            self.assert_figures(figures, (f"publish.unchanged.{tensors}", f"unpublish.{tensors}",
                                          f"publish.first.{tensors}"))
        self.assert_figures(figures, ("publish.message", "publishes.2"))
        # Names alone are longer than that. Once the hub knows them, no message has them again.
        self.assertGreater(figures["layout.message.2000"]["value"], 2000 * 20)
        self.assertLess(figures["publish.message"]["value"], 2000)

    def test_digests(self):
        figures = self.measure("read", "--quick", "--rounds", "1", "--way", "one-sided",
                               "--path", "shm")
        self.assert_figures(figures, ("digests.shm", "one-sided.shm.300"))

    def test_server(self):
        figures = self.measure("server", "--workers", "24", "--callers", "4", "--seconds", "0.5")
        self.assert_figures(figures, ("calls", "call.median", "call.p99", "call.p99.half_load",
                                      "server.cpu", "server.memory"))
        self.assert_same_order(figures["call.p99"], figures["call.p99.half_load"])
        self.assertEqual(figures["workers"]["value"], 24)
        # Each of a fetch's calls was made.
        for call in ("unpublish", "join_fetch", "begin_read", "finish_read"):
            self.assertGreater(figures[f"{call}.median"]["value"], 0)
        self.assertGreater(figures["fetches"]["value"], 0)

    def test_plan(self):
        figures = self.measure("plan", "--quick", "--tensors", "100")
        self.assert_figures(figures, ("70b.fsdp-8.tp-2.check", "tensors-100.fsdp-64.tp-8.plan",
                                      "moe.fsdp-64.tp+ep-8.plan", "moe.fsdp-16.kept"))
        # A rank of two needs all that FSDP has cut, and a half of what is cut as it is.
        self.assertEqual(figures["70b.fsdp-8.tp-2.streams"]["value"], 8)
        self.assertEqual(figures["70b.tp-8.tp-2.streams"]["value"], 4)

    def test_reshard(self):
        figures = self.measure("reshard", "--layers", "1", "--rounds", "1", "--cases",
                               "row-parallel", "--paths", "one-sided,tcp")
        for path in ("one-sided", "tcp"):
            self.assertGreater(figures[f"row-parallel.{path}.rate"]["value"], 0)
            # All four ranks of the publishers have some of it, which came as was meant.
            self.assertEqual(figures[f"row-parallel.{path}.sources"]["value"], 4)
        self.assertIn("one-sided", figures["row-parallel.one-sided.sources"]["unit"])
        self.assertIn("tcp", figures["row-parallel.tcp.sources"]["unit"])

    def test_recovery(self):
        figures = self.measure("recovery", "--workers", "24", "--callers", "4")
        self.assert_figures(figures, ("recovery",))
        self.assertEqual(figures["references"]["value"], 25)

    def test_device(self):
        done = bench("device", "--quick", "-o", "json")
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads(done.stdout)
        if "skipped" in report:  # this machine has no GPU, and it says so
            self.assertRegex(report["skipped"], "driver|CUDA")
            self.assertIn("skipped: ", bench("device", "--quick").stdout)
        else:
            self.assert_figures(binaries.entries_of(done.stdout),
                                ("read.same-gpu.300", "host-copy.out", "digests.rate"))

    def test_tables(self):
        done = bench("server", "--workers", "2", "--callers", "2", "--seconds", "0.5")
        self.assertEqual(done.returncode, 0, done.stderr)
        for word in ("server.memory", "connections alone", "of 6 figures reach their aim"):
            self.assertIn(word, done.stdout)

    def test_help(self):
        for scenario in ("publish", "server"):
            done = bench(scenario, "--help")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("--workers", done.stdout)

    def test_bad_input(self):
        for words, text in ((("publish", "--workers", "0"), "--workers: give 1 to"),
                            (("publish", "--tensors", "0"), "a registration of 0 tensors"),
                            (("publish", "--tensors", "20000"), "give two sizes"),
                            (("publish", "--rounds", "0"), "--rounds: give 1 to"),
                            (("publish", "--seconds", "0"), "--seconds: give more than 0"),
                            (("device", "--rounds", "0"), "--rounds: give 1 to"),
                            (("device", "--small-tensors", "0"), "0 tensors of"),
                            (("server", "--workers", "10001"), "--workers: give 1 to 10000"),
                            (("server", "--callers", "0"), "--callers: give 1 to"),
                            (("server", "--seconds", "0"), "--seconds: give 0.5 to"),
                            (("server", "--lease", "1ms"), "--lease: give a duration")):
            with self.subTest(text):
                done = bench(*words)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(text, done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1, done.stderr)


if __name__ == "__main__":
    binaries.main()
