# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""What tests in a laboratory begin with: a server on its host `hub`, and workers on the others."""

import os
import shutil
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../chaos"))
from processes import Server, Worker  # noqa: E402

LEASE_MS = 5000


class LabCase(unittest.TestCase):
    lab = None  # of links; set before the tests run

    server_place = "hub"

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="tensorhub-netlab-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.server = Server(self.lab, self.server_place, self.folder, LEASE_MS)
        self.addCleanup(self.server.kill)

    def start(self, group, place, way, shard, *, rank=0, world=1, model=Worker.MODEL,
              timeout_ms=10000):
        """A worker, which is alone in its group if nothing else is said, and what came of its
        joining."""
        worker = Worker(self.lab, self.folder, self.server, group=group, rank=rank, world=world,
                        place=place, way=way, shard=shard, model=model)
        self.addCleanup(worker.kill)
        return worker, worker.join(timeout_ms)
