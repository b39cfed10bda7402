# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""A real vLLM on a CPU takes LoRA adapters from memory, several at once, bound to their base.

What is expected is what the same vLLM generates with the same adapters from files.
"""

import json

import engines
import pytest
import safetensors.torch
import tensorhub
from tensorhub.integrations import vllm as plugin
from tensorhub.torch import AdapterPublisher


@pytest.fixture(scope="module")
def engine(prepared):
    return engines.receiving(
        prepared / "1", enable_lora=True, max_loras=2, max_cpu_loras=4, max_lora_rank=8
    )


@pytest.fixture
def publish_adapter(server, model_name):
    """publish_adapter(name, version, base, module): the adapter's model at the hub."""
    made = {}

    def publish(name, version, base, module):
        model = f"{model_name}/{name}"
        if name not in made:
            made[name] = AdapterPublisher(module, engines.LORA, server, model)
        made[name].publish(version, base)
        return model

    yield publish
    for publisher in made.values():
        publisher.close()


def generated(engine, requests):
    """With each adapter, and with several in one batch."""
    each = [engines.tokens(engine, lora_request=request) for request in requests]
    return [*each, engines.tokens(engine, lora_request=[requests[1], requests[0], requests[1]])]


def from_files(engine, folder, modules):
    """What vLLM generates with adapters from folders."""
    from vllm.lora.request import LoRARequest

    requests = []
    for number, module in enumerate(modules, 1):
        path = folder / f"files-{number}"
        path.mkdir()
        matrices = {key.replace(".default.", "."): tensor.contiguous()
                    for key, tensor in module.state_dict().items() if ".lora_" in key}  # fmt: skip
        safetensors.torch.save_file(matrices, path / "adapter_model.safetensors")
        (path / "adapter_config.json").write_text(json.dumps(engines.LORA), encoding="utf-8")
        requests.append(LoRARequest(path.name, number, str(path)))
    found = generated(engine, requests)
    for request in requests:
        engine.llm_engine.remove_lora(request.lora_int_id)
    return found


def test_adapters_come_from_memory_and_are_bound_to_their_base(
    engine, modules, publish, publish_adapter, server, model_name, tmp_path
):
    publish(modules[0], 1)
    publish(modules[1], 2)
    engines.join(engine, server, model_name)
    engines.update(engine, version=1)
    plain = engines.tokens(engine)
    adapters = [engines.with_adapter(seed) for seed in (1, 2)]
    wanted = from_files(engine, tmp_path, adapters)
    assert len({str(one) for one in (plain, *wanted)}) == 4

    names = [publish_adapter(f"a{number}", 1, 1, module)
             for number, module in enumerate(adapters)]  # fmt: skip
    requests = [plugin.adapter(engine, name) for name in names]
    assert generated(engine, requests) == wanted

    with pytest.raises(tensorhub.FailedPreconditionError, match="version 2 is not what tensorhub:"):
        engines.update(engine, version=2)
    assert engines.tokens(engine, lora_request=requests[0]) == wanted[0]

    # The next version of one, which is the other's content.
    adapters[0].load_state_dict(adapters[1].state_dict())
    publish_adapter("a0", 2, 1, adapters[0])
    following = plugin.adapter(engine, names[0])
    assert following.lora_path.endswith("@2")
    assert engines.tokens(engine, lora_request=following) == wanted[1]

    publish_adapter("a0", 3, 2, adapters[0])
    with pytest.raises(Exception, match="was trained on version 2 of the model, and this vLLM has"):
        plugin.adapter(engine, names[0])
    assert engines.tokens(engine) == plain

    for request in (*requests, following):
        engine.llm_engine.remove_lora(request.lora_int_id)
    engines.update(engine, version=2)
    changed = engines.tokens(engine)
    assert changed != plain
    following = plugin.adapter(engine, names[0], 3)
    assert engines.tokens(engine, lora_request=following) not in (changed, wanted[1])
