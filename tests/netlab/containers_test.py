#!/usr/bin/env python3
# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Workers in containers: what they share with a neighbour differs, and each fetch works.

A container has a network, System V IPC with a /dev/shm, process numbers, and users of its own, or
shares them with the host. Here a reader does so in every combination, with memory of its own and
with memory that is shared with peers; and two containers read from each other.

    containers_test.py FOLDER-OF-THE-BINARIES
"""

import itertools
import os
import shlex
import shutil
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../chaos"))
import links  # noqa: E402
from cluster import Way  # noqa: E402
from lab_case import LabCase  # noqa: E402

SHARD = "tensors=4 bytes=4194304"
HOST = "h1"
KINDS = ("net", "ipc", "pid", "user")
OPTIONS = {"ipc": ["--ipc", "--mount"], "pid": ["--pid", "--fork", "--kill-child"],
           "user": ["--user", "--map-root-user"]}


class Containers(links.Lab):
    """A place is a host, or a host and what its container does not share with it: "h1+ipc+user"."""

    def command(self, place, words):
        host, *own = place.split("+")
        options = [option for kind in own for option in OPTIONS.get(kind, [])]
        if not options:
            return super().command(self._host(host, own), words)
        program = shlex.join([os.path.join(self._binaries, words[0]), *words[1:]])
        if "ipc" in own:
            program = f"mount -t tmpfs shm /dev/shm && exec {program}"
        return super().command(self._host(host, own),
                               [shutil.which("unshare"), *options, "sh", "-c", program])

    def location(self, _place):
        """None: by its kernel each is on this host."""
        return ""

    @staticmethod
    def _host(host, own):
        return "h2" if "net" in own else host


class ContainersTest(LabCase):

    def join(self, group, place, memory):
        way = Way("any", {"TENSORHUB_LOG_LEVEL": "info"}, memory)
        worker, joined = self.start(group, place, way, SHARD)
        self.assertRegex(joined, "^ok", place)
        return worker

    def trainer(self, place, memory):
        worker = self.join("trainer", place, memory)
        worker.do("fill 1")
        self.assertRegex(worker.do("publish 1 wait=1"), "^ok")

    def fetch(self, group, place, memory):
        """How the bytes came."""
        reader = self.join(group, place, memory)
        answer = reader.do("fetch latest timeout=20000", 22)
        self.assertRegex(answer, "^ok", f"{place}\n{''.join(reader.log())}")
        self.assertRegex(reader.do("check 1"), "^ok", place)
        self.assertRegex(reader.do("leave"), "^ok", place)
        return answer

    def in_all_containers(self, memory):
        self.trainer(HOST, memory)
        for count in range(len(KINDS) + 1):
            for own in itertools.combinations(KINDS, count):
                place = "+".join((HOST, *own))
                with self.subTest(place=place):
                    answer = self.fetch(place.replace("+", "-"), place, memory)
                    print(f"{place:24} {memory or 'own memory':12} {answer[3:]}")
                    if "ipc" in own:
                        self.assertNotIn("/memory", answer)

    def test_memory_of_ones_own(self):
        self.in_all_containers("")

    def test_memory_that_is_shared(self):
        self.in_all_containers("shared=1")

    def test_two_containers(self):
        self.trainer("h1+ipc+pid+user", "shared=1")
        self.fetch("neighbour", "h1+ipc+pid+user", "shared=1")
        self.fetch("elsewhere", "+".join((HOST, *KINDS)), "shared=1")


def main():
    if not links.inside():
        links.enter()
    can = ["unshare", "--ipc", "--mount", "--pid", "--fork", "--user", "--map-root-user", "true"]
    tried = subprocess.run(can, capture_output=True, text=True, check=False)
    if tried.returncode != 0:
        print(f"skipped: no namespaces can be made: {tried.stderr.strip()}")
        sys.exit(links.SKIPPED)
    binaries = sys.argv.pop()
    ContainersTest.lab = Containers(binaries)
    unittest.main()


if __name__ == "__main__":
    main()
