# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""LoRA adapters: how they are published, and how the vLLM plug-in loads them (a stand-in)."""

import importlib
import sys
import types

import pytest
import tensorhub

torch = pytest.importorskip("torch", reason="torch is not installed in this environment")

import fake_vllm  # noqa: E402
from tensorhub.torch import AdapterPublisher, load_state  # noqa: E402

CONFIG = {"r": 2, "lora_alpha": 4, "target_modules": {"v_proj", "q_proj"}}
NAMES = {f"layers.0.q_proj.lora_{letter}.weight" for letter in "AB"}


def adapted(value, adapter="default"):
    """A layer with matrices where PEFT puts them."""
    linear = torch.nn.Linear(6, 6)
    for name, size in {"lora_A": (6, 2), "lora_B": (2, 6)}.items():
        matrix = torch.nn.Linear(*size, bias=False)
        torch.nn.init.constant_(matrix.weight, value)
        linear.add_module(name, torch.nn.ModuleDict({adapter: matrix}))
    layer = torch.nn.Module()
    layer.q_proj = linear
    module = torch.nn.Module()
    module.layers = torch.nn.ModuleList([layer])
    return module


@pytest.fixture
def publish(server, connect):
    """publish(version, base, value): of one adapter; its model at the hub."""
    model = f"{connect.model}/math"
    module = adapted(0)
    publisher = AdapterPublisher(module, CONFIG, server, model)

    def publish(version, base, value):
        with torch.no_grad():
            for parameter in module.parameters():
                parameter.fill_(value)
        publisher.publish(version, base)
        return model

    yield publish
    publisher.close()


@pytest.fixture
def worker(monkeypatch, server, connect):
    """A vLLM of one worker whose model has version 1, and its adapters."""
    fake_vllm.install(monkeypatch, "0.32.0")
    monkeypatch.setenv("TENSORHUB_SERVER", server)
    monkeypatch.setenv("TENSORHUB_MODEL", connect.model)
    importlib.import_module("tensorhub.integrations.vllm").register()
    ranks = importlib.import_module("tensorhub.integrations._vllm_ranks")
    ranks.note_started(types.SimpleNamespace(version=1))
    managers = sys.modules["vllm.lora.worker_manager"]
    adapters = managers.WorkerLoRAManager({"q_proj", "v_proj"})
    return fake_vllm.LLM(fake_vllm.WorkerBase(None), adapters=adapters), adapters


def load(worker, *given):
    return importlib.import_module("tensorhub.integrations.vllm").adapter(worker[0], *given)


def test_an_adapter_is_published_without_what_it_adapts(publish, server, connect):
    model = publish(1, 7, 0.5)
    with tensorhub.connect(server, model, "reader") as reader:
        state = load_state(reader)
        said = state.pop("tensorhub_adapter")
        assert state.keys() == NAMES
        assert all(torch.equal(one, torch.full_like(one, 0.5)) for one in state.values())
        publish(2, 12345678, 0.25)  # a longer number fits as well
        reader.fetch(tensorhub.version(2))
        assert b'"base": 12345678' in bytes(said.numpy())
        assert b'"target_modules": ["q_proj", "v_proj"]' in bytes(said.numpy())


def test_one_adapter_of_several_is_chosen_by_its_name(server, connect):
    module = adapted(1, "mine")
    with pytest.raises(tensorhub.InvalidArgumentError, match="no LoRA matrices of an adapter 'de"):
        AdapterPublisher(module, CONFIG, server, connect.model)
    config = types.SimpleNamespace(to_dict=lambda: {**CONFIG, "modules_to_save": ["lm_head"]})
    with pytest.raises(tensorhub.InvalidArgumentError, match="publish these modules with the mode"):
        AdapterPublisher(module, config, server, connect.model, adapter="mine")
    with AdapterPublisher(module, CONFIG, server, connect.model, adapter="mine") as publisher:
        publisher.publish(1, None)
        assert load_state(connect("reader")).keys() > NAMES


def test_a_vllm_loads_it_from_memory(worker, publish):
    model = publish(1, 1, 0.5)
    requests = [load(worker, model)]
    publish(2, None, 0.75)
    requests.append(load(worker, model))
    assert [one.lora_path for one in requests] == [f"tensorhub:{model}@{n}" for n in (1, 2)]
    for request, value in zip(requests, (0.5, 0.75), strict=True):
        found = worker[1].adapters[request.lora_int_id]
        assert found.tensors.keys() == NAMES
        assert all(torch.equal(one, torch.full_like(one, value)) for one in found.tensors.values())
        assert (found.helper.r, found.helper.vllm_max_position_embeddings) == (2, 128)


def test_an_adapter_of_another_version_is_refused(worker, publish):
    model = publish(1, 2, 0.5)
    with pytest.raises(tensorhub.FailedPreconditionError, match="has version 1; update it to vers"):
        load(worker, model, 1)
    assert worker[1].adapters == {}
    importlib.import_module("tensorhub.integrations._vllm_ranks").take_started()
    with pytest.raises(tensorhub.FailedPreconditionError, match="has weights that are not from Te"):
        load(worker, model, 1)


def test_a_loaded_adapter_refuses_another_version_of_its_model(worker, publish):
    adapters = importlib.import_module("tensorhub.integrations._vllm_lora")
    request = load(worker, publish(1, 1, 0.5))
    load(worker, publish(2, None, 0.5))
    adapters.refuse_bound(1)
    with pytest.raises(tensorhub.FailedPreconditionError, match=r"version 2 is not what .*@1 were"):
        adapters.refuse_bound(2)
    del worker[1].adapters[request.lora_int_id]
    adapters.refuse_bound(2)


def test_what_is_no_adapter_of_this_model_is_refused(worker, publish, connect):
    model = publish(1, 1, 0.5)
    worker[1]._expected = {"down_proj"}
    with pytest.raises(tensorhub.InvalidArgumentError, match=r"layers\.0\.q_proj\.lora_A\.weight"):
        load(worker, model)
    trainer = connect("trainer")
    trainer.register({"w": torch.zeros(3)})
    trainer.publish(1)
    with pytest.raises(tensorhub.InvalidArgumentError, match="is no adapter; publish it by"):
        load(worker, connect.model)
    with pytest.raises(tensorhub.NotFoundError):
        load(worker, f"{model}-nowhere")
    with pytest.raises(tensorhub.InvalidArgumentError, match="give tensorhub:MODEL@VERSION"):
        worker[1].add_adapter(fake_vllm.LoRARequest("a", 1, "tensorhub:math"))


def test_paths_of_files_stay_vllms_own(worker):
    with pytest.raises(FileNotFoundError, match="/somewhere"):
        worker[1].add_adapter(fake_vllm.LoRARequest("a", 1, "/somewhere"))
