# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""What a vLLM waits for and what not, how it joins, and what its calls answer. As the contract's
tests: a stand-in for vLLM, and a real hub."""

import importlib
import threading
import types

import pytest
import tensorhub

torch = pytest.importorskip("torch", reason="torch is not installed in this environment")

import fake_vllm  # noqa: E402
from test_vllm_contract import (  # noqa: E402, F401
    Model,
    holds,
    make_engine,
    plugin,
    publish,
    weights_of,
)

# ruff: noqa: F811


def test_joining_again_keeps_what_only_this_engine_holds(make_engine, publish, connect):
    engine = make_engine()
    trainer = publish(1, weights_of(1))
    engine.update_weights({})
    trainer.leave(drain_timeout=0)
    given, looker = {"server": trainer.server, "model": connect.model}, connect("looker")
    for more in ({}, {"stage": True}):
        engine.init_transfer_engine(engine.init_info_cls(**given, **more))
        assert looker.list()[-1].state == "visible"
        assert engine.verify(20).version == 1


def test_other_settings_join_before_the_first_ones_leave(make_engine, publish, connect):
    engine = make_engine()
    trainer = publish(1, weights_of(1))
    engine.update_weights({})
    with pytest.raises(tensorhub.UnavailableError):
        engine.init_transfer_engine(engine.init_info_cls(server="127.0.0.1:1", model=connect.model))
    assert engine.verify(20).version == 1
    given = {"server": trainer.server, "model": connect.model, "group": "others"}
    engine.init_transfer_engine(engine.init_info_cls(**given))
    engine.update_weights({})
    groups = [replica.group for replica in connect("looker").list()[-1].replicas]
    assert [group for group in groups if group.startswith("others-")]
    assert not [group for group in groups if group.startswith("vllm-")]


@pytest.mark.parametrize("way", ["loader", "stage", "in_place"])
def test_an_engine_stands_still_for_no_longer_than_it_may(make_engine, publish, monkeypatch, way):
    stages = importlib.import_module("tensorhub.integrations._stage")
    engine = make_engine(max_pause=4, **({} if way == "loader" else {way: True}))
    publish(1, weights_of(1))
    engine.update_weights({})
    publish(2, weights_of(2))

    def wait_in_vain(fetching, client):
        assert fetching._cancelled.wait(30)
        raise tensorhub.CancelledError("it was cancelled")

    with monkeypatch.context() as patch:
        patch.setattr(stages.Fetching, "_fetch", wait_in_vain)
        patch.setattr(stages, "_AWAY_S", 60)
        patch.setattr(stages.Target, "unreachable", True)
        with pytest.raises(tensorhub.DeadlineExceededError, match=r"within 4(\.0)? s.*'max_pause'"):
            engine.update_weights({"version": 2})
        patch.setattr(stages, "_AWAY_S", 0.1)
        with pytest.raises(tensorhub.UnavailableError, match="the server went away before version"):
            engine.update_weights({"version": 2})
    assert holds(engine.model, 1)
    engine.update_weights({"version": 2})
    assert holds(engine.model, 2)


def test_a_start_waits_for_the_first_version(plugin, server, connect, publish):
    plugin.register()
    extra = {"server": server, "model": connect.model, "start_wait": 0.2}
    loader = fake_vllm.LOADERS["tensorhub"](types.SimpleNamespace(model_loader_extra_config=extra))
    config, model = types.SimpleNamespace(quantization=None), Model()
    with pytest.raises(tensorhub.DeadlineExceededError, match="no version"):
        loader.load_weights(model, config)
    extra["start_wait"] = 60
    loader = fake_vllm.LOADERS["tensorhub"](types.SimpleNamespace(model_loader_extra_config=extra))
    waiting = threading.Thread(target=loader.load_weights, args=(model, config))
    waiting.start()
    publish(1, weights_of(1))
    waiting.join(60)
    assert holds(model, 1)
    importlib.import_module("tensorhub.integrations._vllm_ranks").release()


class Answers:
    """A queue of one worker's answers."""

    def __init__(self, *answers):
        self._answers = list(answers)

    def dequeue(self, timeout):
        return self._answers.pop(0)


def test_no_answer_of_another_rank_is_left_for_the_next_call(plugin):
    plugin.register()
    executors = importlib.import_module("vllm.v1.executor.multiproc_executor")
    queues = [Answers(1, ValueError("no"), 2), Answers(1, ValueError("nor here"), 2)]
    executor = executors.MultiprocExecutor([*queues, Answers(1, "meanwhile", 2)])
    assert executor.collective_rpc("first") == [1, 1, 1]
    with pytest.raises(RuntimeError, match="'no'"):
        executor.collective_rpc("second")
    assert executor.collective_rpc("third") == [2, 2, 2]


def test_an_error_of_the_plug_ins_own_calls_is_a_value(make_engine, publish, plugin):
    engine = make_engine()
    publish(1, weights_of(1))
    worker = fake_vllm.WorkerBase(engine)
    assert worker.tensorhub_stage(77)["code"] == "NOT_FOUND"
    assert worker.tensorhub_take(77)["code"] == "NOT_FOUND"
    with pytest.raises(tensorhub.NotFoundError):
        plugin.stage(fake_vllm.LLM(worker), 77)
    assert worker.tensorhub_arrived(1, 2)["message"].startswith("TypeError")
    assert worker.tensorhub_take(1)["version"] == 1
    assert holds(engine.model, 1)
    calls = importlib.import_module("tensorhub.integrations._vllm_calls")
    told, other = ({"code": code, "message": code} for code in ("ABORTED", "DATA_LOSS"))
    with pytest.raises(tensorhub.DataLossError):
        calls.values([told, other])
