# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""What the SGLang plug-in promises, with a stand-in for SGLang (fake_sglang.py), a real hub."""

import importlib
import logging
import types

import pytest
import tensorhub

torch = pytest.importorskip("torch", reason="torch is not installed in this environment")

import fake_sglang  # noqa: E402


class Model(torch.nn.Module):
    """One fused parameter, as engines have them, and a plain one."""

    def __init__(self):
        super().__init__()
        self.qk = torch.nn.Parameter(torch.zeros(6, 4), requires_grad=False)
        self.norm = torch.nn.Parameter(torch.zeros(4), requires_grad=False)
        self.breaks = False

    def load_weights(self, weights):
        for name, tensor in weights:
            if self.breaks and not tensor.is_meta:
                raise RuntimeError("the loader breaks")
            if name == "norm":
                self.norm.data.copy_(tensor)
            elif name in ("q", "k"):  # SGLang's models leave out what they do not know
                begin = {"q": 0, "k": 4}[name]
                self.qk.data.narrow(0, begin, tensor.shape[0]).copy_(tensor)


def weights_of(value):
    return {"q": torch.full((4, 4), float(value)), "k": torch.full((2, 4), value + 0.5),
            "norm": torch.full((4,), -float(value))}  # fmt: skip


def holds(model, value):
    theirs = weights_of(value)
    fused = torch.cat([theirs["q"], theirs["k"]])
    return torch.equal(model.qk, fused) and torch.equal(model.norm, theirs["norm"])


@pytest.fixture
def updater(monkeypatch, server, connect):
    """SGLang's class, after it has called the plug-in and applied its hooks."""
    found = fake_sglang.install(monkeypatch)
    monkeypatch.setenv("TENSORHUB_SERVER", server)
    monkeypatch.setenv("TENSORHUB_MODEL", connect.model)
    importlib.import_module("tensorhub.integrations.sglang").register()
    fake_sglang.HookRegistry.apply_hooks()
    yield found
    importlib.import_module("tensorhub.integrations._sglang_ranks").release()


@pytest.fixture
def update(updater):
    """update(model, number): SGLang's answer."""

    def update(model, *number):
        plugin = importlib.import_module("tensorhub.integrations.sglang")
        worker = updater(model, [plugin.LOADER])
        return worker.update_weights_from_tensor(plugin.version(*number), load_format=plugin.LOADER)

    return update


@pytest.fixture
def publish(connect):
    trainers = []

    def publish(version, tensors):
        trainers.append(connect(f"trainer-{len(trainers)}"))
        trainers[-1].register(tensors)
        trainers[-1].publish(version)
        return trainers[-1]

    return publish


def test_an_update_brings_the_version_asked_for(update, publish):
    model = Model()
    place = model.qk.data_ptr()
    publish(1, weights_of(1))
    trainer = publish(2, weights_of(2))
    for number, value in (((), 2), ((1,), 1), ((2,), 2)):
        assert update(model, *number) == (True, "Success")
        assert holds(model, value)
    assert model.qk.data_ptr() == place
    groups = [replica.group for replica in trainer.list()[-1].replicas]
    assert any(group.startswith("sglang-") for group in groups), groups


def test_the_log_has_a_receipt(update, publish, connect, caplog):
    publish(1, weights_of(1))
    with caplog.at_level(logging.INFO, "sglang.tensorhub"):
        update(Model())
    reader = connect("reader")
    reader.register({name: torch.zeros_like(value) for name, value in weights_of(1).items()})
    assert f"receipt {reader.fetch(tensorhub.latest()).identity.hex()}" in caplog.text


def test_what_fails_before_is_an_answer_and_leaves_the_model(update, publish):
    model = Model()
    done, said = update(model)
    assert (done, "TensorHub: " in said) == (False, True)
    publish(1, weights_of(1))
    assert update(model)[0]
    done, said = update(model, 77)
    assert (done, "77" in said) == (False, True)
    others = {f"new.{number:02}": torch.zeros(1) for number in range(12)}
    publish(2, {"q": weights_of(2)["q"], "k": weights_of(2)["k"], **others})
    done, said = update(model)
    assert not done
    assert "nothing published goes to norm" in said
    assert "new.09 and 2 more;" in said
    publish(3, {**weights_of(3), "q": torch.zeros(9, 4)})
    assert not update(model)[0]
    assert holds(model, 1)


@pytest.mark.parametrize("lacking", ["q", "k"])
def test_a_part_of_a_fused_weight_is_not_enough(update, publish, lacking):
    model = Model()
    publish(1, weights_of(1))
    assert update(model)[0]
    publish(2, {name: value for name, value in weights_of(2).items() if name != lacking})
    done, said = update(model)
    assert not done
    assert "version 2 has only a part of what goes to qk" in said
    assert holds(model, 1)


def test_a_loader_that_breaks_says_what_the_model_has(update, publish):
    model = Model()
    publish(1, weights_of(1))
    model.breaks = True
    done, said = update(model)
    assert not done
    assert "the loader breaks; the model has parts of it" in said
    model.breaks = False
    assert update(model)[0]
    assert holds(model, 1)


def test_an_update_with_weights_of_its_own_is_refused(updater):
    plugin = importlib.import_module("tensorhub.integrations.sglang")
    worker = updater(Model(), [plugin.LOADER])
    for given in ([("q", torch.zeros(4, 4))], [], [("tensorhub:x", torch.zeros(0))]):
        done, said = worker.update_weights_from_tensor(given, load_format=plugin.LOADER)
        assert not done
        assert "names no version" in said
    with pytest.raises(NotImplementedError):  # other formats stay SGLang's own affair
        worker.update_weights_from_tensor([], load_format="another")


def test_a_start_takes_the_latest_version_where_that_is_said(updater, publish, monkeypatch):
    loaders = importlib.import_module("sglang.srt.model_loader.loader")
    config = types.SimpleNamespace(load_format="dummy")
    assert loaders.get_model_loader(config) == "SGLang's loader for dummy"
    monkeypatch.setenv("TENSORHUB_START", "1")
    other = types.SimpleNamespace(load_format="auto")
    assert loaders.get_model_loader(other) == "SGLang's loader for auto"
    loader = loaders.get_model_loader(config)
    given = {"model_config": types.SimpleNamespace(make=Model), "device_config": None}
    with pytest.raises(tensorhub.NotFoundError):
        loader.load_model(**given)
    publish(4, weights_of(4))
    assert holds(loader.load_model(**given), 4)


def verified(model):
    checker = importlib.import_module("sglang.srt.utils.weight_checker").WeightChecker
    return tensorhub.verify(fake_sglang.Engine(model, checker))


def test_verify_compares_by_sglangs_own_checksums(update, publish):
    model = Model()
    with pytest.raises(tensorhub.FailedPreconditionError, match="no update has brought"):
        verified(model)
    trainer = publish(1, weights_of(1))
    update(model)
    (receipt,) = verified(model)
    assert (receipt.version, receipt.tensors, receipt.bytes) == (1, 2, 112)
    assert (receipt.receipt, receipt.unchecked) == (tensorhub.verify(trainer).receipt, ())
    with torch.no_grad():
        model.qk[5, 3] += 1
    with pytest.raises(tensorhub.DataLossError, match="version 1: qk differ"):
        verified(model)
    assert not update(model, 77)[0]
    with pytest.raises(tensorhub.DataLossError, match="version 1: qk differ"):
        verified(model)  # what failed early has left what there is to compare with
    assert update(model)[0]
    assert verified(model) == [receipt]
    model.breaks = True
    assert not update(model)[0]
    with pytest.raises(tensorhub.FailedPreconditionError, match="the last one failed"):
        verified(model)


def test_verify_says_what_sglang_keeps_in_another_form(update, publish):
    model = Model()
    publish(1, weights_of(1))
    update(model)
    model.qk.data = model.qk.data.t().contiguous().t()
    (receipt,) = verified(model)
    assert (receipt.tensors, receipt.bytes, receipt.unchecked) == (1, 16, ("k", "q"))
    model.quant_method = type("Fp8LinearMethod", (), {})()
    assert verified(model)[0].unchecked == ("k", "norm", "q")


def test_the_weight_checker_keeps_its_own_actions(updater):
    checker = importlib.import_module("sglang.srt.utils.weight_checker").WeightChecker
    made = checker(get_model=Model)
    assert made.handle("checksum", role="target")["checksums"].keys() == {"qk", "norm"}
    with pytest.raises(Exception, match="Unsupported action='another'"):
        made.handle("another", role="target")


def test_an_untried_version_is_warned_of_once(update, publish, monkeypatch, caplog):
    publish(1, weights_of(1))
    monkeypatch.setattr(importlib.import_module("sglang"), "__version__", "9.9.9")
    with caplog.at_level(logging.WARNING, "sglang.tensorhub"):
        update(Model())
        update(Model())
    assert caplog.text.count("not tried with SGLang 9.9.9") == 1
