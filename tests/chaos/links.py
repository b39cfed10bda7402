# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Processes on the hosts of a laboratory (tools/netlab), whose links can be cut and healed."""

import json
import os
import subprocess
import sys

NETLAB = os.path.realpath(os.path.join(os.path.dirname(__file__), "../../tools/netlab"))
SKIPPED = 77
_SHAPE = ("--hosts", "4", "--rate", "500mbit")


def inside():
    return "NETLAB_LAB" in os.environ


def _in_a_laboratory(words, shape):
    """By the netlab beside the binaries, whose folder is the last word."""
    return [os.path.join(words[-1], "netlab"), "with", *shape, "--", sys.executable, "-B", *words]


def _end_if_there_can_be_none():
    done = subprocess.run([NETLAB, "with", "--hosts", "1", "--", "true"], capture_output=True,
                          text=True, check=False)
    if done.returncode == SKIPPED:
        print(f"skipped: {done.stderr.strip()}")
        sys.exit(SKIPPED)


def enter(shape=_SHAPE):
    """This program once more, inside a laboratory that goes when it ends; exits with its code. With
    77 and the reason where there can be none."""
    _end_if_there_can_be_none()
    command = _in_a_laboratory(sys.argv, shape)
    os.execv(command[0], command)


def enter_beside(tests, shape=_SHAPE):
    """As `enter`, but with these tests dealt out to two laboratories at once: for tests that mostly
    wait."""
    _end_if_there_can_be_none()
    script, *rest = sys.argv
    halves = [subprocess.Popen(_in_a_laboratory([script, *tests[half::2], *rest], shape),
                               text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
              for half in range(2)]
    for half in halves:
        print(half.communicate()[0])
    sys.exit(max(half.returncode != 0 for half in halves))


class Lab:
    """Places for processes.Process: the server on one host, each group on another."""

    def __init__(self, binaries):
        self._binaries = binaries
        self._name = os.environ["NETLAB_LAB"]
        listed = subprocess.run([NETLAB, "status", self._name, "-o", "json"], capture_output=True,
                                text=True, check=True)
        self._hosts = {entry["name"]: entry for entry in json.loads(listed.stdout)["hosts"]}
        self.hosts = sorted(self._hosts, key=lambda name: name != "hub")

    def command(self, place, words):
        return [NETLAB, "run", self._name, place, "--", os.path.join(self._binaries, words[0]),
                *words[1:]]

    def address(self, place):
        return self._hosts[place]["address"]

    def location(self, place):
        return self._hosts[place]["location"]

    def cut(self, host):
        subprocess.run([NETLAB, "cut", self._name, host], check=True)

    def heal(self, host):
        subprocess.run([NETLAB, "heal", self._name, host], check=True)
