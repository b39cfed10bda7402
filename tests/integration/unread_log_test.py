#!/usr/bin/env python3
# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""A server whose log nobody reads serves, and ends, as any other. So does an agent whose readers
have gone.

    unread_log_test.py FOLDER-OF-THE-BINARIES
"""

import fcntl
import os
import re
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import binaries  # noqa: E402  (in the folder above)
from driven import TestWorker  # noqa: E402

F_SETPIPE_SZ = 1031
PIPE_BYTES = 4096


MODEL = "m" * 240


class UnreadLogTest(unittest.TestCase):
    def test_nobody_waits_for_the_log(self):
        server = self.run_beside("tensorhub-server", "--listen", "127.0.0.1:0")
        fcntl.fcntl(server.stderr, F_SETPIPE_SZ, PIPE_BYTES)
        address = server.stdout.readline().split()[-1]
        worker = TestWorker()
        self.addCleanup(worker.end)
        worker.do(self, f"connect server={address} model={MODEL} group=g")
        for count in range(2 * PIPE_BYTES // len(MODEL)):
            self.tell(address, "retain", MODEL, str(count))
        self.tell(address, "status")
        server.terminate()
        self.assertEqual(server.wait(timeout=20), 0)
        unread = os.read(server.stderr.fileno(), 2 * PIPE_BYTES)
        self.assertGreater(len(unread), PIPE_BYTES // 2, "all of the log would have fit the pipe")

    def test_an_agent_outlasts_its_readers(self):
        server = self.run_beside("tensorhub-server", "--listen", "127.0.0.1:0")
        address = server.stdout.readline().split()[-1]
        worker = TestWorker()
        self.addCleanup(worker.end)
        for line in (f"connect server={address} model={MODEL} group=g", "register", "fill 1",
                     "publish 1"):
            worker.do(self, line)
        agent = self.run_beside("tensorhub-agent", "--server", address, "--model", MODEL,
                                "--group", "keeper")
        self.assertIn("holding", agent.stdout.readline())
        agent.stdout.close()
        agent.stderr.close()
        for line in ("unpublish", "fill 2", "publish 2"):
            worker.do(self, line)
        until = time.monotonic() + 20
        while not re.search(r" 2:\S*keeper=complete", worker.do(self, "list")):
            self.assertIsNone(agent.poll())
            self.assertLess(time.monotonic(), until)
        agent.terminate()
        self.assertEqual(agent.wait(timeout=20), 0)
        self.assertNotIn("keeper", worker.do(self, "list"), "it has not left")

    def run_beside(self, *words):
        process = subprocess.Popen([binaries.path(words[0]), *words[1:]], text=True,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        for step in (process.stderr.close, process.stdout.close, process.wait, process.kill):
            self.addCleanup(step)
        return process

    def tell(self, address, *words):
        subprocess.run([binaries.path("tensorhubctl"), *words, "--server", address],
                       check=True, timeout=20, capture_output=True)


if __name__ == "__main__":
    binaries.main()
