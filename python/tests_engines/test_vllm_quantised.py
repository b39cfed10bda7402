# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""A quantised vLLM: a start takes what its checkpoint has, and nothing that is not quantised."""

import json
import shutil

import pytest
import safetensors.torch
import tensorhub
import torch
from engines import SEEDS, engine_of, join, llama, receiving, tokens

# As compressed-tensors writes it: whole numbers of a byte, and a scale for each row.
SCHEME = {
    "quant_method": "compressed-tensors", "format": "int-quantized",
    "quantization_status": "compressed", "ignore": ["lm_head"],
    "config_groups": {"all": {
        "targets": ["Linear"],
        "weights": {"num_bits": 8, "type": "int", "symmetric": True, "strategy": "channel"},
        "input_activations": {"num_bits": 8, "type": "int", "symmetric": True,
                              "strategy": "token", "dynamic": True},
    }},
}  # fmt: skip


def quantised(seed, folder):
    """A checkpoint in the folder, and its tensors."""
    module = llama(seed)
    module.config.quantization_config = SCHEME
    found = module.state_dict()
    for name in [name for name in found if "_proj." in name]:
        value = found[name].float()
        scale = value.abs().amax(1, keepdim=True) / 127
        found[name] = (value / scale).round().to(torch.int8)
        found[name.replace("weight", "weight_scale")] = scale
    folder.mkdir()
    config = {**json.loads(module.config.to_json_string(use_diff=False)),
              "architectures": ["LlamaForCausalLM"]}  # fmt: skip
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    safetensors.torch.save_file(found, folder / "model.safetensors", {"format": "pt"})
    return found


@pytest.fixture
def publish(server, model_name):
    clients = []

    def publish(version, tensors):
        clients.append(tensorhub.connect(server, model_name, f"trainer-{version}"))
        clients[-1].register(tensors)
        clients[-1].publish(version)

    yield publish
    for client in clients:
        client.leave(drain_timeout=0)


def test_a_start_takes_its_own_form_alone(publish, server, model_name, monkeypatch, tmp_path):
    found = quantised(SEEDS[0], tmp_path / "whole")
    bare = tmp_path / "bare"
    bare.mkdir()
    shutil.copy(tmp_path / "whole/config.json", bare)
    fresh = tokens(engine_of(tmp_path / "whole"))
    monkeypatch.setenv("TENSORHUB_SERVER", server)
    monkeypatch.setenv("TENSORHUB_MODEL", model_name)
    publish(1, found)
    engine = receiving(bare, load_format="tensorhub")
    assert tokens(engine) == fresh
    with pytest.raises(tensorhub.FailedPreconditionError, match="qkv_proj is quantised"):
        join(engine, server, model_name)
    assert tokens(engine) == fresh
    publish(2, llama(SEEDS[0]).state_dict())
    with pytest.raises(tensorhub.FailedPreconditionError, match="bfloat16, and this engine has"):
        receiving(bare, load_format="tensorhub")
