# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""netlab-link, the program that has a laboratory's links: it runs where they meet, and goes with
that namespace."""

import json
import os
import socket
import subprocess
import sys

from netlab_lib import kernel, links
from netlab_lib.errors import NetlabError

_PROGRAM = "netlab-link"
_TIMEOUT = 10


def program():
    """Beside netlab as it was called, which is how a build has it; else of the release build."""
    checkout = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
    folders = (os.path.dirname(os.path.abspath(sys.argv[0])),
               os.path.join(checkout, "build/release/bin"))
    for folder in folders:
        path = os.path.join(folder, _PROGRAM)
        if os.access(path, os.X_OK):
            return path
    raise NetlabError(f"links need {_PROGRAM}, which is not built: tools/build.sh release "
                      f"{_PROGRAM}")


def _device(port):
    return f"t-{port}"


def bridge_of(port):
    """Of the exchange's namespace: what is outside has the exchange itself."""
    return "br0" if port == links.OUTSIDE else f"b-{port}"


def start(namespace, folder, ports):
    """The ports are the datacenters, which have bridges of their own there, and the outside."""
    command = ["ip", "netns", "exec", namespace, program(), os.path.join(folder, "link.sock"),
               *(f"{port}={_device(port)}" for port in ports)]
    log = os.path.join(folder, "link.log")
    with open(log, "wb") as errors, subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors,
            start_new_session=True) as process:
        said = process.stdout.readline()
        if said != b"up\n":
            process.wait()
            with open(log, encoding="utf-8", errors="replace") as file:
                raise NetlabError(" ".join(file.read().split()) or f"{_PROGRAM} did not begin")
        process.returncode = 0  # it stays: nobody waits for it
    kernel.ip_batch(namespace, [
        f"link set {_device(port)} master {bridge_of(port)} txqueuelen 10000 up"
        for port in ports])


def _ask(folder, order):
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
            connection.settimeout(_TIMEOUT)
            connection.connect(os.path.join(folder, "link.sock"))
            connection.send(order.encode())
            answer = connection.recv(1 << 20).decode()
    except OSError as error:
        raise NetlabError(f"{_PROGRAM} does not answer ({error}); "
                          f"see {folder}/link.log") from error
    if not answer or answer.startswith("error"):
        raise NetlabError(f"{_PROGRAM}: {answer or 'no answer'}")
    return answer


def set_way(folder, way):
    numbers = links.numbers(way.settings, f"link {way.source} {way.sink}")
    words = [f"{name}={value:.12g}" for name, value in numbers.items()]
    _ask(folder, " ".join(["set", way.source, way.sink, *words]))


def counters(folder):
    """{(from, to): what that way has carried, lost …}; of those that have seen anything."""
    listed = json.loads(_ask(folder, "status"))
    return {(entry.pop("from"), entry.pop("to")): entry for entry in listed}
