#!/usr/bin/env python3
# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Conditions of real networks between two datacenters, out of reports by people who run systems
like this one: thin links behind deep queues, hubs far away, connections that are rationed, segments
that come twice.

    far_test.py [FarTest.NAME …] FOLDER-OF-THE-BINARIES
"""

import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../chaos"))
import links  # noqa: E402
from far_case import (BETWEEN, PATIENCE, SHAPE, FarCase, read_safetensors,  # noqa: E402
                      write_safetensors)

KIB = 1 << 10
MIB = 1 << 20
TO_HUB = ("dc2", "outside")


class FarTest(FarCase):
    """What is read is on h1; the reader is on h3."""

    def thin(self, rate, size, server):
        self.link("delay=50ms", f"rate={rate}", "queue=6s")
        self.serve_at(server)
        _, reader = self.pair(size)
        self.fetches(reader)

    def test_thin_link_and_the_server_at_the_source(self):
        self.thin("400kbit", 256 * KIB, "h2")

    def test_thin_link_and_the_server_at_the_reader(self):
        self.thin("400kbit", 256 * KIB, "h4")

    def crowd(self, rate, readers, size):
        """Each of them reads what another has published, so that all bytes cross the link."""
        self.link("delay=50ms", f"rate={rate}", "queue=6s")
        self.serve_at("h2")
        pairs = []
        for index in range(readers):
            model = f"m{index}/actor"
            trainer = self.join(f"trainer{index}", "h1", size, model=model)
            self.publish(trainer)
            pairs.append(self.join(f"reader{index}", "h3", size, model=model))
        before = self.carried()
        for reader in pairs:
            self.begin(reader)
        for reader in pairs:
            self.ends_well(reader)
        self.assertLess(self.carried() - before, 1.5 * readers * size, "bytes were read twice")

    def test_readers_share_a_thin_link(self):
        self.crowd("4mbit", 5, 512 * KIB)

    def far_hub(self, delay):
        """A round trip of twice the delay to the hub, and to the source."""
        for ends in (BETWEEN, TO_HUB):
            self.link(f"delay={delay}", "rate=100mbit", ends=ends)
        nobody = f"{self.lab.address('h4')}:9"
        for servers in (self.server.address, f"{nobody},{self.server.address}"):
            done = subprocess.run(
                self.lab.command("h3", ["tensorhubctl", "--server", servers, "status",
                                        "--connect-timeout", f"{PATIENCE}s"]),
                capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
        _, reader = self.pair(MIB)
        return reader

    def test_far_hub(self):
        self.far_hub("600ms")

    def far_source(self, delay):
        self.fetches(self.far_hub(delay))

    def test_round_trip_of_300_ms(self):
        self.far_source("150ms")

    def rationed(self, ranks, *words):
        """Each rank has a connection of its own, of which too few may be there at once. Who got
        none in time may say so."""
        self.blame = "silent for"
        self.serve_at("h4")
        file = os.path.join(self.folder, "m.safetensors")
        tensors = write_safetensors(file, 16 * MIB)
        self.link("delay=50ms", "rate=1gbit", *words)
        publisher = subprocess.Popen(
            self.lab.command("h1", ["tensorhubctl", "--server", self.server.address, "publish",
                                    "m", "1", file, "--wait", "--child", "--location",
                                    self.lab.location("h1"), "--connect-timeout", "60s"]),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.addCleanup(publisher.communicate)
        self.addCleanup(publisher.kill)
        publisher.stdout.readline()
        target = os.path.join(self.folder, "fetched")
        done = subprocess.run(
            self.lab.command("h3", ["tensorhubctl", "--server", self.server.address, "fetch", "m",
                                    "1", target, "--ranks", str(ranks), "--location",
                                    self.lab.location("h3"), "--timeout", f"{PATIENCE}s"]),
            capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(read_safetensors(target), tensors)
        self.assertIsNone(publisher.poll())

    def test_few_connections_begin_at_once(self):
        self.rationed(16, "connection_rate=5")

    def test_segments_come_again_later(self):
        self.link("delay=10ms", "rate=200mbit", "duplicate=0.3%", "duplicate_delay=3s")
        trainer, reader = self.pair(32 * MIB)
        self.fetches(reader)
        self.assertRegex(trainer.do("unpublish drain=2000"), "^ok")
        self.publish(trainer, 2)
        self.fetches(reader, 2)

    def test_link_is_dead_for_a_while(self):
        self.link("delay=20ms", "rate=50mbit")
        _, reader = self.pair(16 * MIB)
        self.begin(reader)
        self.until_bytes_come(reader)
        self.link("delay=20ms", "rate=50mbit", "dead_for=2s")
        self.ends_well(reader)


def main():
    if not links.inside():
        if len(sys.argv) > 2:
            links.enter(SHAPE)
        names = unittest.defaultTestLoader.getTestCaseNames(FarTest)
        links.enter_beside([f"FarTest.{name}" for name in names], SHAPE)
    binaries = sys.argv.pop()
    FarTest.netlab = os.path.join(binaries, "netlab")
    FarTest.lab = links.Lab(binaries)
    unittest.main()


if __name__ == "__main__":
    main()
