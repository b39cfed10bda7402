#!/usr/bin/env python3
# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""`tensorhubctl fetch` onto a disk that is full, or becomes so on the way: one line that says so,
nothing left behind, and the next fetch, when there is room, is whole. Exits 77 with a reason where
no disk can be mounted."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from processes import Places, Process, Server

SKIPPED = 77
MIB = 1 << 20
CHECKPOINT_BYTES = 24 * MIB


def eventually(condition):
    deadline = time.monotonic() + 20
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def make_checkpoint(path):
    header = json.dumps({"w": {"dtype": "U8", "shape": [CHECKPOINT_BYTES],
                               "data_offsets": [0, CHECKPOINT_BYTES]}}).encode()
    header += b" " * (-len(header) % 8)
    with open(path, "wb") as file:
        file.write(len(header).to_bytes(8, "little") + header + os.urandom(CHECKPOINT_BYTES))


def read(path):
    with open(path, "rb") as file:
        return file.read()


class Disk:
    """A file system of its own, in memory."""

    def __init__(self, path, options):
        self.path = path
        os.mkdir(path)
        subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", path], check=True,
                       capture_output=True, text=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        subprocess.run(["umount", self.path], check=True)
        os.rmdir(self.path)

    def fill(self):
        """All but a MiB; the name of the file that does."""
        name = os.path.join(self.path, "junk")
        room = os.statvfs(self.path)
        with open(name, "wb") as file:
            file.write(bytes(room.f_bavail * room.f_frsize - MIB))
        return name


class DiskFullTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="tensorhub-disk-")
        cls.places = Places(BINARIES)
        cls.server = Server(cls.places, "h0", cls.folder.name, 30000)
        cls.checkpoint = os.path.join(cls.folder.name, "w.safetensors")
        make_checkpoint(cls.checkpoint)
        cls.publisher = cls.start("publish", "m", "1", cls.checkpoint)
        cls.publisher.line(time.monotonic() + 30)

    @classmethod
    def tearDownClass(cls):
        cls.publisher.end()
        cls.server.kill()
        cls.folder.cleanup()

    @classmethod
    def start(cls, *words):
        return Process(cls.places.command("h0", ["tensorhubctl", "--server", cls.server.address,
                                                 *words]),
                       os.path.join(cls.folder.name, "ctl.log"))

    def disk(self, options):
        return Disk(os.path.join(self.folder.name, self.id().rsplit(".", maxsplit=1)[-1]), options)

    def fetch(self, disk):
        return subprocess.run(
            self.places.command("h0", ["tensorhubctl", "--server", self.server.address, "fetch",
                                       "m", "1", os.path.join(disk.path, "out")]),
            capture_output=True, text=True, check=False)

    def expect_failure(self, code, errors, left):
        self.assertEqual(code, 1, errors)
        # A publisher that was stopped for long on a busy machine is reached by another way.
        lines = [line for line in errors.splitlines() if "a peer is reached over" not in line]
        self.assertEqual(len(lines), 1, errors)
        self.assertRegex(errors, "bytes left|No space left")
        self.assertEqual(os.listdir(left.path), [])

    def expect_fetched(self, disk):
        done = self.fetch(disk)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(read(os.path.join(disk.path, "out", "w.safetensors")),
                         read(self.checkpoint))

    def test_too_small(self):
        with self.disk("size=16m") as disk:
            done = self.fetch(disk)
            self.expect_failure(done.returncode, done.stderr, disk)

    def test_no_more_files(self):
        with self.disk("size=64m,nr_inodes=2") as disk:
            done = self.fetch(disk)
            self.expect_failure(done.returncode, done.stderr, disk)

    def test_becomes_full(self):
        """Between the look at the free space and the writing: the publisher sleeps meanwhile."""
        log = os.path.join(self.folder.name, "full.log")
        with self.disk("size=64m") as disk:
            self.publisher.send_signal(signal.SIGSTOP)
            reader = Process(
                self.places.command("h0", ["tensorhubctl", "--server", self.server.address,
                                           "fetch", "m", "1", os.path.join(disk.path, "out")]),
                log)
            begun = eventually(lambda: os.listdir(disk.path))
            junk = disk.fill()
            self.publisher.send_signal(signal.SIGCONT)
            self.assertTrue(begun)
            code = reader.wait(60)
            os.remove(junk)
            self.expect_failure(code, read(log).decode(), disk)
            reader.end()
            self.expect_fetched(disk)


def main():
    with tempfile.TemporaryDirectory() as folder:
        try:
            with Disk(os.path.join(folder, "probe"), "size=1m"):
                pass
        except (subprocess.CalledProcessError, FileNotFoundError) as error:
            reason = getattr(error, "stderr", None) or str(error)
            print(f"skipped: cannot mount a file system: {reason.strip()}")
            sys.exit(SKIPPED)
    unittest.main()


if __name__ == "__main__":
    BINARIES = sys.argv.pop()
    main()
