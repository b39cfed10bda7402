# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""A server that shows itself by HTTP, and workers of it, for the tests of what it shows."""

import os
import re
import subprocess
import sys
import tempfile
import unittest
import urllib.request

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import binaries  # noqa: E402  (in the folder above)
from driven import TestWorker  # noqa: E402


class WorkersTest(unittest.TestCase):
    """Workers of the server at `self.address`."""

    MODEL = "team/actor"

    def worker(self, group, *flags, model=None, **variables):
        log = tempfile.NamedTemporaryFile("r")  # noqa: SIM115
        self.addCleanup(log.close)
        worker = TestWorker(log.name, {"TENSORHUB_LOG_LEVEL": "info", **variables})
        self.addCleanup(worker.end)
        worker.log = log
        worker.do(self, f"connect server={self.address} model={model or self.MODEL} group={group}")
        worker.do(self, " ".join(["register", *flags]))
        return worker

    def port_of(self, worker):
        """Where a connected worker shows its metrics."""
        worker.log.seek(0)
        return int(re.search(r"http://127.0.0.1:(\d+)/metrics", worker.log.read()).group(1))

    def do(self, worker, line):
        worker.do(self, line)


class ServedTest(WorkersTest):
    LEASE = "2s"

    def setUp(self):
        self.log = tempfile.TemporaryFile("w+")  # noqa: SIM115
        self.addCleanup(self.log.close)
        self.server = subprocess.Popen(
            [binaries.path("tensorhub-server"), "--listen", "127.0.0.1:0", "--lease", self.LEASE,
             "--http", "127.0.0.1:0"], text=True, stdout=subprocess.PIPE, stderr=self.log)
        for step in (self.server.stdout.close, self.server.wait, self.server.kill):
            self.addCleanup(step)
        self.address = self.server.stdout.readline().split()[-1]
        self.port = int(self.server.stdout.readline().split()[-1])

    def get(self, path, port=None):
        url = f"http://127.0.0.1:{port or self.port}{path}"
        with urllib.request.urlopen(url, timeout=20) as answer:
            return answer.read().decode(), answer.headers["Content-Type"]
