#!/usr/bin/env python3
# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Conditions of real networks between two datacenters, out of reports by people who run systems
like this one: thin links behind deep queues, hubs far away, paths of which some are sick,
connections that are rationed or cut at an age, segments that come twice.

    far_test.py [FarTest.NAME …] FOLDER-OF-THE-BINARIES
"""

import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../chaos"))
import links  # noqa: E402
from cluster import Way  # noqa: E402
from processes import Silent  # noqa: E402
from far_case import (BETWEEN, PATIENCE, SHAPE, FarCase, in_full,  # noqa: E402
                      read_safetensors, write_safetensors)

SHARED = "10.88.9.9"
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

    @in_full
    def test_thinner_link_and_the_server_at_the_source(self):
        self.thin("80kbit", 256 * KIB, "h2")

    @in_full
    def test_thinner_link_and_the_server_at_the_reader(self):
        self.thin("80kbit", 256 * KIB, "h4")

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

    @in_full
    def test_twenty_readers_share_a_thin_link(self):
        self.crowd("8mbit", 20, MIB)

    def full_queue(self, rate, queue, streams, size, server):
        self.serve_at(server)
        _, reader = self.pair(size)
        self.link("delay=50ms", f"rate={rate}", f"queue={queue}")
        self.flood("h2", "h4", streams)
        self.flood("h4", "h2", streams)
        self.fetches(reader)

    def test_link_that_is_full_both_ways(self):
        self.full_queue("20mbit", "2s", 3, MIB, "h2")

    @in_full
    def test_deep_queue_that_is_full_both_ways(self):
        for server in ("h2", "h4"):
            with self.subTest(server):
                self.full_queue("8mbit", "6s", 8, 2 * MIB, server)

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

    @in_full
    def test_very_far_hub(self):
        self.far_hub("1200ms")

    def far_source(self, delay):
        self.fetches(self.far_hub(delay))

    def test_round_trip_of_300_ms(self):
        self.far_source("150ms")

    @in_full
    def test_round_trip_of_1200_ms(self):
        self.far_source("600ms")

    @in_full
    def test_round_trip_of_5_s(self):
        self.far_source("2500ms")

    def sick(self, *words):
        """The path of the flow that carries the bytes falls ill on the way; there are others."""
        self.link("delay=50ms", "rate=100mbit")
        _, reader = self.pair(32 * MIB)
        self.begin(reader)
        self.until_bytes_come(reader)
        self.link("delay=50ms", "rate=100mbit", "sick=25%", "sick_of=busiest", *words)
        self.ends_well(reader)

    def test_dead_path(self):
        self.sick()

    def test_slow_path(self):
        self.sick("sick_rate=1mbit")

    @in_full
    def test_lossy_path(self):
        self.sick("sick_loss=5%")

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

    def test_fewer_connections_than_ranks(self):
        self.rationed(16, "connections=10")

    def test_connections_are_reset_at_an_age(self):
        self.link("delay=10ms", "rate=50mbit", "reset_after=2s")
        _, reader = self.pair(48 * MIB)
        before = self.carried()
        self.fetches(reader)
        self.assertLess(self.carried() - before, 1.3 * 48 * MIB, "bytes were read twice")

    @in_full
    def test_a_gigabyte_through_many_resets(self):
        self.link("delay=10ms", "rate=500mbit", "reset_after=3s")
        _, reader = self.pair(1024 * MIB)
        self.fetches(reader)

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

    def command(self, host, *words):
        subprocess.run(self.on(host, *words), check=True, capture_output=True)

    def share_an_address(self):
        """h1 and h2, behind the router h4, which deals connections out by their ports."""
        for host in ("h1", "h2"):
            self.command(host, "ip", "link", "add", "shared0", "type", "veth", "peer", "shared1")
            self.addCleanup(self.command, host, "ip", "link", "del", "shared0")
            for device in ("shared0", "shared1"):
                self.command(host, "ip", "link", "set", device, "up")
            self.command(host, "ip", "addr", "add", f"{SHARED}/32", "dev", "shared0")
            self.command(host, "sysctl", "-qw", "net.ipv4.conf.all.rp_filter=0")
        self.command("h4", "sysctl", "-qw", "net.ipv4.ip_forward=1",
                     "net.ipv4.fib_multipath_hash_policy=1", "net.ipv4.conf.all.send_redirects=0",
                     "net.ipv4.conf.eth0.send_redirects=0", "net.ipv4.conf.all.rp_filter=0")
        hops = [word for host in ("h1", "h2")
                for word in ("nexthop", "via", self.lab.address(host))]
        for host, route in (("h4", hops), ("h3", ["via", self.lab.address("h4")])):
            self.command(host, "ip", "route", "add", SHARED, *route)
            self.addCleanup(self.command, host, "ip", "route", "del", SHARED)

    def test_two_workers_behind_one_address(self):
        self.share_an_address()
        behind = Way("behind", {"TENSORHUB_LOG_LEVEL": "info",
                                "TENSORHUB_DATA_ADDRESS": f"{SHARED}:7100"}, "")
        for version, host in ((1, "h1"), (2, "h2")):
            self.publish(self.join(f"trainer{version}", host, 4 * MIB, way=behind), version)
        reader = self.join("reader", "h3", 4 * MIB)
        for version in (1, 2, 1, 2, 1, 2):
            self.fetches(reader, version)

    @in_full
    def test_versions_some_seconds_apart(self):
        self.link("delay=50ms", "rate=1gbit")
        trainer, reader = self.pair(64 * MIB)
        self.fetches(reader)
        for version in range(2, 6):
            with self.assertRaises(Silent):
                reader.answer(3)
            self.assertRegex(trainer.do("unpublish drain=20000"), "^ok")
            self.publish(trainer, version)
            self.fetches(reader, version)


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
