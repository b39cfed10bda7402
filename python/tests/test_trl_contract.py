# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""What the object for TRL's trainer promises, with a real hub: with TRL, or its recorded interface.

TRL 1.16.0 calls, on the first rank: init_weight_transfer once, then pause, send_weights(iterator of
names and whole tensors) and resume for each sync, and destroy at the end.
"""

import importlib.util
import inspect
import logging
import sys
import types

import pytest
import tensorhub

torch = pytest.importorskip("torch", reason="torch is not installed in this environment")

CALLS = {
    "init_weight_transfer": [], "pause": [], "send_weights": ["iterator"], "resume": [],
    "destroy": [],
}  # fmt: skip


def weights_of(value):
    return {"a": torch.full((4, 3), float(value)), "b": torch.full((5,), -float(value))}


@pytest.fixture
def plugin(monkeypatch):
    if importlib.util.find_spec("trl") is None:
        package = types.ModuleType("trl")
        package.__version__ = "1.16.0"
        monkeypatch.setitem(sys.modules, "trl", package)
    return importlib.import_module("tensorhub.integrations.trl")


@pytest.fixture
def calls():
    return []


@pytest.fixture
def transfer(plugin, server, connect, calls):
    """One whose engine fetches what it is told of, and notes its first tensor."""
    engine = connect("engine")
    held = {name: torch.zeros_like(tensor) for name, tensor in weights_of(0).items()}
    engine.register(held)

    def update(number):
        engine.fetch(tensorhub.version(number))
        calls.append((number, float(held["a"][0, 0]), float(held["b"][0])))

    made = plugin.WeightTransfer(
        server=server, model=connect.model, update=update, pause=lambda: calls.append("pause"),
        resume=lambda: calls.append("resume"),
    )  # fmt: skip
    yield made
    made.destroy()


def sync(transfer, weights):
    transfer.pause()
    transfer.send_weights(iter(weights.items()))
    transfer.resume()


def test_it_has_the_methods_that_trl_calls(plugin):
    for name, arguments in CALLS.items():
        signature = inspect.signature(getattr(plugin.WeightTransfer, name))
        assert list(signature.parameters) == ["self", *arguments]


@pytest.mark.skipif(importlib.util.find_spec("trl") is None, reason="TRL is not installed here")
def test_trl_calls_no_others():
    trainer = importlib.import_module("trl.experimental.async_grpo.async_grpo_trainer")
    found = {
        name: list(inspect.signature(value).parameters)[1:]
        for name, value in vars(trainer.WeightTransferProtocol).items()
        if inspect.isfunction(value) and not name.startswith("_")
    }
    assert found == CALLS
    assert "weight_transfer" in inspect.signature(trainer.AsyncGRPOTrainer.__init__).parameters


def test_each_sync_is_a_version_that_the_engine_has_taken(transfer, calls):
    transfer.init_weight_transfer()
    for value in (1, 2):
        sync(transfer, weights_of(value))
    assert calls == ["pause", (0, 1.0, -1.0), "resume", "pause", (1, 2.0, -2.0), "resume"]
    assert transfer.version == 1


def test_what_fails_uses_the_iterator_up_and_can_be_mended(transfer, calls):
    iterator = iter(weights_of(1).items())
    with pytest.raises(tensorhub.FailedPreconditionError, match="init_weight_transfer first"):
        transfer.send_weights(iterator)
    assert next(iterator, None) is None
    transfer.init_weight_transfer()
    sync(transfer, weights_of(1))
    iterator = iter({"c": torch.zeros(2), **weights_of(2)}.items())
    with pytest.raises(tensorhub.InvalidArgumentError, match="another shape c; missing none"):
        transfer.send_weights(iterator)
    assert next(iterator, None) is None
    assert transfer.version == 0
    sync(transfer, weights_of(3))
    assert calls[-2] == (1, 3.0, -3.0)


def test_a_cast_leaves_what_a_copy_of_fewer_bits_would_spoil(plugin, server, connect):
    bias = "model.layers.0.mlp.gate.e_score_correction_bias"
    weights = {"w": torch.full((2,), 1 / 3), bias: torch.full((2,), 1 / 3),
               "lm_head.weight": torch.full((2,), 1 / 3),
               "packed": torch.ones(2).to(torch.float8_e4m3fn)}  # fmt: skip
    made = plugin.WeightTransfer(server=server, model=connect.model, update=lambda number: None,
                                 dtype="bfloat16", keep="lm_head.*")  # fmt: skip
    made.init_weight_transfer()
    made.send_weights(iter(weights.items()))
    state = tensorhub.torch.load_state(connect("reader"))
    made.destroy()
    assert state["w"].dtype == torch.bfloat16
    for name in (bias, "lm_head.weight", "packed"):
        assert state[name].dtype == weights[name].dtype, name
        assert torch.equal(state[name].float(), weights[name].float()), name


def test_what_has_no_values_is_named(transfer, calls):
    transfer.init_weight_transfer()
    bad = {**weights_of(1), "b": torch.ones(5, device="meta")}
    with pytest.raises(tensorhub.InvalidArgumentError, match="'b' is on the meta device"):
        transfer.send_weights(iter(bad.items()))
    sync(transfer, weights_of(2))
    assert calls[-2] == (0, 2.0, -2.0)


def test_an_untried_version_is_warned_of(transfer, monkeypatch, caplog):
    import trl

    monkeypatch.setattr(trl, "__version__", "9.9.9")
    with caplog.at_level(logging.WARNING, "trl.tensorhub"):
        transfer.init_weight_transfer()
    assert "not tried with TRL 9.9.9" in caplog.text


def test_without_a_driver_a_sync_waits_for_engines_that_follow(plugin, server, connect):
    made = plugin.WeightTransfer(server=server, model=connect.model, timeout=0.2)
    made.init_weight_transfer()
    with pytest.raises(tensorhub.DeadlineExceededError, match="no engine follows the model"):
        made.send_weights(iter(weights_of(1).items()))
    assert made.version == 0
    engine = connect("vllm-here-1-in-model", spot=True)
    engine.register({"b": torch.zeros(5)})
    engine.fetch(tensorhub.version(0), partial=True)
    made._publisher.wait_taken(0, share=1.0, timeout=20)
    made.destroy()
