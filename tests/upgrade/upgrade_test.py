#!/usr/bin/env python3
# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Programs of two releases in one cluster: publish, fetch, restart, unpublish, replace the server.

    upgrade_test.py OLD NEW     folders, each with tensorhub-server, tensorhubctl, tensorhub-agent

tools/test_upgrade.sh builds both. A publisher is `tensorhubctl publish`, so it is a worker of its
release, as the agent is. What is asked of older programs is what they had.
"""

import json
import os
import pathlib
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest

MODEL = "team/actor"
PATIENCE_S = 60
# The environment of who runs this is none of the programs' business.
ENVIRONMENT = {name: value for name, value in os.environ.items()
               if not name.startswith("TENSORHUB_")}

folders = {}  # "old", "new"


def file_of(version):
    """A safetensors file of 4 MiB, other bytes for each version."""
    data = struct.pack("<Q", version) * (512 << 10)
    header = {"w": {"dtype": "U8", "shape": [len(data)], "data_offsets": [0, len(data)]}}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


def tensor_of(data):
    (size,) = struct.unpack("<Q", data[:8])
    return data[8 + size:]


def has(tree, **wanted):
    """Whether some object in it has these entries."""
    if isinstance(tree, list):
        return any(has(each, **wanted) for each in tree)
    if not isinstance(tree, dict):
        return False
    if all(tree.get(name) == value for name, value in wanted.items()):
        return True
    return any(has(each, **wanted) for each in tree.values())


def unguarded(release):
    """Readers of a release before capabilities show none (docs/operations.md, Upgrade)."""
    return ["--guard-reads=false"] if release == "new" else []


class Cluster(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = pathlib.Path(scratch.name)
        self.count = 0
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.address = f"127.0.0.1:{free.getsockname()[1]}"
        for version in (1, 2):
            (self.scratch / f"v{version}.safetensors").write_bytes(file_of(version))

    def start(self, release, program, *arguments):
        self.count += 1
        log = open(self.scratch / f"{self.count}-{release}-{program}.log", "w")  # noqa: SIM115
        process = subprocess.Popen([f"{folders[release]}/{program}", *arguments], stdout=log,
                                   stderr=log, env=ENVIRONMENT)
        process.log = log
        for step in (log.close, process.wait, process.kill):
            self.addCleanup(step)
        return process

    def said(self, process):
        return pathlib.Path(process.log.name).read_text()

    def server(self, release):
        process = self.start(release, "tensorhub-server", "--listen", self.address, "--data-dir",
                             str(self.scratch / "data"), "--lease", "3s", *unguarded(release))
        self.until(lambda: "listening on" in self.said(process), process)
        return process

    def until(self, holds, *watched):
        deadline = time.monotonic() + PATIENCE_S
        while not holds():
            for process in watched:
                self.assertIsNone(process.poll(), f"{process.args}: {self.said(process)}")
            if time.monotonic() > deadline:
                self.fail("\n".join(f"{each.args}: {self.said(each)}" for each in watched))
            time.sleep(0.05)

    def end(self, process):
        process.send_signal(signal.SIGTERM)
        try:
            code = process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.fail(f"{process.args} does not end: {self.said(process)}")
        self.assertIn(code, (0, 143), f"{process.args}: {self.said(process)}")

    def ask(self, release, *words):
        program = f"{folders[release]}/tensorhubctl"
        return subprocess.run([program, *words, "--server", self.address], capture_output=True,
                              text=True, env=ENVIRONMENT, check=False, timeout=PATIENCE_S)

    def shown(self, release, *words):
        answer = self.ask(release, *words, "-o", "json")
        return json.loads(answer.stdout) if answer.returncode == 0 else None

    def publish(self, release, version):
        path = str(self.scratch / f"v{version}.safetensors")
        process = self.start(release, "tensorhubctl", "publish", "--server", self.address,
                             "--group", "trainer", MODEL, str(version), path)
        self.until(lambda: self.holds("new", "trainer", version), process)
        return process

    def holds(self, release, group, version):
        replicas = self.shown(release, "replicas", MODEL, str(version))
        return replicas is not None and has(replicas, group=group, state="complete")

    def keep(self, release):
        process = self.start(release, "tensorhub-agent", "--server", self.address, "--model", MODEL,
                             "--group", "keeper", "--log-level", "info")
        self.until(lambda: self.holds("new", "keeper", 1), process)
        return process

    def fetch(self, release, version, wanted="latest"):
        self.count += 1
        folder = self.scratch / f"fetched-{self.count}"
        done = self.ask(release, "fetch", MODEL, wanted, str(folder))
        self.assertEqual(done.returncode, 0, done.stderr)
        files = sorted(folder.glob("*.safetensors"))
        self.assertEqual(len(files), 1, files)
        # Not what assertEqual would print of four MiB.
        self.assertTrue(tensor_of(files[0].read_bytes()) == tensor_of(file_of(version)))

    def look(self, release):
        for words in (("status",), ("models",), ("versions", MODEL), ("replicas", MODEL, "1"),
                      ("workers",), ("transfers",)):
            with self.subTest(release=release, verb=words[0]):
                done = self.ask(release, *words)
                self.assertEqual(done.returncode, 0, done.stderr)


class UpgradeTest(Cluster):
    def fleet(self, server, publisher, keeper, reader):
        """Publish, fetch, restart, unpublish, fetch from who kept it, publish the next."""
        with self.subTest(server=server, publisher=publisher, keeper=keeper, reader=reader):
            hub = self.server(server)
            trainer = self.publish(publisher, 1)
            self.fetch(reader, 1)
            agent = self.keep(keeper)
            self.end(hub)
            hub = self.server(server)
            self.fetch(reader, 1, wanted="1")
            self.until(lambda: self.holds("new", "keeper", 1), hub, agent)
            for release in ("old", "new"):
                self.look(release)
            self.end(trainer)
            self.fetch(reader, 1)
            trainer = self.publish(publisher, 2)
            self.until(lambda: self.holds("new", "keeper", 2), hub, agent)
            self.fetch(reader, 2)
            for process in (trainer, agent, hub):
                self.end(process)

    def test_older_workers_of_a_newer_server(self):
        self.fleet("new", "old", "old", "old")

    def test_an_older_publisher_and_newer_readers(self):
        self.fleet("new", "old", "new", "new")

    def test_a_newer_publisher_and_older_readers(self):
        self.fleet("new", "new", "old", "old")

    def test_newer_workers_of_an_older_server(self):
        self.fleet("old", "new", "new", "new")

    def test_workers_of_both_at_an_older_server(self):
        self.fleet("old", "old", "new", "old")

    def test_the_server_is_replaced_under_its_workers(self):
        """In the order of docs/operations.md: the server first."""
        hub = self.server("old")
        trainer = self.publish("old", 1)
        agent = self.keep("old")
        done = self.ask("old", "pin", MODEL, "1")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.end(hub)
        hub = self.server("new")
        for release in ("old", "new"):
            self.fetch(release, 1)
        self.until(lambda: self.holds("new", "keeper", 1), hub, agent, trainer)
        self.assertTrue(has(self.shown("new", "versions", MODEL), version=1))
        self.end(agent)
        agent = self.keep("new")
        self.end(trainer)
        self.fetch("old", 1)
        self.end(agent)
        self.end(hub)
        self.the_way_back()

    def the_way_back(self):
        """An older server takes the database, or says that it is of a newer version."""
        process = self.start("old", "tensorhub-server", "--listen", self.address, "--data-dir",
                             str(self.scratch / "data"))
        self.until(lambda: "listening on" in self.said(process) or process.poll() is not None)
        if process.poll() is None:
            return self.end(process)
        self.assertEqual(process.returncode, 1, self.said(process))
        self.assertIn("newer", self.said(process))


if __name__ == "__main__":
    folders["new"] = sys.argv.pop()
    folders["old"] = sys.argv.pop()
    unittest.main(verbosity=2)
