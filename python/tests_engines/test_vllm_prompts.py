# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""A hundred prompts: tokens after updates are those of a freshly loaded engine, with two ranks."""

import random

import engines
import pytest
from engines import SEEDS, join, receiving, tokens, update
from tensorhub.integrations.vllm import arrived, stage

PROMPTS = 100


def prompts():
    generator = random.Random(7)
    return [[generator.randrange(512) for _ in range(generator.randrange(1, 32))]
            for _ in range(PROMPTS)]  # fmt: skip


def same(found, wanted):
    return sum(mine == yours for mine, yours in zip(found, wanted, strict=True))


# A mixture's ranks have some of the experts each.
@pytest.mark.parametrize("family", ["llama", "qwen3", "mixture"])
@pytest.mark.parametrize("way", ["loader", "in_place", "stage"])
def test_tokens(family, way, publish, server, model_name, tmp_path):
    first, second = (getattr(engines, family)(seed) for seed in SEEDS)
    first.save_pretrained(tmp_path)
    engine = receiving(
        tmp_path, tensor_parallel_size=2, worker_extension_cls="plain_worker.Extension",
        enable_expert_parallel=family == "mixture",
    )  # fmt: skip
    fresh = tokens(engine, prompts())
    join(engine, server, model_name, **({} if way == "loader" else {way: True}))
    for version, module in enumerate((second, first, second, first), start=1):
        publish(module, version)
        if way == "stage":
            stage(engine)
        update(engine)
        found = same(tokens(engine, prompts()), fresh)
        print(f"{family}, {way}, version {version}: {found} of {PROMPTS}")
        assert (found == PROMPTS) == (module is first)
    assert engine.collective_rpc("in_place") == [way != "loader"] * 2
    read = [one.bytes_read for one in arrived(engine)]
    if way != "loader":
        assert read == engine.collective_rpc("nbytes"), "each rank reads what it has, once"
