# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Laboratories that tests of netlab itself build, as its users do."""

import json
import os
import signal
import subprocess
import sys
import time

_netlab = os.path.realpath(os.path.join(os.path.dirname(__file__), "../../tools/netlab"))
SKIPPED = 77

# The first prints what it got, or nothing; the second sends for a second.
SINK = """
import socket, sys
sink = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sink.bind((sys.argv[1], 9))
sink.settimeout(2)
print("ready", flush=True)
try: print(sink.recv(9).decode())
except TimeoutError: pass
"""
SOURCE = """
import select, socket, sys
source = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for _ in range(20):
    source.sendto(b"arrived", (sys.argv[1], 9))
    select.select([], [], [], 0.05)
"""


def use(folder):
    """The netlab of this folder of binaries, beside which netlab-link is."""
    global _netlab
    _netlab = os.path.join(folder, "netlab")


def end_if_there_can_be_none():
    probe = netlab("with", "--hosts", "1", "--", "true")
    if probe.returncode == SKIPPED:
        print(f"skipped: {probe.stderr.strip()}")
        sys.exit(SKIPPED)


def netlab(*words, **options):
    return subprocess.run([_netlab, *words], capture_output=True, text=True, check=False, **options)


def start(*words, **options):
    return subprocess.Popen([_netlab, *words], text=True, **options)


def eventually(condition, seconds=20):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def namespaces(lab):
    listed = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True)
    return [line for line in listed.stdout.splitlines() if line.startswith(f"nl-{lab}-")]


class Lab:
    """A laboratory of this test program: gone when the program goes."""

    def __init__(self, suffix, *words):
        self.name = f"test{os.getpid()}{suffix}"
        self._process = subprocess.Popen(
            [_netlab, "with", "--name", self.name, *words, "--", "sh", "-c", "echo up; cat"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if self._process.stdout.readline() != "up\n":
            raise AssertionError(f"no laboratory of {words}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.communicate()

    def kill(self):
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()
        self._process.stdin.close()
        self._process.stdout.close()

    def status(self):
        return json.loads(netlab("status", self.name, "-o", "json").stdout)

    def measure(self, source, sink):
        done = netlab("measure", self.name, source, sink, "--seconds", "1")
        return float(done.stdout.split()[0])

    def address(self, host):
        return next(entry["address"] for entry in self.status()["hosts"] if entry["name"] == host)

    def reaches(self, source, sink):
        address = self.address(sink)
        with subprocess.Popen([_netlab, "run", self.name, sink, "--", sys.executable, "-c", SINK,
                               address], stdout=subprocess.PIPE, text=True) as receiver:
            receiver.stdout.readline()
            netlab("run", self.name, source, "--", sys.executable, "-c", SOURCE, address)
            return "arrived" in receiver.communicate()[0]
