# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""The vLLM plug-in with a trainer whose ranks publish slices, and an engine of one or two ranks.

vLLM is a stand-in (fake_vllm.py), and the ranks of an engine are threads. The hub is real.
"""

import importlib
import logging
import types

import pytest
import tensorhub

torch = pytest.importorskip("torch", reason="torch is not installed in this environment")

from fake_ranks import (  # noqa: E402
    HIDDEN,
    Model,
    OneStage,
    Q,
    fetched,
    holds,
    own_bytes,
    sliced,
    update,
    weights_of,
)


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("axis", [0, 1], ids=["rows", "columns"])
def test_slices_of_two_trainer_ranks_arrive_in_place(make_ranks, publish_slices, ranks, axis):
    publish_slices(1, axis=axis)
    threads, engines = make_ranks(ranks)
    assert update(threads, engines) == [None] * ranks
    places = [[p.data_ptr() for p in engine.model.parameters()] for engine in engines]
    loads = [engine.model.loads for engine in engines]
    for version in (2, 3):
        publish_slices(version, axis=axis)
        assert update(threads, engines) == [None] * ranks
        assert [holds(engine.model, version) for engine in engines] == [True] * ranks
        assert fetched(engines) == [own_bytes(engine.model) for engine in engines]
        assert len({engine.arrived.receipt for engine in engines}) == 1
    assert [engine.model.loads for engine in engines] == loads, "vLLM's loader had a part in it"
    assert [[p.data_ptr() for p in engine.model.parameters()] for engine in engines] == places


def test_whole_tensors_arrive_in_place_on_two_ranks(make_ranks, connect):
    threads, engines = make_ranks(2)
    for version in (1, 2):
        trainer = connect(f"trainer-{version}")
        trainer.register(weights_of(version))
        trainer.publish(version)
        assert update(threads, engines) == [None] * 2
    assert fetched(engines) == [own_bytes(engine.model) for engine in engines]
    assert all(holds(engine.model, 2) for engine in engines)


def test_a_second_engine_of_the_same_cut_reads_from_the_first(make_ranks, publish_slices):
    publish_slices(1)
    engines = [make_ranks(2) for _ in range(2)]
    for threads, ranks in engines:
        assert update(threads, ranks) == [None] * 2
    trainers = publish_slices(2)
    assert update(*engines[0]) == [None] * 2
    for trainer in trainers:
        trainer.unpublish()
    assert update(*engines[1], version=2) == [None] * 2
    assert all(holds(engine.model, 2) for engine in engines[1][1])
    assert all("vllm-" in engine.arrived.sources for engine in engines[1][1])


def test_stages_fetch_their_own_layers(make_ranks, publish_slices):
    threads, engines = make_ranks(2, [OneStage(rank) for rank in range(2)])
    for version in (1, 2):
        publish_slices(version)
        assert update(threads, engines) == [None] * 2
    wanted = Model(0, 1)
    wanted.load_weights(weights_of(2).items())
    for engine in engines:
        for name, value in engine.model.named_parameters():
            assert torch.equal(value, getattr(wanted, name)), name
    assert sum(fetched(engines)) == own_bytes(wanted)


def test_no_rank_goes_in_place_if_one_cannot(make_ranks, publish_slices, caplog):
    models = [Model(rank, 2) for rank in range(2)]
    models[1].quant_method = types.SimpleNamespace()
    publish_slices(1)
    with caplog.at_level(logging.WARNING, "vllm.tensorhub"):
        threads, engines = make_ranks(2, models)
        assert update(threads, engines) == [None] * 2
    assert "rank 1:  is loaded by SimpleNamespace, which may repack it" in caplog.text
    assert [engine._slices for engine in engines] == [None, None]
    publish_slices(2)
    assert update(threads, engines) == [None] * 2
    assert all(holds(engine.model, 2) for engine in engines)


def test_pieces_that_leave_a_gap_touch_no_model(make_ranks, publish_slices, connect):
    publish_slices(1)
    threads, engines = make_ranks(2)
    update(threads, engines)
    publish_slices(2)
    update(threads, engines)
    for rank in range(2):
        client = connect("gap", rank=rank, world_size=2)
        pieces = {name: sliced(whole, rank, 0) for name, whole in weights_of(3).items()}
        if rank == 1:
            pieces["o"] = tensorhub.sliced(torch.zeros(1, Q), (HIDDEN, Q), (5, 0))
        client.register(pieces)
        client.publish(3)
    failed = update(threads, engines)
    assert all(isinstance(one, tensorhub.FailedPreconditionError) for one in failed), failed
    assert all('"o" is held by nobody in' in str(one) for one in failed), failed
    assert all(holds(engine.model, 2) for engine in engines)
    assert [engine.arrived.version for engine in engines] == [2, 2]
    publish_slices(4)
    assert update(threads, engines) == [None] * 2
    assert all(holds(engine.model, 4) for engine in engines)


def test_pieces_without_a_place_are_refused_with_the_remedy(make_ranks, connect):
    for rank in range(2):
        client = connect("trainer", rank=rank, world_size=2)
        client.register({"q": torch.zeros(4, HIDDEN)})
        client.publish(1)
    threads, engines = make_ranks(1)
    (failed,) = update(threads, engines)
    assert isinstance(failed, tensorhub.FailedPreconditionError), failed
    assert "rank 0 of 2 published tensor 'q' without its place in the whole" in str(failed)
    assert "register_module" in str(failed)


def test_pieces_that_disagree_are_refused(make_ranks, connect):
    for rank, whole in enumerate(((8, HIDDEN), (9, HIDDEN))):
        client = connect("trainer", rank=rank, world_size=2)
        client.register({"q": tensorhub.sliced(torch.zeros(4, HIDDEN), whole, (rank * 4, 0))})
        client.publish(1)
    threads, engines = make_ranks(1)
    (failed,) = update(threads, engines)
    assert "'q' is a piece of F32[9, 6] on rank 1, and of F32[8, 6] on another" in str(failed)


def test_ranks_in_place_are_verified_against_the_trainer(make_ranks, publish_slices):
    publish_slices(1)
    threads, engines = make_ranks(2)
    update(threads, engines)
    trainers = publish_slices(2)
    update(threads, engines)

    def verify(rank):
        return engines[rank].verify(60.0)

    found = threads.run(verify)
    assert [one.version for one in found] == [2, 2]
    assert {one.receipt for one in found} == {engines[0].arrived.receipt}
    assert [one.bytes for one in found] == [own_bytes(engine.model) for engine in engines]
    with torch.no_grad():
        engines[1].model.o[3, 2] += 1
    for trainer in trainers:
        trainer.unpublish()
    first, second = threads.run(verify)
    assert isinstance(second, tensorhub.DataLossError), second
    assert isinstance(first, tensorhub.Error), first


def test_what_fails_on_one_rank_fails_on_all_and_the_next_update_mends_it(
    make_ranks, publish_slices, monkeypatch
):
    publish_slices(1)
    threads, engines = make_ranks(2)
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
        first, second = update(threads, engines)
    assert isinstance(first, tensorhub.AbortedError), first
    assert isinstance(second, tensorhub.UnavailableError), second
    for failed in (first, second):
        assert "version 3 did not arrive whole" in str(failed)
        assert "update again before it serves" in str(failed)
    assert [engine.arrived for engine in engines] == [None, None]
    publish_slices(4)
    assert update(threads, engines) == [None] * 2
    assert all(holds(engine.model, 4) for engine in engines)


@pytest.mark.parametrize("way", ["in_place", "stage"])
def test_a_rank_that_does_not_join_the_fetch_ends_it_for_the_others(
    make_ranks, publish_slices, monkeypatch, way
):
    publish_slices(1)
    threads, engines = make_ranks(2, **{way: True, "timeout": 3600.0})
    update(threads, engines)
    publish_slices(2)
    update(threads, engines)
    stages = importlib.import_module("tensorhub.integrations._stage")
    fetch = stages.Fetching._fetch

    def fail(fetching, client):
        if client.rank == 1:
            raise tensorhub.ResourceExhaustedError("no memory for it")
        return fetch(fetching, client)  # waits for rank 1, for an hour

    publish_slices(3)
    with monkeypatch.context() as patch:
        patch.setattr(stages.Fetching, "_fetch", fail)
        first, second = update(threads, engines)
    assert isinstance(first, tensorhub.AbortedError), first
    assert "rank 1 of this engine could not fetch: no memory for it" in str(first)
    assert isinstance(second, tensorhub.ResourceExhaustedError), second
    assert all(holds(engine.model, 2) for engine in engines)
    assert [engine.arrived.version for engine in engines] == [2, 2]
    assert update(threads, engines) == [None] * 2
    assert all(holds(engine.model, 3) for engine in engines)
