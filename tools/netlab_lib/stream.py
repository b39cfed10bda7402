# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""A plain TCP stream between two hosts: what a link really carries."""

import subprocess
import sys

from netlab_lib.errors import NetlabError

_SINK = """
import socket, sys, time
listener = socket.create_server((sys.argv[1], 0))
listener.settimeout(20)
print(listener.getsockname()[1], flush=True)
stream = listener.accept()[0]
stream.settimeout(20)
total, first, buffer = 0, None, bytearray(1 << 20)
while count := stream.recv_into(buffer):
    first = first or time.monotonic()
    total += count
    last = time.monotonic()
print(total, last - first)
"""

_SOURCE = """
import socket, sys, time
stream = socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=20)
end, block = time.monotonic() + float(sys.argv[3]), bytes(1 << 18)
while time.monotonic() < end:
    stream.sendall(block)
"""


def _python(host, program, *arguments):
    return subprocess.Popen(["ip", "netns", "exec", host["namespace"], sys.executable, "-c",
                             program, *arguments], stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL, text=True)


def measure(source, sink, seconds):
    """Bits per second that arrive, of TCP's payload."""
    receiver = _python(sink, _SINK, sink["address"])
    port = receiver.stdout.readline().strip()
    sender = _python(source, _SOURCE, sink["address"], port, str(seconds))
    answer = receiver.communicate()[0].split()
    sender.communicate()
    if sender.returncode != 0 or receiver.returncode != 0 or len(answer) != 2:
        raise NetlabError(f"no stream from {source['name']} to {sink['name']}")
    return float(answer[0]) * 8 / float(answer[1])
