#!/usr/bin/env python3
# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""How fast files become a version and a version becomes files, beside cat and cp.

    tools/measure_files.py [--binaries build/release/bin] [--gib 2] [--rounds 3] [--folder DIR]

The checkpoint lies in the page cache, all memory is fresh. `publish` counts from the start of the
program until it says "published", `fetch` from its start to its end, durability included, as `cp`
with `sync -f`. One round measures all of them, one after the other; the median of each is printed,
the lowest and highest, and the processor time (of all its threads) that each took for a gigabyte.
"""

import argparse
import json
import os
import random
import shutil
import statistics
import struct
import subprocess
import tempfile
import time

SHARDS = 8
MIB = 1 << 20


def write_checkpoint(folder, gib):
    os.mkdir(folder)
    size = int(gib * 1024) // SHARDS * MIB
    block = random.randbytes(MIB)
    for shard in range(1, SHARDS + 1):
        header = json.dumps({f"w{shard}": {"dtype": "U8", "shape": [size],
                                           "data_offsets": [0, size]}}).encode()
        name = f"model-{shard:05}-of-{SHARDS:05}.safetensors"
        with open(os.path.join(folder, name), "wb") as file:
            file.write(struct.pack("<Q", len(header)) + header)
            for _ in range(size // MIB):
                file.write(block)
    subprocess.run(["sync", "-f", folder], check=True)
    return size * SHARDS


def processor_seconds(pid):
    """Of a process that runs, by user and system."""
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return sum(int(ticks) for ticks in fields[11:13]) / os.sysconf("SC_CLK_TCK")


class Round:
    def __init__(self, arguments, folder, checkpoint, address, number):
        self.ctl = [os.path.join(arguments.binaries, "tensorhubctl"), "--server", address]
        self.checkpoint = checkpoint
        self.out = os.path.join(folder, f"out{number}")
        self.version = str(number)

    def cat(self):
        files = [os.path.join(self.checkpoint, name) for name in os.listdir(self.checkpoint)]
        subprocess.run(["cat", *files], stdout=subprocess.DEVNULL, check=True)

    def cp(self):
        subprocess.run(["cp", "-r", self.checkpoint, self.out], check=True)
        subprocess.run(["sync", "-f", self.out], check=True)

    def publish(self):
        self.publisher = subprocess.Popen(
            [*self.ctl, "publish", "m", self.version, self.checkpoint], stdout=subprocess.PIPE)
        if not self.publisher.stdout.readline().startswith(b"published"):
            raise SystemExit("publish failed")

    def fetch(self):
        subprocess.run([*self.ctl, "fetch", "m", self.version, self.out], check=True,
                       stdout=subprocess.DEVNULL)

    def clean(self):
        shutil.rmtree(self.out)
        subprocess.run(["sync", "-f", os.path.dirname(self.out)], check=True)

    def run(self):
        """Step to its seconds on the clock and of processors."""
        took = {}
        for step in (self.cat, self.cp, self.clean, self.publish, self.fetch, self.clean):
            start, used = time.monotonic(), os.times()
            step()
            now = os.times()
            took[step.__name__] = [
                time.monotonic() - start, now.children_user - used.children_user +
                now.children_system - used.children_system]
            if step == self.publish:
                took["publish"][1] = processor_seconds(self.publisher.pid)
        self.publisher.terminate()
        self.publisher.wait()
        return took


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binaries", default="build/release/bin")
    parser.add_argument("--gib", type=float, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", help="where files are made; default: the temporary one")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        checkpoint = os.path.join(folder, "in")
        total = write_checkpoint(checkpoint, arguments.gib)
        server = subprocess.Popen(
            [os.path.join(arguments.binaries, "tensorhub-server"), "--listen", "127.0.0.1:0",
             "--keep-latest", "0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        try:
            address = server.stdout.readline().split()[-1].decode()
            rounds = [Round(arguments, folder, checkpoint, address, number).run()
                      for number in range(1, arguments.rounds + 1)]
        finally:
            server.terminate()
            server.wait()
    for name in ("cat", "publish", "cp", "fetch"):
        rates = [total / one[name][0] / 1e9 for one in rounds]
        processors = statistics.median(one[name][1] / total * 1e9 for one in rounds)
        print(f"{name:8} {statistics.median(rates):6.2f} GB/s  "
              f"({min(rates):.2f} to {max(rates):.2f}), {processors:.2f} s of processors per GB")


if __name__ == "__main__":
    main()
