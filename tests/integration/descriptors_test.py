#!/usr/bin/env python3
# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""A server that could not take a connection ends, so that its supervisor starts it again: gRPC
would never take another one.

    descriptors_test.py FOLDER-OF-THE-BINARIES
"""

import os
import resource
import socket
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import binaries  # noqa: E402  (in the folder above)

LIMIT = 64


def limit_files():
    resource.setrlimit(resource.RLIMIT_NOFILE, (LIMIT, LIMIT))


class DescriptorsTest(unittest.TestCase):
    def test_a_server_without_any_left_says_so_and_ends(self):
        server = subprocess.Popen([binaries.path("tensorhub-server"), "--listen", "127.0.0.1:0"],
                                  preexec_fn=limit_files, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(server.kill)
        port = int(server.stdout.readline().rsplit(":", 1)[1])
        try:
            for _ in range(2 * LIMIT):
                self.addCleanup(socket.create_connection(("127.0.0.1", port)).close)
        except OSError:
            pass  # it has ended already
        _, said = server.communicate(timeout=30)
        self.assertEqual(server.returncode, 1, said)
        self.assertIn("no connections can be taken any more", said)
        self.assertIn("ulimit -n", said)


if __name__ == "__main__":
    binaries.main()
