# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""What is said in another way than the usual one, and what errors say."""

import asyncio
import copy
import pickle
import re
import subprocess
import sys

import numpy as np
import pytest
import tensorhub
import tensorhub.safetensors
from tensorhub.integrations._settings import Settings


def pair(connect):
    trainer, rollout = connect("trainer"), connect("rollout")
    trainer.register({"w": np.ones(100)})
    rollout.register({"w": np.zeros(100)})
    return trainer, rollout


def test_a_trainer_may_begin_at_version_0(connect):
    trainer, rollout = pair(connect)
    assert rollout.held() is None
    with pytest.raises(tensorhub.DeadlineExceededError, match="it has no version yet"):
        rollout.fetch(tensorhub.newer_than(rollout.held()), timeout=0.3)
    for step in range(3):
        trainer.unpublish()
        trainer.publish(step)
        assert rollout.wait(tensorhub.newer_than(rollout.held()), timeout=20) == step
        assert rollout.fetch(tensorhub.newer_than(rollout.held()), timeout=20).version == step
    assert repr(tensorhub.newer_than(None)) == "tensorhub.newer_than(None)"


def test_a_wait_in_vain_says_what_there_is(connect):
    trainer, rollout = pair(connect)
    trainer.publish(0)
    for wait in (rollout.fetch, rollout.wait):
        with pytest.raises(tensorhub.DeadlineExceededError, match="the latest is 0"):
            wait(tensorhub.newer_than(0), timeout=0.3)


def test_files_are_those_of_a_version(server, connect, tmp_path):
    with pytest.raises(ValueError, match="newer"):
        tensorhub.safetensors.fetch(server, connect.model, tensorhub.newer_than(None), tmp_path)


@pytest.mark.parametrize("make", [copy.copy, copy.deepcopy, pickle.dumps])
def test_nothing_is_copied_that_has_an_end(server, connect, make):
    client = connect("group")
    for one in (client, tensorhub.aio.Client(client)):
        with pytest.raises(TypeError, match=r"copied or pickled.*tensorhub\.(aio\.)?connect"):
            make(one)
    assert client.health() is None
    with tensorhub.serve() as other, pytest.raises(TypeError, match="its address"):
        make(other)


@pytest.mark.parametrize(
    ("address", "meant"),
    [("::1:7070", r"\[::1\]:7070"), ("2001:db8::7", r"\[2001:db8::7\]:"), ("hub", "HOST:PORT")],
)
def test_an_address_without_brackets(address, meant, tmp_path):
    with pytest.raises(tensorhub.InvalidArgumentError, match=meant):
        tensorhub.connect(address, "m", "g")
    with pytest.raises(tensorhub.InvalidArgumentError, match=meant):
        tensorhub.connect(f"localhost:1,{address}", "m", "g")
    with pytest.raises(tensorhub.InvalidArgumentError, match=meant):
        tensorhub.safetensors.fetch(address, "m", None, tmp_path)
    with pytest.raises(tensorhub.InvalidArgumentError, match=meant):
        tensorhub.connect("localhost:1", "m", "g", http=address)
    with pytest.raises(tensorhub.UnavailableError):
        tensorhub.serve(listen=address)


def test_a_server_is_an_address(tmp_path):
    with tensorhub.serve() as server, tensorhub.connect(server, "m", "g") as client:
        assert client.server == server.address
        with pytest.raises(tensorhub.NotFoundError):
            tensorhub.safetensors.fetch(server, "m", None, tmp_path / "copy")

        async def join():
            async with await tensorhub.aio.connect(server, "m", "other") as other:
                return other.sync.server

        assert asyncio.run(join()) == server.address
        settings = Settings.of({"server": server, "model": "m", "timeout": np.float32(2)}, {})
        assert (settings.server, settings.timeout) == (server.address, 2.0)
    with pytest.raises(TypeError, match="server must be a str"):
        tensorhub.connect(7070, "m", "g")


@pytest.mark.parametrize("level", ["INFO", "Warning", "DEBUG", "error"])
def test_levels_in_any_case(monkeypatch, level):
    monkeypatch.setenv("TENSORHUB_LOG_LEVEL", level)
    with tensorhub.serve():
        pass
    text = "from tensorhub import _logging; print(_logging._level())"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    named = {"INFO": 20, "Warning": 30, "DEBUG": 10, "error": 40}
    assert int(done.stdout) == named[level]


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.array, np.int8])
def test_numbers_of_numpy_are_timeouts(connect, kind):
    patience = kind(60)
    rollout = connect("rollout", connect_timeout=patience)
    rollout.register({"w": np.zeros(10)})
    with pytest.raises(tensorhub.DeadlineExceededError):
        rollout.fetch(tensorhub.newer_than(9), timeout=kind(1))
    rollout.publish(np.uint32(3), timeout=patience, supersede=np.bool_(False))
    rollout.unpublish(drain_timeout=patience, force=np.bool_(True))
    for wrong in (np.bool_(True), np.complex64(1), np.array([1.0]), "1", None):
        with pytest.raises(TypeError, match="timeout must be a number"):
            rollout.fetch(tensorhub.newer_than(9), timeout=wrong)
    with pytest.raises(TypeError, match="version must be an integer"):
        rollout.publish(np.bool_(True))


@pytest.mark.parametrize("for_ever", [float("inf"), np.float32("inf"), 10**400])
def test_a_timeout_may_be_for_ever(connect, for_ever):
    trainer, rollout = pair(connect)
    trainer.publish(1)
    rollout.fetch(tensorhub.latest(), timeout=for_ever)
    assert tensorhub.verify(rollout, timeout=for_ever).version == 1


def test_a_second_client_of_a_rank_is_told_where_the_first_is(server, connect):
    first = tensorhub.connect(server, connect.model, "notebook")
    line = rf"{re.escape(__file__)}:\d+ \(.*connect"
    with pytest.raises(tensorhub.AlreadyExistsError, match=line):
        connect("notebook", connect_timeout=600)  # at once

    async def another():
        await tensorhub.aio.connect(server, connect.model, "notebook", connect_timeout=600)

    with pytest.raises(tensorhub.AlreadyExistsError, match="this process has rank 0"):
        asyncio.run(another())
    # By another name of the server it shows only when that refuses.
    port = server.rpartition(":")[2]
    with pytest.raises(tensorhub.AlreadyExistsError, match="this process has rank 0"):
        tensorhub.connect(f"localhost:{port}", connect.model, "notebook", connect_timeout=0.3)
    first.leave()
    connect("notebook")


def test_another_process_is_another_worker(server, connect):
    connect("taken")
    text = (
        "import sys, tensorhub\n"
        "try: tensorhub.connect(*sys.argv[1:], 'taken', connect_timeout=0.3)\n"
        "except tensorhub.AlreadyExistsError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", text, server, connect.model],
                          capture_output=True, text=True, check=True)  # fmt: skip
    assert "held by another worker" in done.stdout


def test_errors_speak_of_what_python_has(connect):
    trainer, rollout = pair(connect)
    said = []

    def fails(call):
        with pytest.raises(tensorhub.Error) as caught:
            call()
        said.append(str(caught.value))

    fails(lambda: connect("third").publish(1))
    trainer.publish(1)
    fails(lambda: trainer.publish(2))
    fails(lambda: trainer.register({"v": np.zeros(3)}))
    fails(lambda: rollout.fetch(tensorhub.version(9)))
    fails(lambda: rollout.fetch(tensorhub.newer_than(9), timeout=0.2))
    trainer.leave()
    fails(lambda: trainer.publish(3))
    for one in said:
        assert not re.search(r"\b(Publish|Unpublish|Register|Fetch|Leave|NewerThan|\w+::)", one), (
            one
        )
        assert "\n" not in one
