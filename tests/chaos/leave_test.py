#!/usr/bin/env python3
# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""SIGTERM, as a machine gets it that is about to be taken away: programs leave in order, within
their time, whatever they are doing. The server knows at once: the lease is longer than the test."""

import os
import signal
import sys
import tempfile
import time
import unittest

from cluster import WAYS
from processes import Places, Process, Server, Silent, Worker

LEASE_MS = 600_000
DRAIN = 2   # seconds that the worker program gives its readers
LEAVE = 6   # an orderly end's bound on top of the drain time
SLACK = 30  # for a busy machine
PROMPT = 8  # seconds for all of a leave that nobody holds up, on such a machine
SHARD = "tensors=12 bytes=25165824"


class LeaveTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="tensorhub-leave-")
        self.addCleanup(self.folder.cleanup)
        self.places = Places(BINARIES)
        self.server = Server(self.places, "h0", self.folder.name, LEASE_MS)
        self.addCleanup(self.server.kill)

    def join(self, group):
        worker = Worker(self.places, self.folder.name, self.server, group=group, rank=0, world=1,
                        place="h1", way=WAYS[0], shard=SHARD)
        self.addCleanup(worker.kill)
        self.assertEqual(worker.join(10000), "ok")
        return worker

    def publish(self, group):
        worker = self.join(group)
        self.assertEqual(worker.do("fill 1"), "ok")
        self.assertTrue(worker.do("publish 1").startswith("ok"))
        return worker

    def expect_left(self, worker, bound):
        """Ends in time, and the server knows it no more."""
        self.assertEqual(worker.wait(bound + SLACK), 128 + signal.SIGTERM)
        self.assertNotIn(worker.group, self.groups())

    def groups(self):
        return [entry["group"] for entry in self.server.ask("workers")["workers"]]

    def test_a_trainer_that_serves(self):
        trainer = self.publish("trainer")
        begin = time.monotonic()
        trainer.signal(signal.SIGTERM)
        self.expect_left(trainer, LEAVE)
        self.assertLess(time.monotonic() - begin, PROMPT)

    def test_a_rollout_that_waits(self):
        rollout = self.join("rollout")
        rollout.send("fetch newer=5 timeout=600000")
        with self.assertRaises(Silent):
            rollout.answer(0.2)
        rollout.signal(signal.SIGTERM)
        self.expect_left(rollout, LEAVE)

    def test_a_rollout_in_the_middle_of_a_fetch(self):
        trainer = self.publish("trainer")
        trainer.signal(signal.SIGSTOP)  # the fetch has begun and does not go on
        rollout = self.join("rollout")
        rollout.send("fetch latest timeout=600000")
        with self.assertRaises(Silent):
            rollout.answer(0.5)
        rollout.signal(signal.SIGTERM)
        self.expect_left(rollout, LEAVE)
        trainer.signal(signal.SIGCONT)
        other = self.join("other")
        self.assertTrue(other.do("fetch latest").startswith("ok"))
        self.assertEqual(other.do("check 1"), "ok")

    def test_a_reader_that_sleeps_does_not_hold_the_trainer(self):
        trainer = self.publish("trainer")
        rollout = self.join("rollout")
        rollout.signal(signal.SIGSTOP)
        rollout.send("fetch latest timeout=60000")
        rollout.signal(signal.SIGCONT)
        try:
            rollout.answer(0.01)  # in the middle, or through already
        except Silent:
            pass
        rollout.signal(signal.SIGSTOP)
        trainer.signal(signal.SIGTERM)
        self.expect_left(trainer, DRAIN + LEAVE)
        rollout.signal(signal.SIGCONT)

    def test_without_a_server(self):
        trainer = self.publish("trainer")
        self.server.kill()
        trainer.signal(signal.SIGTERM)
        self.assertEqual(trainer.wait(LEAVE + SLACK), 128 + signal.SIGTERM)

    def test_tensorhubctl_publish(self):
        self._demo("make-model", self._path("model.safetensors"), "--layers", "1").wait(60)
        publisher = Process(
            self.places.command("h0", ["tensorhubctl", "--server", self.server.address, "publish",
                                       "m", "1", self._path("model.safetensors"), "--group",
                                       "files"]), self._path("publish.log"))
        self.addCleanup(publisher.end)
        publisher.line(time.monotonic() + 30)
        self.assertIn("files", self.groups())
        publisher.send_signal(signal.SIGTERM)
        self.assertEqual(publisher.wait(LEAVE + SLACK), 0)
        self.assertNotIn("files", self.groups())

    def test_the_demo(self):
        self._demo("make-model", self._path("model.safetensors"), "--layers", "1").wait(60)
        setting = ["--server", self.server.address, "--checkpoint",
                   self._path("model.safetensors"), "--dir", self.folder.name, "--ranks", "1",
                   "--rollouts", "2", "--versions", "3"]
        trainer = self._demo("trainer", *setting)
        rollout = self._demo("rollout", *setting)
        rollout.line(time.monotonic() + 60)  # the first version; the second rollout never comes
        for process in (rollout, trainer):
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(DRAIN + LEAVE + SLACK), 128 + signal.SIGTERM)
        self.assertEqual(self.groups(), [])

    def _path(self, name):
        return os.path.join(self.folder.name, name)

    def _demo(self, *words):
        process = Process(self.places.command("h0", ["tensorhub-demo", *words]),
                          self._path("demo.log"))
        self.addCleanup(process.end)
        return process


if __name__ == "__main__":
    BINARIES = sys.argv.pop()
    unittest.main()
