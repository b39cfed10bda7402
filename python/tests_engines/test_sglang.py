# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""A real SGLang on a CPU: a start from peers, updates, updates that fail, and verify.

SGLang wants another transformers than vLLM, so it is in an environment of its own.
"""

import importlib.util

import engines
import pytest
import tensorhub
import torch
from tensorhub.integrations.sglang import LOADER, version

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("sglang") is None,
    reason="SGLang is not installed in this environment",
)

COUNT = 8


def expected(module):
    """What transformers generates of each prompt, greedily."""
    found = []
    with torch.no_grad():
        for prompt in engines.PROMPTS:
            given = torch.tensor([prompt])
            tokens = module.generate(given, max_new_tokens=COUNT, min_new_tokens=COUNT,
                                     do_sample=False, pad_token_id=0)  # fmt: skip
            found.append(tokens[0, len(prompt) :].tolist())
    return found


def generated(engine):
    sampling = {"temperature": 0, "max_new_tokens": COUNT, "ignore_eos": True}
    outputs = engine.generate(input_ids=engines.PROMPTS, sampling_params=sampling)
    return [one["output_ids"] for one in outputs]


def update(engine, *number):
    engine.begin_weight_update()
    answer = engine.update_weights_from_tensor(version(*number), load_format=LOADER)
    engine.end_weight_update()
    return answer


def verified_and_corrupted(engine, module):
    """A receipt, and what is said to differ when SGLang's own update has changed two tensors."""
    (receipt,) = tensorhub.verify(engine)
    engine.begin_weight_update()
    names = ("model.norm.weight", "model.layers.1.self_attn.k_proj.weight")
    given = [(name, module.get_parameter(name).detach() + 1) for name in names]
    assert engine.update_weights_from_tensor(given)[0]
    engine.end_weight_update()
    with pytest.raises(tensorhub.DataLossError) as raised:
        tensorhub.verify(engine)
    said = str(raised.value)
    return receipt, said[said.index("version 2: ") + 11 : said.index(" differ")]


@pytest.fixture(scope="session")
def modules():
    """In float32, since in bfloat16 two engines round differently, and tokens part by that."""
    return [engines.llama(seed).float() for seed in engines.SEEDS]


@pytest.fixture
def engine(server, model_name, monkeypatch, tmp_path, modules, publish):
    """Of a folder without weights, which starts when version 1 is published."""
    import sglang

    monkeypatch.setenv("TENSORHUB_SERVER", server)
    monkeypatch.setenv("TENSORHUB_MODEL", model_name)
    monkeypatch.setenv("TENSORHUB_START", "1")
    modules[0].config.dtype = torch.float32
    modules[0].config.architectures = ["LlamaForCausalLM"]
    modules[0].config.save_pretrained(tmp_path)
    publish(modules[0], 1)
    running = sglang.Engine(
        model_path=str(tmp_path), skip_tokenizer_init=True, load_format="dummy", device="cpu",
        dtype="float32", attention_backend="torch_native", disable_cuda_graph=True,
        disable_overlap_schedule=True, max_total_tokens=4096, custom_weight_loader=[LOADER],
    )  # fmt: skip
    yield running
    running.shutdown()


def test_it_starts_from_peers_follows_and_outlives_what_fails(
    engine, modules, publish, fsdp, server, model_name
):
    first, second = (expected(module) for module in modules)
    assert first != second
    assert generated(engine) == first
    assert [one.unchecked for one in tensorhub.verify(engine)] == [()]  # of a start as well
    publish(modules[1], 2)
    assert update(engine)[0]
    assert generated(engine) == second
    receipt, names = verified_and_corrupted(engine, modules[1])
    assert (receipt.version, receipt.unchecked) == (2, ())
    assert receipt.bytes == sum(tensor.nbytes for tensor in modules[1].parameters())
    assert names == "model.layers.1.self_attn.qkv_proj.weight, model.norm.weight"
    assert update(engine)[0]
    assert tensorhub.verify(engine) == [receipt]
    done, said = update(engine, 77)
    assert (done, "77" in said) == (False, True), said
    with tensorhub.connect(server, model_name, "another") as other:
        other.register({"a.name": torch.zeros(4)})
        other.publish(3)
        done, said = update(engine, 3)
    assert not done
    assert "takes nothing of a.name" in said, said
    assert generated(engine) == second
    assert update(engine, 1)[0]
    assert generated(engine) == first
    fsdp(4, engines.SEEDS[1])  # in bfloat16, which these weights are
    assert update(engine, 4)[0]
    assert generated(engine) == second
