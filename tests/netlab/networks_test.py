#!/usr/bin/env python3
# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Hosts with several devices, as GPU hosts are: bridges of containers with the same address on each
host, a network that ends somewhere, one of which an answer never comes. A fetch works at the first
try, by whichever connects (docs/architecture.md, "Ways to a peer").

    networks_test.py FOLDER-OF-THE-BINARIES
"""

import os
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../chaos"))
import links  # noqa: E402
from cluster import Way  # noqa: E402
from lab_case import LabCase  # noqa: E402

SHARD = "tensors=4 bytes=16777216"
INFO = {"TENSORHUB_LOG_LEVEL": "info"}
# What it takes to give up a way without an answer, on a machine that is busy.
SOON = 3


def ip(host, *words):
    done = subprocess.run(["ip", "-n", f"nl-{os.environ['NETLAB_LAB']}-{host}", *words],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(f"{host}: ip {' '.join(words)}: {done.stderr}")


class NetworksTest(LabCase):
    """A server on `hub`, a trainer on h1, a reader on h2."""

    def add(self, host, kind, name, *addresses):
        """A device, which goes with the test."""
        ip(host, "link", "add", "name", name, "type", *kind)
        self.addCleanup(ip, host, "link", "del", name)
        for address in addresses:
            ip(host, "addr", "add", address, "dev", name, "nodad")
        ip(host, "link", "set", name, "up")

    def bridge(self, host, name, address):
        """With one container on it, so that it is running."""
        self.add(host, ["bridge"], name, address)
        self.add(host, ["veth", "peer", "name", f"c-{name}"], f"v-{name}")
        ip(host, "link", "set", f"v-{name}", "master", name)
        ip(host, "link", "set", f"c-{name}", "up")

    def private(self, host, name, address):
        """A network that no other host is in."""
        self.add(host, ["veth", "peer", "name", f"p-{name}"], name, address)
        ip(host, "link", "set", f"p-{name}", "up")

    def join(self, group, host, **environment):
        return self.start(group, host, Way("any", {**INFO, **environment}, ""), SHARD)

    def fetched(self, **environment):
        """How the bytes came, and what it took."""
        for group, host in (("trainer", "h1"), ("reader", "h2")):
            worker, joined = self.join(group, host, **environment)
            self.assertRegex(joined, "^ok", group)
            if group == "trainer":
                worker.do("fill 1")
                self.assertRegex(worker.do("publish 1 wait=1"), "^ok")
        begin = time.monotonic()
        answer = worker.do("fetch latest timeout=20000", 22)
        took = time.monotonic() - begin
        self.assertTrue(answer.startswith("ok"), f"{answer}\n{''.join(worker.log())}")
        self.assertRegex(worker.do("check 1"), "^ok")
        return "".join(worker.log()), took

    def test_bridges_with_one_address_on_both(self):
        for host in ("h1", "h2"):
            self.bridge(host, "docker0", "172.17.0.1/16")
        log, took = self.fetched()
        self.assertNotIn("and not over", log)
        self.assertLess(took, SOON)

    def test_a_network_in_which_only_one_of_them_is(self):
        """The same subnet on both, so that it looks like the best way; nobody answers there."""
        self.private("h1", "aa0", "10.99.0.1/24")
        self.private("h2", "aa0", "10.99.0.2/24")
        log, took = self.fetched()
        self.assertLess(took, 2 * SOON)
        self.assertIn("eth0", log)

    def test_two_networks_with_one_address_on_both(self):
        for host in ("h1", "h2"):
            self.private(host, "aa0", "10.0.2.15/24")
        _, took = self.fetched()
        self.assertLess(took, SOON)

    def test_ipv6_alone(self):
        """On the data's way; the server has the laboratory's addresses."""
        for index, host in enumerate(("h1", "h2")):
            subprocess.run(["ip", "netns", "exec", f"nl-{os.environ['NETLAB_LAB']}-{host}",
                            "sysctl", "-qw", "net.ipv6.conf.eth0.disable_ipv6=0"], check=True)
            ip(host, "addr", "add", f"fd77::{index + 1}/64", "dev", "eth0", "nodad")
            self.addCleanup(ip, host, "addr", "del", f"fd77::{index + 1}/64", "dev", "eth0")
        log, _ = self.fetched(TENSORHUB_DATA_ADDRESS="fd77::/64")
        self.assertIn("tcp/eth0", log)

    def test_a_choice(self):
        self.private("h1", "aa0", "10.99.0.1/24")
        self.private("h2", "aa0", "10.99.0.2/24")
        _, took = self.fetched(TENSORHUB_DATA_ADDRESS="eth0")
        self.assertLess(took, SOON)

    def test_a_choice_that_does_not_exist(self):
        _, joined = self.join("trainer", "h1", TENSORHUB_DATA_ADDRESS="eth7")
        self.assertRegex(joined, "^error NOT_FOUND data_address: .*eth7.*there are: .*eth0")

    def test_whatever_ucx_may_use_there_is_tcp(self):
        log, _ = self.fetched(UCX_TLS="self")
        self.assertIn("tcp/eth0", log)

    def test_ports_that_are_given(self):
        log, _ = self.fetched(TENSORHUB_DATA_ADDRESS="eth0:7100-7103")
        self.assertRegex(log, "tcp/eth0 at 10[.0-9]*:710[0-3]")


def main():
    if not links.inside():
        links.enter()
    binaries = sys.argv.pop()
    NetworksTest.lab = links.Lab(binaries)
    unittest.main()


if __name__ == "__main__":
    main()
