#!/usr/bin/env python3
# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Peers and servers that cannot be reached, in every way in which a network fails: no way there,
answers that are lost, connections that are half open, processes that are stopped, links that were
down, names that nobody resolves. Whatever it is, a fetch ends by its timeout and a second, the
reader stays in its session, and nothing holds a progress thread up (docs/protocol, R8).

    unreachable_test.py [UnreachableTest.NAME …] FOLDER-OF-THE-BINARIES
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../chaos"))
import links  # noqa: E402
from cluster import HELD_UP, Way  # noqa: E402
from lab_case import LabCase  # noqa: E402
from processes import Silent, Worker  # noqa: E402

OVERTIME = 6  # seconds, that a fetch may take beyond its timeout: one, and what is for others
SHARD_BYTES = 16 << 20
SHARD = f"tensors=4 bytes={SHARD_BYTES}"
TCP = Way("tcp", {"UCX_TLS": "tcp", "TENSORHUB_LOG_LEVEL": "info"}, "")
OUTAGE = 20  # seconds
BRIEFER = 12  # seconds: longer than a lease and than a reader's patience
AT_ONCE = 8  # seconds, of a fetch that nothing keeps, on a machine that is busy
STARTING = 6  # seconds, of a program, on a machine that is busy
RATE = "500mbit"  # of the laboratory's links
SLOW = "20mbit"  # a shard takes seven seconds
SLOW_FOR_TWO = "40mbit"


class Network:
    """What one host of the laboratory can do to what it sends."""

    def __init__(self, lab):
        self._lab = lab
        self._undo = []
        self._cut = []
        self._slowed = []

    @staticmethod
    def _ip(host, *words, commands=()):
        done = subprocess.run(["ip", "-n", f"nl-{os.environ['NETLAB_LAB']}-{host}", *words],
                              input="\n".join(commands), capture_output=True, text=True,
                              check=False)
        if done.returncode != 0:
            raise AssertionError(f"{host}: ip {' '.join(words)}: {done.stderr}")
        return done.stdout

    def know_each_other(self):
        """Without asking for addresses: packets that are dropped then are dropped silently."""
        links_of = {host: json.loads(self._ip(host, "-j", "link", "show", "eth0"))[0]["address"]
                    for host in self._lab.hosts}
        for host in self._lab.hosts:
            self._ip(host, "-batch", "-", commands=[
                f"neigh replace {self._lab.address(other)} lladdr {link} dev eth0 nud permanent"
                for other, link in links_of.items() if other != host])

    def refuse(self, kind, host, other):
        """blackhole: what the host sends there is lost; unreachable: and it is told so."""
        self._ip(host, "route", "add", kind, f"{self._lab.address(other)}/32")
        self._undo.append((host, "route", "del", kind, f"{self._lab.address(other)}/32"))

    def cut(self, host):
        self._lab.cut(host)
        self._cut.append(host)

    def slow_down(self, host, rate):
        subprocess.run([links.NETLAB, "rate", os.environ["NETLAB_LAB"], host, rate], check=True)
        self._slowed.append(host)

    def heal(self):
        for host, *words in self._undo:
            self._ip(host, *words)
        self._undo.clear()
        for host in self._cut:
            self._lab.heal(host)
        self._cut.clear()
        for host in self._slowed:
            subprocess.run([links.NETLAB, "rate", os.environ["NETLAB_LAB"], host, RATE], check=True)
        self._slowed.clear()


class UnreachableTest(LabCase):
    """A server on `hub`, a trainer on h1, a reader on h2; another holder may be on h3."""
    binaries = ""

    def setUp(self):
        super().setUp()
        self.network = Network(self.lab)
        self.addCleanup(self.network.heal)
        self.addCleanup(self.check_logs)
        self.trainer = self.join("trainer", "h1")
        self.reader = self.join("reader", "h2")
        self.publish(1)

    def join(self, group, host, way=TCP, *, rank=0, world=1):
        worker, joined = self.start(group, host, way, SHARD, rank=rank, world=world)
        self.assert_ok(joined)
        return worker

    def join_all(self, group, hosts):
        """A group with one rank on each of these."""
        return [self.join(group, host, rank=rank, world=len(hosts))
                for rank, host in enumerate(hosts)]

    def assert_ok(self, answer):
        self.assertRegex(answer, "^ok")

    def publish(self, version):
        if version > 1:
            self.assert_ok(self.trainer.do("unpublish drain=2000"))
        self.trainer.do(f"fill {version}")
        self.assert_ok(self.trainer.do(f"publish {version} wait=1"))

    def log(self, name):
        with open(os.path.join(self.folder, name), encoding="utf-8", errors="replace") as file:
            return file.read()

    def check_logs(self):
        for name in os.listdir(self.folder):
            if name.endswith(".log"):
                held = [line for line in self.log(name).splitlines() if HELD_UP.search(line)]
                self.assertEqual(held, [], name)

    def fetch(self, worker, seconds, version="latest"):
        """The answer, which must come by the timeout and OVERTIME; and what it took."""
        begin = time.monotonic()
        answer = worker.do(f"fetch {version} timeout={int(seconds * 1000)}", seconds + OVERTIME)
        return answer, time.monotonic() - begin

    def fetches(self, worker, seconds, version):
        answer, took = self.fetch(worker, seconds, f"exact={version}")
        self.assertTrue(answer.startswith("ok"), f"{answer}\n{self.log('reader-0.log')}")
        self.assert_ok(worker.do(f"check {version}"))
        return answer, took

    def assert_fails(self, seconds):
        answer, took = self.fetch(self.reader, seconds)
        self.assertRegex(answer, "^error (UNAVAILABLE|DEADLINE_EXCEEDED) ")
        return took

    def assert_in_session(self):
        """The reader was never taken for dead."""
        self.assert_ok(self.reader.do("health"))
        self.assertNotIn("lease expired", self.log("server.log"))

    def test_no_way_there(self):
        self.network.refuse("unreachable", "h2", "h1")
        self.assert_fails(2)
        self.assert_in_session()

    def test_no_way_there_for_a_while(self):
        self.network.refuse("unreachable", "h2", "h1")
        self.reader.send("fetch exact=1 timeout=20000")
        with self.assertRaises(Silent):
            self.reader.answer(3)
        self.network.heal()
        self.assert_ok(self.reader.answer(5))
        self.assert_ok(self.reader.do("check 1"))

    def test_answers_are_lost(self):
        """The listener is there, and what it says does not arrive: the kernel would try for two
        minutes."""
        self.network.refuse("blackhole", "h1", "h2")
        self.assert_fails(10)
        self.assert_fails(2)
        self.assert_in_session()
        self.network.heal()
        self.fetches(self.reader, 30, 1)

    def test_answers_are_lost_and_somebody_else_has_it(self):
        other = self.join("other", "h3")
        self.fetches(other, 30, 1)
        self.network.refuse("blackhole", "h1", "h2")
        answer, _ = self.fetches(self.reader, 30, 1)
        self.assertIn("other/0", answer)
        self.assert_in_session()

    def test_half_open(self):
        """As if a firewall between them had forgotten their connections."""
        self.fetches(self.reader, 30, 1)
        self.publish(2)
        self.network.refuse("blackhole", "h1", "h2")
        self.network.refuse("blackhole", "h2", "h1")
        self.assert_fails(10)
        self.assert_fails(2)
        self.assert_in_session()
        self.network.heal()
        self.fetches(self.reader, 30, 2)

    def test_stopped_peer(self):
        self.trainer.signal(signal.SIGSTOP)
        self.assert_fails(2)
        self.assert_in_session()
        self.trainer.signal(signal.SIGCONT)
        self.fetches(self.reader, 30, 1)

    def outage(self, host):
        self.fetches(self.reader, 30, 1)
        self.network.cut(host)
        time.sleep(OUTAGE)
        self.network.heal()
        # In their sessions again; their old connections are no older than the outage.
        for worker in (self.trainer, self.reader):
            deadline = time.monotonic() + 30
            while not worker.do("health").startswith("ok"):
                self.assertLess(time.monotonic(), deadline, f"{worker}: no session")
        self.publish(2)
        _, took = self.fetches(self.reader, 30, 2)
        self.assertLess(took, AT_ONCE)

    def test_server_is_cut_off_while_bytes_come(self):
        """The rest of them never do, and nobody says so."""
        self.network.slow_down("h2", SLOW)
        self.reader.send("fetch exact=1 timeout=3000")
        begin = time.monotonic()
        with self.assertRaises(Silent):
            self.reader.answer(1)
        self.assertTrue(self.reader.progress.startswith("progress"), self.reader.progress)
        self.network.cut("hub")
        self.network.cut("h1")
        self.assertRegex(self.reader.answer(3), "^error ")
        self.assertLess(time.monotonic() - begin, 3 + OVERTIME)

    def ctl_fetch(self, seconds):
        """A whole `tensorhubctl fetch`, and whether it got there; by its timeout and OVERTIME."""
        target = os.path.join(self.folder, f"fetched{time.monotonic()}")
        return subprocess.Popen(
            self.lab.command("h3", ["tensorhubctl", "--server", self.server.address, "fetch",
                                    Worker.MODEL, "latest", target, "--timeout", f"{seconds}s"]),
            env={**os.environ, **TCP.environment}, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True)

    def assert_ends(self, process, seconds):
        """With an error of one line."""
        try:
            _, said = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            self.fail(f"runs on: {process.communicate()[1]}")
        self.assertEqual(process.returncode, 1, said)
        self.assertTrue(said.splitlines()[-1].startswith("tensorhubctl: "), said)

    def test_files_of_a_source_without_answers(self):
        self.network.refuse("blackhole", "h1", "h3")
        begin = time.monotonic()
        self.assert_ends(self.ctl_fetch(3), 3 + OVERTIME + STARTING)
        self.assertGreater(time.monotonic() - begin, 2)

    def test_files_while_the_server_is_cut_off(self):
        self.network.slow_down("h3", SLOW)
        with self.ctl_fetch(4) as process:
            time.sleep(2)
            self.network.cut("hub")
            self.network.cut("h1")
            self.assert_ends(process, 2 + OVERTIME + STARTING)

    def test_files_from_a_server_that_is_cut_off(self):
        self.network.cut("hub")
        self.assert_ends(self.ctl_fetch(2), 2 + OVERTIME + STARTING)

    def test_name_that_nobody_resolves(self):
        """Its name server does not answer, either; and that of a session that was there before is
        asked for again and again."""
        folder = f"/etc/netns/nl-{os.environ['NETLAB_LAB']}-h3"
        os.makedirs(folder)
        self.addCleanup(shutil.rmtree, folder)
        with open(os.path.join(folder, "resolv.conf"), "w", encoding="utf-8") as file:
            file.write("nameserver 10.77.1.250\n")
        worker = Worker(self.lab, self.folder, self.server, group="lost", rank=0, world=1,
                        place="h3", way=TCP, shard=SHARD)
        self.addCleanup(worker.kill)
        begin = time.monotonic()
        answer = worker.do("connect server=hub.nowhere.example:7070 model=m group=lost rank=0 "
                           "world=1 timeout=3000", 3 + OVERTIME + STARTING)
        self.assertRegex(answer, "^error UNAVAILABLE")
        self.assertGreater(time.monotonic() - begin, 2)

    def outage_while_bytes_come(self, host, readers, version=1):
        """With nobody else to read from. It ends well for all ranks, and does not begin anew."""
        for reader in readers:
            reader.send(f"fetch exact={version} timeout=90000")
        with self.assertRaises(Silent):
            readers[0].answer(3)
        self.network.cut(host)
        with self.assertRaises(Silent):
            readers[0].answer(BRIEFER)
        self.network.heal()
        for reader in readers:
            answer = reader.answer(90)
            log = self.log(f"{reader.group}-{reader.rank}.log")
            self.assertTrue(answer.startswith("ok"), f"{reader}: {answer}\n{log}")
            self.assert_ok(reader.do(f"check {version}"))
            kept = int(re.search(r"skipped=(\d+)", answer).group(1))
            self.assertGreater(kept, SHARD_BYTES // 10, answer)

    def test_outage_of_the_source_while_bytes_come(self):
        self.network.slow_down("h2", SLOW)
        self.outage_while_bytes_come("h1", [self.reader])

    def test_outage_of_the_reader_while_bytes_come(self):
        self.network.slow_down("h2", SLOW)
        self.outage_while_bytes_come("h2", [self.reader])

    def test_outage_of_one_ranks_source_while_bytes_come(self):
        """The other rank, whose source is there, hears of it from the server."""
        sources = self.join_all("sources", ("h1", "h3"))
        for source in sources:
            source.do("fill 2")
            source.send("publish 2 wait=1")
        for source in sources:
            self.assert_ok(source.answer(5))
        readers = self.join_all("readers", ("h2", "h2"))
        self.network.slow_down("h2", SLOW_FOR_TWO)
        self.outage_while_bytes_come("h1", readers, 2)

    def test_outage_of_the_source(self):
        self.outage("h1")

    def test_outage_of_the_reader(self):
        self.outage("h2")


def main():
    if not links.inside():
        if len(sys.argv) > 2:
            links.enter()
        names = unittest.defaultTestLoader.getTestCaseNames(UnreachableTest)
        links.enter_beside([f"UnreachableTest.{name}" for name in names])
    UnreachableTest.binaries = sys.argv.pop()
    UnreachableTest.lab = links.Lab(UnreachableTest.binaries)
    Network(UnreachableTest.lab).know_each_other()
    unittest.main()


if __name__ == "__main__":
    main()
