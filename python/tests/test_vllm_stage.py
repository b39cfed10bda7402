# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Versions that are fetched while a vLLM generates, and put into its model by a copy.

vLLM is a stand-in (fake_vllm.py), and the ranks of an engine are threads. The hub is real.
"""

import importlib
import threading

import pytest
import tensorhub

torch = pytest.importorskip("torch", reason="torch is not installed in this environment")

from fake_ranks import (  # noqa: E402
    Llm,
    Model,
    eventually,
    fetched,
    holds,
    own_bytes,
    update,
    weights_of,
)


@pytest.fixture
def plugin(make_ranks):
    return importlib.import_module("tensorhub.integrations.vllm")


def ready(plugin, llm):
    eventually(lambda: plugin.staged(llm).ready)
    return plugin.staged(llm)


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("axis", [0, 1], ids=["rows", "columns"])
def test_the_model_changes_with_the_update_and_not_before(
    make_ranks, publish_slices, plugin, ranks, axis
):
    publish_slices(1, axis=axis)
    threads, engines = make_ranks(ranks, stage=True)
    llm = Llm(threads, engines)
    assert update(threads, engines) == [None] * ranks
    places = [[p.data_ptr() for p in engine.model.parameters()] for engine in engines]
    loads = [engine.model.loads for engine in engines]
    for version in (2, 3, 4):
        publish_slices(version, axis=axis)
        assert plugin.stage(llm) == version
        assert ready(plugin, llm) == plugin.Staged(version, True)
        assert all(holds(engine.model, version - 1) for engine in engines)
        assert [engine.arrived.version for engine in engines] == [version - 1] * ranks
        assert update(threads, engines) == [None] * ranks
        assert all(holds(engine.model, version) for engine in engines)
        assert plugin.staged(llm) is None
        assert fetched(engines) == [own_bytes(engine.model) for engine in engines]
        assert all(engine.arrived.pause > 0 for engine in engines)
    assert [engine.model.loads for engine in engines] == loads, "vLLM's loader had a part in it"
    assert [[p.data_ptr() for p in engine.model.parameters()] for engine in engines] == places
    assert all(engine._receiver.stage.block is None for engine in engines), "a second copy"


def test_peers_read_what_is_staged_and_what_is_in_the_model(make_ranks, publish_slices, plugin):
    publish_slices(1)
    engines = [make_ranks(2, stage=True) for _ in range(2)]
    for threads, ranks in engines:
        assert update(threads, ranks) == [None] * 2
    for version, before_the_update in ((2, True), (3, False)):
        trainers = publish_slices(version)
        llm = Llm(*engines[0])
        plugin.stage(llm, version)
        ready(plugin, llm)
        if not before_the_update:
            assert update(*engines[0]) == [None] * 2
        for trainer in trainers:
            trainer.unpublish()
        assert update(*engines[1], version=version) == [None] * 2
        assert all(holds(engine.model, version) for engine in engines[1][1])
        assert all("vllm-" in engine.arrived.sources for engine in engines[1][1])
        update(*engines[0])


def test_an_error_while_staging_leaves_the_old_version(
    make_ranks, publish_slices, plugin, monkeypatch
):
    publish_slices(1)
    threads, engines = make_ranks(2, stage=True)
    llm = Llm(threads, engines)
    update(threads, engines)
    publish_slices(2)
    update(threads, engines)
    stages = importlib.import_module("tensorhub.integrations._stage")
    fetch = stages.Fetching._fetch

    def break_off(fetching, client):
        result = fetch(fetching, client)
        if client.rank == 1:
            raise tensorhub.UnavailableError("it broke")
        return result

    publish_slices(3)
    with monkeypatch.context() as patch:
        patch.setattr(stages.Fetching, "_fetch", break_off)
        plugin.stage(llm)
        eventually(lambda: plugin.staged(llm).error)
        assert plugin.staged(llm) == plugin.Staged(3, False, "it broke")
        first, second = update(threads, engines)
    assert isinstance(first, tensorhub.AbortedError), first
    assert isinstance(second, tensorhub.UnavailableError), second
    assert all(holds(engine.model, 2) for engine in engines)
    assert [engine.arrived.version for engine in engines] == [2, 2]
    assert plugin.stage(llm) == 3
    assert update(threads, engines) == [None] * 2
    assert all(holds(engine.model, 3) for engine in engines)


def test_another_version_than_the_staged_one(make_ranks, publish_slices, plugin):
    publish_slices(1)
    threads, engines = make_ranks(2, stage=True)
    llm = Llm(threads, engines)
    update(threads, engines)
    for version in (2, 3, 4):
        publish_slices(version)
    assert plugin.stage(llm, 2) == 2
    assert plugin.stage(llm, 2) == 2
    assert plugin.stage(llm, 3) == 3
    assert update(threads, engines, version=4) == [None] * 2
    assert all(holds(engine.model, 4) for engine in engines)
    assert plugin.staged(llm) is None
    with pytest.raises(tensorhub.NotFoundError):
        plugin.stage(llm, 77)
    assert all(holds(engine.model, 4) for engine in engines)


def test_another_layout_is_staged_whole(make_ranks, publish_slices, connect, plugin):
    publish_slices(1)
    threads, engines = make_ranks(1, stage=True)
    llm = Llm(threads, engines)
    update(threads, engines)
    trainer = connect("with-float64")
    trainer.register({name: value.double() for name, value in weights_of(2).items()})
    trainer.publish(2)
    plugin.stage(llm)
    assert update(threads, engines) == [None]
    assert holds(engines[0].model, 2)
    publish_slices(3)
    plugin.stage(llm)
    assert update(threads, engines) == [None]
    assert holds(engines[0].model, 3)


def test_without_slices_the_whole_version_is_staged(make_ranks, publish_slices, plugin):
    publish_slices(1)
    threads, engines = make_ranks(2, share=True)
    llm = Llm(threads, engines)
    update(threads, engines)
    for version in (2, 3):
        publish_slices(version)
        assert plugin.stage(llm) == version
        ready(plugin, llm)
        assert all(holds(engine.model, version - 1) for engine in engines)
        with pytest.raises(tensorhub.FailedPreconditionError, match="being staged"):
            tensorhub.verify(llm)
        assert update(threads, engines) == [None] * 2
        assert all(holds(engine.model, version) for engine in engines)


def test_an_engine_in_place_has_nothing_to_stage_into(make_ranks, publish_slices, plugin):
    publish_slices(1)
    threads, engines = make_ranks(2, in_place=True)
    update(threads, engines)
    publish_slices(2)
    with pytest.raises(tensorhub.FailedPreconditionError, match="set 'stage' instead"):
        plugin.stage(Llm(threads, engines))
    with pytest.raises(tensorhub.InvalidArgumentError, match="give one of them"):
        importlib.import_module("tensorhub.integrations._settings").Settings.of(
            {"server": "hub:1", "model": "a", "in_place": True, "stage": True}, {}
        )


def test_what_is_copied_is_verified(make_ranks, publish_slices, plugin):
    publish_slices(1)
    threads, engines = make_ranks(2, stage=True)
    llm = Llm(threads, engines)
    update(threads, engines)
    publish_slices(2)
    update(threads, engines)
    receipts = tensorhub.verify(llm)
    assert {one.receipt for one in receipts} == {engines[0].arrived.receipt}
    assert [one.bytes for one in receipts] == [own_bytes(engine.model) for engine in engines]
    with torch.no_grad():
        engines[0].model.o[3, 2] += 1
    with pytest.raises(tensorhub.DataLossError, match="version 2: o differ; somebody wrote into"):
        tensorhub.verify(llm)
    publish_slices(3)
    plugin.stage(llm)
    ready(plugin, llm)
    with pytest.raises(tensorhub.Error, match="verify before a version is staged"):
        tensorhub.verify(llm)


def test_a_fetch_that_is_given_up_before_it_begins_brings_nothing(server, connect):
    stages = importlib.import_module("tensorhub.integrations._stage")
    settings = importlib.import_module("tensorhub.integrations._settings").Settings
    trainer = connect("trainer")
    trainer.register(weights_of(1))
    trainer.publish(1)
    target = stages.Target(settings(server, connect.model))
    target.register(dict(Model(0, 1).named_parameters()))
    go_on = threading.Event()
    fetching = target.begin(1, lambda: go_on.wait(30))
    cancelling = threading.Thread(target=fetching.cancel)
    cancelling.start()
    eventually(fetching._cancelled.is_set)
    go_on.set()
    cancelling.join()
    with pytest.raises(tensorhub.Error):
        fetching.result()
    assert target.client.held() is None
    target.close()
