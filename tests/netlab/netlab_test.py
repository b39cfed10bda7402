#!/usr/bin/env python3
# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""tools/netlab, as its users call it. Exits 77 with a line that says why where there can be no
laboratory."""

import json
import os
import signal
import subprocess
import tempfile
import unittest

from laboratory import (SKIPPED, Lab, end_if_there_can_be_none, eventually, namespaces, netlab,
                        start)

# What headers leave of a rate to the payload, and what a busy machine may cost.
PAYLOAD = 1448 / 1514
SLACK = 0.93
ATTEMPTS = 4

class RatesTest(unittest.TestCase):
    def assert_rate(self, lab, source, sink, mbit):
        """Never above; and a machine that is busy once is not busy always."""
        best = 0
        for _ in range(ATTEMPTS):
            best = max(best, lab.measure(source, sink))
            self.assertLess(best, mbit * 1.02, f"{source} to {sink}")
            if best > mbit * PAYLOAD * SLACK:
                return
        self.fail(f"{source} to {sink}: {best} of {mbit} Mbit/s")

    def test_hosts_and_wide_area(self):
        with Lab("r", "--dcs", "2", "--hosts-per-dc", "2", "--rate", "100mbit", "--wan",
                 "40mbit") as lab:
            self.assert_rate(lab, "h1", "h2", 100)
            self.assert_rate(lab, "h4", "h3", 100)
            self.assert_rate(lab, "h1", "h3", 40)
            self.assert_rate(lab, "h4", "h2", 40)
            netlab("rate", lab.name, "h2", "20mbit")
            self.assert_rate(lab, "h1", "h2", 20)
            self.assert_rate(lab, "h2", "h1", 20)

    def test_full_duplex(self):
        with Lab("d", "--hosts", "2", "--rate", "100mbit") as lab:
            for _ in range(ATTEMPTS):
                streams = [start("measure", lab.name, *pair, stdout=subprocess.PIPE)
                           for pair in (("h1", "h2"), ("h2", "h1"))]
                rates = [float(stream.communicate()[0].split()[0]) for stream in streams]
                if min(rates) > 100 * PAYLOAD * 0.85:
                    return
            self.fail(f"{rates} Mbit/s at once")

    def test_counters(self):
        with Lab("c", "--dcs", "2", "--hosts-per-dc", "1", "--rate", "100mbit", "--wan",
                 "100mbit") as lab:
            lab.measure("h1", "h2")
            status = lab.status()
            h1, h2 = status["hosts"][:2]
            dc1, dc2 = status["datacenters"]
            self.assertGreater(h1["sent_bytes"], 10_000_000)
            for carried in (h2["received_bytes"], dc1["sent_bytes"], dc2["received_bytes"]):
                self.assertAlmostEqual(carried / h1["sent_bytes"], 1, delta=0.02)
            self.assertAlmostEqual(dc1["sent_wire_bytes"] / h1["sent_bytes"] * PAYLOAD, 1,
                                   delta=0.02)
            self.assertLess(h1["received_bytes"], h1["sent_bytes"] / 10)


class LinksTest(unittest.TestCase):
    def test_cut_and_heal(self):
        with Lab("k", "--dcs", "2", "--hosts-per-dc", "2", "--rate", "10mbit") as lab:
            self.assertTrue(lab.reaches("h1", "h2"))
            netlab("cut", lab.name, "h2")
            self.assertFalse(lab.reaches("h1", "h2"))
            self.assertTrue(lab.reaches("h1", "h3"))
            netlab("cut", lab.name, "dc2")
            self.assertFalse(lab.reaches("h1", "h3"))
            self.assertTrue(lab.reaches("h4", "h3"))
            self.assertTrue(lab.status()["datacenters"][1]["cut"])
            netlab("heal", lab.name, "h2")
            netlab("heal", lab.name, "dc2")
            self.assertTrue(lab.reaches("h1", "h2"))
            self.assertTrue(lab.reaches("h3", "h1"))

    def test_two_laboratories_at_once(self):
        with Lab("x", "--hosts", "2") as one, Lab("y", "--hosts", "2") as other:
            netlab("cut", one.name, "h2")
            self.assertFalse(one.reaches("h1", "h2"))
            self.assertTrue(other.reaches("h1", "h2"))
            self.assertEqual(one.status()["hosts"][0]["location"], "lab/dc1/rack1/h1")


class EndTest(unittest.TestCase):
    def test_killed(self):
        lab = Lab("z", "--hosts", "3", "--rate", "10mbit")
        inside = start("run", lab.name, "h2", "--", "sh", "-c", "echo on; cat",
                       stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.assertEqual(inside.stdout.readline(), "on\n")
        self.assertEqual(len(namespaces(lab.name)), 6)
        lab.kill()
        inside.stdout.read()  # its end: the process was killed
        self.assertNotEqual(inside.wait(), 0)
        inside.stdin.close()
        inside.stdout.close()
        self.assertTrue(eventually(lambda: not namespaces(lab.name)), namespaces(lab.name))
        self.assertTrue(eventually(lambda: not os.path.exists(f"/run/netlab/{lab.name}")))

    def test_killed_while_it_is_built(self):
        name = f"test{os.getpid()}b"
        process = start("with", "--name", name, "--hosts", "40", "--", "true")
        self.assertTrue(eventually(lambda: len(namespaces(name)) > 5))
        process.kill()
        process.wait()
        self.assertTrue(eventually(lambda: not namespaces(name)
                                   and not os.path.exists(f"/run/netlab/{name}")))

    def test_signal_and_exit_code(self):
        done = netlab("with", "--hosts", "1", "--", "sh", "-c", "echo $NETLAB_HOSTS; exit 7")
        self.assertEqual((done.returncode, done.stdout), (7, "h1 hub\n"))
        done = netlab("with", "--hosts", "1", "--", "sh", "-c", "kill -TERM $PPID; cat",
                      stdin=subprocess.PIPE)
        self.assertEqual(done.returncode, 128 + signal.SIGTERM)

    def test_up_and_down(self):
        name = f"test{os.getpid()}u"
        self.assertEqual(netlab("up", "--name", name, "--hosts", "1").returncode, 0)
        done = netlab("up", "--name", name, "--hosts", "1")
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"a laboratory {name} already", done.stderr)
        done = netlab("with", "--name", name, "--hosts", "1", "--", "true")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(len(namespaces(name)), 4, "the other's laboratory was taken down")
        self.assertEqual(netlab("down", name).returncode, 0)
        self.assertEqual(namespaces(name), [])
        self.assertEqual(netlab("down", name).returncode, 1)


def host(name, location, **more):
    return {"name": name, "location": location, **more}


class BadInputTest(unittest.TestCase):
    SPECIFICATIONS = (
        ({"hosts": []}, "needs hosts"),
        ({"hosts": [host("h1", "r/d1/k/h1", rate="0mbit")]}, "h1: rate: 0mbit is out of range"),
        ({"hosts": [host("h1", "r/d1/k/h1", rate="fast")]}, "\"fast\" is no rate"),
        ({"hosts": [host("h1", "r/d1/k/h2")]}, "says that it is h2"),
        ({"hosts": [host("h1", "r/d1")]}, "is not region/datacenter/rack/host"),
        ({"hosts": [host("h1", "r/d1/k/h1"), host("h2", "s/d1/k/h2")]}, "puts d1 into s"),
        ({"hosts": [host("h1", "r/d1/k/h1"), host("h1", "r/d2/k/h1")]}, "name of two"),
        ({"hosts": [host("d1", "r/d1/k/d1")]}, "name of two"),
        ({"hosts": [host("h1", "r/d1/k/h1")], "datacenters": [{"name": "d2"}]}, "is in it"),
        ({"hosts": [host("h1", "r/d1/k/h1", speed=1)]}, "unknown key \"speed\""),
        ({"hosts": [host("h/1", "")]}, "cannot be a name"),
        ([], "is an object"),
    )
    COMMANDS = (
        (("up", "--hosts", "0"), 2, "--hosts: 0 is too few"),
        (("up", "--hosts", "2", "--rate", "0mbit"), 2, "--rate: 0mbit is out of range"),
        (("up", "--dcs", "2"), 2, "--hosts-per-dc"),
        (("up", "--hosts", "2", "--dcs", "2"), 2, "leave out --dcs"),
        (("up", "--spec", "/nowhere"), 2, "/nowhere: No such file"),
        (("up", "--name", "a-b", "--hosts", "2"), 2, "\"a-b\" cannot be a laboratory's name"),
        (("run", "nowhere", "h1", "--", "true"), 1, "there is no laboratory nowhere"),
        (("with", "--hosts", "1"), 2, "give a command after --"),
        (("with", "--hosts", "1", "--", "/nowhere"), 1, "command not found"),
        (("down",), 2, "give a laboratory's name"),
    )

    def check(self, done, code, text):
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertIn(text, done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)

    def test_specifications(self):
        for document, text in self.SPECIFICATIONS:
            with self.subTest(text), tempfile.NamedTemporaryFile("w", suffix=".json") as file:
                json.dump(document, file)
                file.flush()
                self.check(netlab("up", "--spec", file.name), 2, text)

    def test_commands(self):
        for words, code, text in self.COMMANDS:
            with self.subTest(words):
                self.check(netlab(*words), code, text)

    def test_unknown_host(self):
        with Lab("h", "--hosts", "1") as lab:
            self.check(netlab("run", lab.name, "h9", "--", "true"), 1, "has no host h9")
            self.check(netlab("cut", lab.name, "dc9"), 1, "has no host dc9")

    def test_not_root(self):
        done = netlab("up", "--hosts", "1", user=65534)
        self.check(done, SKIPPED, "needs root")


def main():
    end_if_there_can_be_none()
    unittest.main()


if __name__ == "__main__":
    main()
