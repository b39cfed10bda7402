#!/usr/bin/env python3
# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""What a server records of a real cluster's run, gone through again by tensorhub-sim.

    record_test.py FOLDER-OF-THE-BINARIES
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import binaries  # noqa: E402  (in the folder above)
from served import WorkersTest  # noqa: E402

MODEL = WorkersTest.MODEL
TIMEOUT = 60


class RecordTest(WorkersTest):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.file = os.path.join(self.folder, "record")
        self.data = os.path.join(self.folder, "data")
        self.workers = []

    def start(self, *flags):
        self.server = subprocess.Popen(
            [binaries.path("tensorhub-server"), "--listen", "127.0.0.1:0", "--lease", "2s",
             "--data-dir", self.data, "--record", self.file, *flags],
            text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for step in (self.server.stdout.close, self.server.stderr.close, self.server.wait,
                     self.server.kill):
            self.addCleanup(step)
        self.address = self.server.stdout.readline().split()[-1]

    def stop(self, with_signal=signal.SIGTERM):
        self.server.send_signal(with_signal)
        self.server.wait(TIMEOUT)

    def ctl(self, *words):
        return subprocess.run([binaries.path("tensorhubctl"), "--server", self.address, *words],
                              text=True, capture_output=True, timeout=TIMEOUT)

    def replay(self, *words, file=None):
        return subprocess.run(
            [binaries.path("tensorhub-sim"), "replay", file or self.file, *words],
            text=True, capture_output=True, timeout=TIMEOUT)

    def run_a_cluster(self, version=1):
        """Publishes, fetches, drains, and the end of a process that says nothing."""
        trainer = self.worker("trainer")
        self.do(trainer, f"publish {version}")
        first = self.worker("first")
        self.do(first, "fetch latest")
        second = self.worker("second")
        self.do(second, "fetch latest")
        for words in (["retain", MODEL, "2"], ["pin", MODEL, str(version), "--name", "best"],
                      ["drain", f"{MODEL}/first"], ["unpin", MODEL, "--name", "best"]):
            done = self.ctl(*words)
            self.assertEqual(done.returncode, 0, done.stderr)
        second.end()
        self.do(trainer, "unpublish")
        self.do(trainer, f"publish {version + 1}")
        self.do(first, "fetch latest")

    def steps(self, **kwargs):
        replayed = self.replay("-o", "json", **kwargs)
        self.assertEqual(replayed.returncode, 0, replayed.stderr)
        return json.loads(replayed.stdout)

    def test_a_run_is_replayed_equal(self):
        self.start()
        self.run_a_cluster()
        self.stop()
        replayed = self.replay()
        self.assertEqual(replayed.returncode, 0, replayed.stderr)
        self.assertIn("every effect is what it was", replayed.stdout)
        self.assertGreater(self.steps()["steps"], 20)
        self.assertEqual(self.steps()["torn_bytes"], 0)
        # The next life begins on what the one before kept, and has a record of its own.
        first = os.path.getsize(self.file)
        self.start()
        self.assertEqual(os.path.getsize(self.file + ".1"), first)
        self.run_a_cluster(11)
        self.stop()
        self.assertGreater(self.steps()["steps"], 20)

    def test_the_state_is_shown(self):
        self.start()
        self.run_a_cluster()
        asked = json.loads(self.ctl("versions", MODEL, "-o", "json").stdout)["versions"]
        self.stop()
        shown = {}
        for line in self.replay("--at", "1h", "-o", "json").stdout.splitlines():
            shown.update(json.loads(line))
        self.assertEqual([(row["version"], row["state"]) for row in shown["versions"]],
                         [(row["version"], row["state"]) for row in asked])
        self.assertEqual(shown["models"][0]["keep_latest"], 2)
        at_first = self.replay("--at", "0s")
        self.assertIn("No workers.", at_first.stdout)

    def test_what_is_damaged_is_named(self):
        self.start()
        self.run_a_cluster()
        self.stop()
        whole = self.steps()["steps"]
        with open(self.file, "rb") as file:
            record = file.read()
        copy = os.path.join(self.folder, "copy")
        for place in range(10, len(record), len(record) // 40):
            with open(copy, "wb") as file:
                file.write(record[:place] + bytes([record[place] ^ 0x20]) + record[place + 1:])
            damaged = self.replay(file=copy)
            self.assertNotEqual(damaged.returncode, 0, f"byte {place}: {damaged.stdout}")
            self.assertRegex(damaged.stderr, r"step \d+|beginning is damaged")
        # A server that ended in the middle of a write, or whose machine did.
        for tail in (record[:-3], record[:-3] + bytes(100)):
            with open(copy, "wb") as file:
                file.write(tail)
            self.assertEqual(self.steps(file=copy)["steps"], whole - 1)
            self.assertGreater(self.steps(file=copy)["torn_bytes"], 0)
        with open(copy, "wb") as file:
            file.write(b"something else")
        self.assertIn("is no record of a hub", self.replay(file=copy).stderr)

    def test_it_ends_at_its_limit(self):
        self.start("--record-max", "1KiB")
        self.run_a_cluster()
        self.stop()
        self.assertLessEqual(os.path.getsize(self.file), 1024)
        self.assertIn("--record-max", self.server.stderr.read())
        self.assertGreater(self.steps()["steps"], 1)


if __name__ == "__main__":
    binaries.main()
