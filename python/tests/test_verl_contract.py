# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""What the verl plug-in promises, with a real hub: with verl, or with a stand-in for it."""

import asyncio
import importlib
import importlib.util
import logging

import pytest
import tensorhub

torch = pytest.importorskip("torch", reason="torch is not installed in this environment")

import fake_verl  # noqa: E402

REAL = importlib.util.find_spec("verl") is not None


def weights_of(value):
    return {"a": torch.full((4, 3), float(value)), "b": torch.full((5,), -float(value)),
            "none": torch.zeros(0, 2)}  # fmt: skip


def same(found, expected):
    return found.keys() == expected.keys() and all(
        torch.equal(found[name], expected[name]) for name in expected
    )


@pytest.fixture
def registry(monkeypatch):
    """The registry, after what verl does with ``custom_backend_module``."""
    if not REAL:
        fake_verl.install(monkeypatch)
    importlib.import_module("tensorhub.integrations.verl")
    return importlib.import_module("verl.checkpoint_engine.base").CheckpointEngineRegistry


@pytest.fixture
def make(registry, server, connect):
    made = []

    def make(**given):
        given = {"server": server, "model": connect.model, "timeout": 20.0, **given}
        made.append(registry.new("tensorhub", bucket_size=1 << 20, **given))
        return made[-1]

    yield make
    for engine in reversed(made):
        engine.close()


async def receive(engine, step):
    return {name: tensor.clone() async for name, tensor in engine.receive_weights(step)}


def sync(actors, rollouts, weights, step):
    """As verl's manager does it; what each rollout received."""
    everybody = [*actors, *rollouts]
    metadata = [engine.prepare() for engine in everybody]
    told, also = actors[0].build_topology(len(actors), len(rollouts), metadata)
    for key in told:
        assert len(told[key]) == len(actors)
        assert len(also[key]) == len(rollouts)
    for index, engine in enumerate(actors):
        engine.init_process_group(**{key: values[index] for key, values in told.items()})
    for index, engine in enumerate(rollouts):
        engine.init_process_group(**{key: values[index] for key, values in also.items()})

    async def both():
        received = [asyncio.create_task(receive(engine, step)) for engine in rollouts]
        sent = [await one.send_weights(iter(weights.items()), step) for one in actors]
        return sent[0], await asyncio.gather(*received)

    metrics, received = asyncio.run(both())
    for engine in everybody:
        engine.finalize()
    return metrics, received


def test_every_rollout_has_what_the_first_rank_gave(make):
    actors, rollouts = [make(is_master=True), make(is_master=False)], [make(), make()]
    for step in (1, 2, 5):
        metrics, received = sync(actors, rollouts, weights_of(step), step)
        assert metrics["tensorhub/version"] == step
        assert all(same(one, weights_of(step)) for one in received)
    receipts = {engine.arrived.receipt for engine in rollouts}
    assert len(receipts) == 1
    assert receipts != {""}


def test_a_rollout_may_join_between_two_syncs(make):
    actor, first = make(is_master=True), make()
    sync([actor], [first], weights_of(1), 1)
    _, received = sync([actor], [first, make()], weights_of(2), 2)
    assert all(same(one, weights_of(2)) for one in received)


def test_a_trainer_that_goes_back_brings_its_own_weights(make):
    sync([make(is_master=True)], [make()], weights_of(7), 7)
    metrics, received = sync([make(is_master=True, group="again")], [make()], weights_of(3), 3)
    assert metrics["tensorhub/version"] == 8
    assert same(received[0], weights_of(3))


def test_steps_need_not_be_told(make):
    actor, rollout = make(is_master=True), make()
    for value in (1, 2):
        metrics, received = sync([actor], [rollout], weights_of(value), None)
        assert metrics["tensorhub/version"] == value - 1
        assert same(received[0], weights_of(value))


def test_floating_point_is_cast_where_that_is_said(make):
    actor, rollout = make(is_master=True, dtype="bfloat16"), make()
    weights = {**weights_of(1), "whole": torch.arange(3), "packed_scale": torch.tensor([1 / 3]),
               "packed": torch.ones(3).to(torch.float8_e4m3fn),
               "mlp.gate.e_score_correction_bias": torch.tensor([1 / 3])}  # fmt: skip
    _, received = sync([actor], [rollout], weights, 1)
    assert received[0]["a"].dtype == torch.bfloat16
    for name in list(weights)[3:]:
        assert received[0][name].dtype == weights[name].dtype, name
        assert torch.equal(received[0][name].float(), weights[name].float()), name
    with pytest.raises(tensorhub.InvalidArgumentError, match="dtype is 'bf61'"):
        make(dtype="bf61")


def test_names_that_do_not_meet_are_listed_and_all_ranks_get_through(make):
    actor, rollout = make(is_master=True), make()
    sync([actor], [rollout], weights_of(1), 1)
    steps = []

    def other():
        for name in ["a", *(f"new_{number:02}" for number in range(12))]:
            steps.append(name)
            yield name, torch.zeros(4, 3)

    actor.init_process_group(newest=1)
    with pytest.raises(tensorhub.InvalidArgumentError) as caught:
        asyncio.run(actor.send_weights(other(), 2))
    assert "new_09 and 2 more; missing b, none;" in str(caught.value)
    assert len(steps) == 13
    _, received = sync([actor], [rollout], weights_of(3), 3)
    assert same(received[0], weights_of(3))


def test_a_hub_out_of_reach_leaves_no_rank_in_a_gather(make):
    actor = make(is_master=True, server="127.0.0.1:1")
    weights = iter(weights_of(1).items())
    with pytest.raises(tensorhub.UnavailableError):
        asyncio.run(actor.send_weights(weights, 1))
    assert next(weights, None) is None


def test_a_sync_while_one_runs_is_refused(make):
    actor, rollout = make(is_master=True), make()
    sync([actor], [rollout], weights_of(1), 1)

    async def two():
        running = rollout.receive_weights(1)
        await anext(running)
        with pytest.raises(tensorhub.FailedPreconditionError, match="runs already"):
            await receive(rollout, 1)
        await running.aclose()
        return await receive(rollout, 1)

    rollout.init_process_group(newest=0)
    assert same(asyncio.run(two()), weights_of(1))


def test_a_rollout_waits_for_a_bounded_time(make):
    rollout = make(timeout=0.2)
    rollout.init_process_group(newest=3)
    with pytest.raises(tensorhub.DeadlineExceededError):
        asyncio.run(receive(rollout, 4))


def test_settings_are_checked(make, registry):
    with pytest.raises(tensorhub.InvalidArgumentError, match="no model is given"):
        make(model=None)
    with pytest.raises(tensorhub.InvalidArgumentError, match="'modle' is no setting"):
        make(modle="x")


def test_an_untried_version_is_warned_of(make, monkeypatch, caplog):
    import verl

    monkeypatch.setattr(verl, "__version__", "9.9.9")
    with caplog.at_level(logging.WARNING, "verl.tensorhub"):
        make()
    assert "not tried with verl 9.9.9" in caplog.text


def test_verify_compares_what_a_rollout_rank_was_given(make):
    actor, rollout = make(is_master=True), make()
    with pytest.raises(tensorhub.FailedPreconditionError, match="no sync has brought this rank"):
        tensorhub.verify(rollout)
    sync([actor], [rollout], weights_of(1), 1)
    found = tensorhub.verify(rollout)
    assert (found.version, found.receipt) == (1, rollout.arrived.receipt)
    rollout._stage.tensors["b"][2] += 1
    with pytest.raises(tensorhub.DataLossError, match="version 1: b differ"):
        rollout.verify()
