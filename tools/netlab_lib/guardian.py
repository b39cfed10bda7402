# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""`netlab with`: a laboratory for the length of one command.

The one who takes it down is always the guardian, a process in a session of its own that waits for
the end of a pipe whose other end only `netlab with` holds. So it makes no difference whether that
one ends, fails or is killed.
"""

import ctypes
import os
import signal
import subprocess

from netlab_lib import lab as labs

_PR_SET_PDEATHSIG = 1
_FORWARDED = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)


def _become_guardian(name, life, done):
    """Never returns."""
    os.setsid()
    if os.fork() > 0:
        os._exit(0)
    for number in _FORWARDED:
        signal.signal(number, signal.SIG_IGN)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    claimed = os.read(life, 1)
    os.read(life, 1)
    try:
        if claimed:
            labs.down(name)
    finally:
        os.close(done)
        os._exit(0)


class Guardian:
    """Once the name is claimed, its laboratory goes when this process goes."""

    def __init__(self, name):
        life_read, self._life = os.pipe()
        self._done, done_write = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(self._life)
            os.close(self._done)
            _become_guardian(name, life_read, done_write)
        os.close(life_read)
        os.close(done_write)
        os.waitpid(child, 0)

    def claim(self, name):
        labs.claim(name)
        os.write(self._life, b"c")

    def release(self):
        """Returns when the laboratory is gone."""
        os.close(self._life)
        os.read(self._done, 1)
        os.close(self._done)


def run_command(command, environment):
    """The exit code; the command dies with this process, in whatever way that goes."""
    libc = ctypes.CDLL(None, use_errno=True)
    parent = os.getpid()

    def die_with_parent():
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _FORWARDED)
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)

    # A signal that comes while there is a command but nothing yet to forward with has to wait:
    # by its default it would end this process in the command's place.
    signal.pthread_sigmask(signal.SIG_BLOCK, _FORWARDED)
    process = subprocess.Popen(command, env=environment, preexec_fn=die_with_parent)
    for number in _FORWARDED:
        signal.signal(number, lambda received, _: process.send_signal(received))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _FORWARDED)
    code = process.wait()
    return code if code >= 0 else 128 - code
