# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""What tests of long links begin with: h1 and h2 in one datacenter, h3 and h4 in another, `hub`
outside of both, and links that each test makes what it needs.

Whatever a link does: processes live, bytes are right, a fetch ends well, no lease is lost, and no
source is blamed that did nothing. How long it takes is measured elsewhere.
"""

import json
import os
import re
import struct
import subprocess
import time
import unittest

from lab_case import LEASE_MS, LabCase
from cluster import Way
from processes import Server, Silent

SHAPE = ("--dcs", "2", "--hosts-per-dc", "2", "--link", "dc1 dc2", "--link", "dc1 outside",
         "--link", "dc2 outside")
FULL = bool(os.environ.get("TENSORHUB_FULL"))
in_full = unittest.skipUnless(FULL, "in full only: TENSORHUB_FULL=1")
ANY = Way("any", {"TENSORHUB_LOG_LEVEL": "info"}, "")
PATIENCE = 120  # seconds, of what takes a tenth of that where nobody else needs the processors
BETWEEN = ("dc1", "dc2")


class FarCase(LabCase):
    """The server is outside, near to both, if the test does not say where else."""
    netlab = ""
    server_place = "hub"
    blame = "silent for|no answer has come"

    def setUp(self):
        for ends in (BETWEEN, ("dc1", "outside"), ("dc2", "outside")):
            self.link("delay=0ms", ends=ends)
        self.workers = []
        super().setUp()

    def link(self, *words, ends=BETWEEN):
        subprocess.run([self.netlab, "link", os.environ["NETLAB_LAB"], *ends, *words], check=True)

    def carried(self, source="dc1", sink="dc2"):
        """Bytes, of all tests so far."""
        listed = subprocess.run([self.netlab, "status", os.environ["NETLAB_LAB"], "-o", "json"],
                                check=True, capture_output=True, text=True)
        return next(entry["carried"] for entry in json.loads(listed.stdout)["links"]
                    if (entry["from"], entry["to"]) == (source, sink)).get("bytes", 0)

    def serve_at(self, place):
        """The server elsewhere than outside."""
        self.server.kill()
        self.server = Server(self.lab, place, self.folder, LEASE_MS)
        self.addCleanup(self.server.kill)

    def join(self, group, host, size, way=ANY, **more):
        worker, joined = self.start(group, host, way, f"tensors=4 bytes={size}",
                                    timeout_ms=PATIENCE * 1000, **more)
        self.assertRegex(joined, "^ok", f"{group}\n{self.log(f'{group}-0.log')}")
        self.workers.append(worker)
        return worker

    def publish(self, worker, version=1):
        worker.do(f"fill {version}")
        self.assertRegex(worker.do(f"publish {version} wait=1 timeout={PATIENCE * 1000}", PATIENCE),
                         "^ok")

    def pair(self, size):
        """A trainer on h1 that has published, and a reader on h3."""
        trainer = self.join("trainer", "h1", size)
        self.publish(trainer)
        return trainer, self.join("reader", "h3", size)

    def begin(self, reader, version=1):
        reader.send(f"fetch exact={version} timeout={PATIENCE * 1000}")

    def ends_well(self, reader, version=1):
        answer = reader.answer(PATIENCE + 10)
        self.assertTrue(answer.startswith("ok"), f"{answer}\n{self.log(f'{reader.group}-0.log')}")
        self.assertRegex(reader.do(f"check {version}"), "^ok")
        return answer

    def fetches(self, reader, version=1):
        self.begin(reader, version)
        return self.ends_well(reader, version)

    def until_bytes_come(self, reader):
        deadline = time.monotonic() + PATIENCE
        while not reader.progress.startswith("progress"):
            self.assertLess(time.monotonic(), deadline, "no byte came")
            with self.assertRaises(Silent):
                reader.answer(0.2)

    def log(self, name):
        with open(os.path.join(self.folder, name), encoding="utf-8", errors="replace") as file:
            return file.read()

    def tearDown(self):
        """What holds of all of them in the end, while they still run."""
        for worker in self.workers:
            self.assertRegex(worker.do("health"), "^ok", str(worker))
        self.assertNotIn("lease expired", self.log("server.log"))
        for name in os.listdir(self.folder):
            if name.endswith(".log"):
                blamed = [line for line in self.log(name).splitlines()
                          if re.search(self.blame, line)]
                self.assertEqual(blamed, [], name)

    def flood(self, source, sink, streams):
        """TCP streams that fill the link, until the test ends."""
        listener = self._python(sink, SINK, self.lab.address(sink))
        port = listener.stdout.readline().strip()
        self._python(source, SOURCE, self.lab.address(sink), port, str(streams))

    def on(self, host, *words):
        """The command that runs another one there."""
        return [self.netlab, "run", os.environ["NETLAB_LAB"], host, "--", *words]

    def _python(self, host, program, *words):
        process = subprocess.Popen(self.on(host, "python3", "-c", program, *words),
                                   stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process


SINK = """
import socket, sys, threading
listener = socket.create_server((sys.argv[1], 0), backlog=64)
print(listener.getsockname()[1], flush=True)
def drain(stream):
    while stream.recv(65536): pass
while True: threading.Thread(target=drain, args=(listener.accept()[0],), daemon=True).start()
"""
SOURCE = """
import socket, sys, threading
def fill():
    stream = socket.create_connection((sys.argv[1], int(sys.argv[2])))
    while True: stream.sendall(bytes(65536))
for _ in range(int(sys.argv[3])): threading.Thread(target=fill).start()
"""


def write_safetensors(path, size):
    """16 tensors of random bytes. What they are, by name."""
    each = size // 16
    tensors = {f"t{index:02}": os.urandom(each) for index in range(16)}
    header = {name: {"dtype": "U8", "shape": [each], "data_offsets": [index * each,
                                                                      (index + 1) * each]}
              for index, name in enumerate(tensors)}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(tensors.values()))
    return tensors


def read_safetensors(folder):
    """The tensors of all files there, of which each may have a part."""
    tensors = {}
    for parent, _, names in sorted(os.walk(folder)):
        for name in sorted(names):
            if name.endswith(".safetensors"):
                with open(os.path.join(parent, name), "rb") as file:
                    data = file.read()
                end = 8 + struct.unpack("<Q", data[:8])[0]
                for tensor, entry in json.loads(data[8:end]).items():
                    if tensor != "__metadata__":
                        first, last = entry["data_offsets"]
                        part = data[end + first:end + last]
                        tensors[tensor] = tensors.get(tensor, b"") + part
    return tensors
