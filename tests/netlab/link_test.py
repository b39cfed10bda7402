#!/usr/bin/env python3
# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Links between datacenters that are long, thin, lossy, sick or cut (tools/netlab_link), as plain
sockets see them. What a link decides for each frame is tested without a network
(tests/unit/tools/netlab_way_test.cc).

    link_test.py FOLDER-OF-THE-BINARIES
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest

import laboratory
from laboratory import Lab, netlab, start

ATTEMPTS = 4
PAYLOAD = 1448 / 1514

# Answers what it hears; TCP connections one after the other, and UDP.
ECHO = """
import socket, sys, threading
address = (sys.argv[1], 9)
packets = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
packets.bind(address)
def answer():
    while True: packets.sendto(*packets.recvfrom(2000))
threading.Thread(target=answer, daemon=True).start()
listener = socket.create_server(address, backlog=64)
print("ready", flush=True)
def serve(stream):
    try:
        while data := stream.recv(65536): stream.sendall(data)
    except OSError as error: print(type(error).__name__, flush=True)
while True: threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
"""
# Seconds that a connection and a word and its answer took.
ASK = """
import socket, sys, time
begin = time.monotonic()
stream = socket.create_connection((sys.argv[1], 9), timeout=30)
stream.sendall(b"x"); stream.recv(1)
print(time.monotonic() - begin)
"""
# How many answers came to 400 packets.
COUNT = """
import select, socket, sys
source = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
source.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
source.connect((sys.argv[1], 9))
for _ in range(400):
    source.send(b"x" * 100)
    select.select([], [], [], 0.001)
count = 0
while select.select([source], [], [], 1)[0]: source.recv(2000); count += 1
print(count)
"""
# Talks until it may not any more, and says what it heard then.
TALK = """
import select, socket, sys
stream = socket.create_connection((sys.argv[1], 9), timeout=30)
try:
    while True:
        stream.sendall(b"x"); stream.recv(1); select.select([], [], [], 0.05)
except OSError as error: print(type(error).__name__)
"""
# Of 40 connections, how many have an answer within two seconds.
MANY = """
import select, socket, sys
streams = [socket.socket() for _ in range(40)]
for stream in streams:
    stream.setblocking(False)
    stream.connect_ex((sys.argv[1], 9))
select.select([], [], [], 2)
print(len(select.select([], streams, [], 0)[1]))
"""


class Far(Lab):
    """h1 in dc1, h2 in dc2, and `hub` outside; h2 answers."""

    def __init__(self, suffix, settings):
        super().__init__(suffix, "--dcs", "2", "--hosts-per-dc", "1", "--link",
                         f"dc1 dc2 {settings}")
        self._echo = start("run", self.name, "h2", "--", sys.executable, "-c", ECHO,
                           self.address("h2"), stdout=subprocess.PIPE)
        self._echo.stdout.readline()

    def __exit__(self, *words):
        super().__exit__(*words)
        self._echo.communicate()

    def heard(self):
        """What h2 says."""
        return self._echo.stdout.readline().strip()

    def python(self, program, host="h1"):
        done = netlab("run", self.name, host, "--", sys.executable, "-c", program,
                      self.address("h2"))
        return done.stdout.strip()

    def link(self, *words):
        done = netlab("link", self.name, "dc1", "dc2", *words)
        if done.returncode != 0:
            raise AssertionError(done.stderr)

    def carried(self, source, sink):
        return next(entry["carried"] for entry in self.status()["links"]
                    if (entry["from"], entry["to"]) == (source, sink))


class LinkTest(unittest.TestCase):
    def test_delay(self):
        with Far("a", "delay=150ms") as lab:
            self.assertGreater(float(lab.python(ASK)), 0.6)
            lab.link("delay=10ms")
            self.assertTrue(laboratory.eventually(lambda: float(lab.python(ASK)) < 0.6))
            # The others are as near as they were.
            self.assertLess(min(float(lab.python(ASK, "hub")) for _ in range(ATTEMPTS)), 0.6)

    def test_rate(self):
        with Far("b", "delay=5ms rate=40mbit queue=50ms") as lab:
            best = 0
            for _ in range(ATTEMPTS):
                best = max(best, lab.measure("h1", "h2"))
                self.assertLess(best, 40 * 1.02)
            self.assertGreater(best, 40 * PAYLOAD * 0.85)
            lab.link("--one-way", "delay=5ms", "flow_rate=10mbit", "queue=50ms")
            self.assertLess(lab.measure("h1", "h2"), 10 * 1.1)
            self.assertLess(lab.measure("h2", "h1"), 40 * 1.02)

    def test_a_long_fat_link_is_filled(self):
        """What windows let through, in segments as they leave the host."""
        with Far("c", "delay=50ms rate=1gbit queue=100ms") as lab:
            lab.measure("h1", "h2")
            carried = lab.carried("dc1", "dc2")
            self.assertGreater(carried["bytes"], 1_000_000)
            self.assertAlmostEqual(carried["bytes"] / carried["frames"], 1514, delta=100)
            self.assertEqual(carried["lost"], 0)

    def test_loss_and_duplicates(self):
        with Far("d", "loss=20%") as lab:
            count = int(lab.python(COUNT))
            lost = lab.carried("dc1", "dc2")["lost"] + lab.carried("dc2", "dc1")["lost"]
            self.assertGreater(lost, 50)
            self.assertEqual(count + lost, 400)
            lab.link("duplicate=50%", "duplicate_delay=20ms")
            self.assertGreater(int(lab.python(COUNT)), 600)

    def test_some_paths_are_sick(self):
        with Far("e", "sick=50% sick_of=any") as lab:
            self.assertIn(int(lab.python(MANY)), range(1, 30))  # 10 of 40 are to be expected
            lab.link("delay=1ms")
            self.assertEqual(int(lab.python(MANY)), 40)

    def test_connections_are_reset(self):
        with Far("f", "delay=5ms reset_after=500ms") as lab:
            self.assertEqual(lab.python(TALK), "ConnectionResetError")
            self.assertEqual(lab.heard(), "ConnectionResetError")
            self.assertGreater(lab.carried("dc1", "dc2")["reset"], 0)

    def test_connections_are_rationed(self):
        with Far("j", "connections=15") as lab:
            self.assertEqual(int(lab.python(MANY)), 15)

    def test_the_link_is_dead_for_a_while(self):
        with Far("g", "delay=1ms dead_for=6s") as lab:  # a busy machine begins a program in seconds
            self.assertGreater(float(lab.python(ASK)), 0.5)
            self.assertGreater(lab.carried("dc1", "dc2")["dead"], 0)

    def test_its_program_is_gone(self):
        with Far("h", "delay=1ms") as lab:
            [pid] = subprocess.run(["ip", "netns", "pids", f"nl-{lab.name}-up"],
                                   capture_output=True, text=True, check=True).stdout.split()
            os.kill(int(pid), 9)
            done = netlab("status", lab.name)
            self.assertEqual(done.returncode, 1)
            self.assertIn("netlab-link does not answer", done.stderr)


class BadInputTest(unittest.TestCase):
    LINKS = (
        ("dc1 dc2 delay=fast", "delay: \"fast\" is none; give a number with us, ms, s, min"),
        ("dc1 dc2 delay=2h", "delay: \"2h\" is none"),
        ("dc1 dc2 delay=99999s", "is too long"),
        ("dc1 dc2 loss=0.1", "loss: \"0.1\" is none"),
        ("dc1 dc2 loss=101%", "is more than all"),
        ("dc1 dc2 rate=1bit", "rate: 1bit is out of range"),
        ("dc1 dc2 queue=5%", "queue: \"5%\" is none"),
        ("dc1 dc2 speed=1", "unknown key \"speed\""),
        ("dc1 dc2 slow", "\"slow\" is no KEY=VALUE"),
        ("dc1 dc2 sick_of=me sick=1%", "give busiest or any"),
        ("dc1 dc2 connections=0", "give a whole number"),
        ("dc1 dc2 sick_rate=1mbit", "sick_rate means nothing without sick"),
        ("dc1 dc1", "two different ends"),
        ("dc1 dc9", "no datacenter dc9; there is: dc1, dc2, outside"),
        ("dc1", "does not begin with two datacenters"),
    )
    ENTRIES = (
        ({"between": ["dc1"]}, "give \"between\""),
        ({"between": "dc1"}, "give \"between\""),
        ({"from": "dc1"}, "give \"between\""),
        ({"between": ["dc1", "outside"], "delay": 5}, "delay: \"5\" is none"),
        ({"between": ["dc1", "outside"], "delay": None}, "delay: \"None\" is none"),
        ("dc1", "give a list of objects"),
    )

    def check(self, done, code, text):
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertIn(text, done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)

    def test_flags(self):
        for link, text in self.LINKS:
            with self.subTest(link):
                self.check(netlab("up", "--dcs", "2", "--hosts-per-dc", "1", "--link", link), 2,
                           text)

    def test_entries(self):
        for entry, text in self.ENTRIES:
            document = {"hosts": [{"name": "h1", "location": "r/dc1/k/h1"}], "links": [entry]}
            with self.subTest(text), tempfile.NamedTemporaryFile("w", suffix=".json") as file:
                json.dump(document, file)
                file.flush()
                self.check(netlab("up", "--spec", file.name), 2, text)

    def test_a_laboratory_without_links(self):
        with Lab("i", "--dcs", "2", "--hosts-per-dc", "1") as lab:
            self.check(netlab("link", lab.name, "dc1", "dc2", "delay=1ms"), 1,
                       "was built without links")


if __name__ == "__main__":
    laboratory.use(sys.argv.pop())
    laboratory.end_if_there_can_be_none()
    unittest.main()
