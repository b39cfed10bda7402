# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Programs that run as children: they end with this process, and their errors are errors here."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest
import tensorhub
import tensorhub.safetensors
from processes import runs
from safetensors_file import write
from tensorhub import _child

_HEAD = """
import os, signal, sys, threading, time
import tensorhub, tensorhub.safetensors
server, model, path = sys.argv[1:]
def start():
    started.append(tensorhub.safetensors.publish(server, model, 1, path))
    started.append(tensorhub.serve())
started = []
thread = threading.Thread(target=start)
thread.start()
thread.join()
print(*(child._process.pid for child in started), flush=True)
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "model.safetensors"
    write(path, np.arange(24, dtype=np.float32), {})
    return path


@pytest.fixture
def pids(server, connect, file):
    """pids(end): the children's, once a thread has started them and the process has ended so."""

    def run(end):
        done = subprocess.run(
            [sys.executable, "-c", _HEAD + textwrap.dedent(end), server, connect.model, str(file)],
            stdout=subprocess.PIPE, text=True, timeout=60, check=False,
        )  # fmt: skip
        return [int(word) for word in done.stdout.split()]

    return run


def _await_end(pid):
    deadline = time.monotonic() + 30
    while runs(pid):
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.parametrize(
    "end",
    [
        "",
        "os.kill(os.getpid(), signal.SIGKILL)",
        # They run on when the thread has ended.
        "time.sleep(0.5); print(*(child._process.pid for child in started if not child.alive))",
    ],
)
def test_children_of_a_thread_end_with_the_process(pids, end):
    children = pids(end)
    assert len(children) == 2
    for pid in children:
        _await_end(pid)


def test_a_fork_that_outlives_the_process_does_not_keep_its_children(pids):
    *children, fork = pids("""
        fork = os.fork()
        if fork == 0:
            os.close(1)
            signal.alarm(120)
            signal.pause()
        print(fork)
    """)
    try:
        for pid in children:
            _await_end(pid)
        assert runs(fork)
    finally:
        os.kill(fork, signal.SIGKILL)


@pytest.fixture
def interrupted(monkeypatch):
    """Whoever waits for a child is interrupted."""

    def interrupt():
        raise KeyboardInterrupt

    before = set(_child._running)
    monkeypatch.setattr(_child, "look", interrupt)
    yield
    assert _child._running == before


def _await_nothing(client):
    """Nothing can be had. It may have been there for a moment, before the interrupt, or a lease."""
    deadline = time.monotonic() + 30
    while any(version.replicas for version in client.list()):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_an_interrupted_publish_publishes_nothing(server, connect, file, interrupted):
    client = connect("reader")
    with pytest.raises(KeyboardInterrupt):
        tensorhub.safetensors.publish(server, connect.model, 1, file)
    _await_nothing(client)


def test_an_interrupted_fetch_leaves_nothing(server, connect, tmp_path, interrupted):
    trainer = connect("trainer")
    trainer.register({"w": np.ones(1 << 20)})
    trainer.publish(1)
    with pytest.raises(KeyboardInterrupt):
        tensorhub.safetensors.fetch(server, connect.model, None, tmp_path / "copy")
    assert list(tmp_path.iterdir()) == []


def test_an_interrupted_serve_leaves_no_server(interrupted):
    with pytest.raises(KeyboardInterrupt):
        tensorhub.serve()


def test_a_publish_may_be_given_a_time(server, connect, file):
    with pytest.raises(tensorhub.DeadlineExceededError, match="ended"):
        tensorhub.safetensors.publish(server, connect.model, 1, file, timeout=0)
    _await_nothing(connect("reader"))


def test_errors_carry_their_code(server, connect, file, tmp_path):
    other = tmp_path / "other.safetensors"
    write(other, np.arange(25, dtype=np.float32), {})
    (tmp_path / "broken.safetensors").write_bytes(b"nothing of the kind")
    connect("taken")

    def publish(address, version, path, group=None):
        tensorhub.safetensors.publish(address, connect.model, version, path, group=group)

    with tensorhub.safetensors.publish(server, connect.model, 5, file):
        with pytest.raises(tensorhub.NotFoundError, match="missing"):
            publish(server, 6, tmp_path / "missing")
        with pytest.raises(tensorhub.InvalidArgumentError, match="broken"):
            publish(server, 6, tmp_path / "broken.safetensors")
        with pytest.raises(tensorhub.AlreadyExistsError, match="5"):
            publish(server, 5, other)
        with pytest.raises(tensorhub.FailedPreconditionError, match="4"):
            publish(server, 4, file)
        with pytest.raises(tensorhub.AlreadyExistsError, match="taken"):
            publish(server, 6, file, group="taken")
        with pytest.raises(tensorhub.UnavailableError, match=r"127\.0\.0\.1:9"):
            publish("127.0.0.1:9", 6, file)
        with pytest.raises(tensorhub.InvalidArgumentError, match=r"\[::1\]:7070"):
            publish("::1:7070", 6, file)
        with pytest.raises(tensorhub.Error, match="empty") as caught:
            tensorhub.safetensors.fetch(server, connect.model, None, tmp_path)
        assert type(caught.value) is not tensorhub.UnknownError


def test_the_end_of_a_publication_is_told(server, connect, file):
    publication = tensorhub.safetensors.publish(server, connect.model, 1, file)
    with pytest.raises(TimeoutError, match="still serving"):
        publication.wait(np.float32(0.1))
    os.kill(publication._process.pid, signal.SIGKILL)
    with pytest.raises(tensorhub.UnavailableError, match="SIGKILL"):
        publication.wait()
    assert not publication.alive
    publication.stop()
