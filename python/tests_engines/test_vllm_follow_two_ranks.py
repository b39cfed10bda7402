# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""A vLLM of two tensor-parallel ranks follows, also behind a version that it refuses."""

import engines
import pytest
from served import Served, eventually


@pytest.fixture
def vllm(tmp_path, server, model_name):
    engines.llama(engines.SEEDS[0]).config.save_pretrained(tmp_path)
    running = Served(
        tmp_path, "--load-format=tensorhub", "--tensor-parallel-size=2",
        "--middleware=tensorhub.integrations.vllm_http.Follow",
        "--worker-extension-cls=plain_worker.Extension",
        TENSORHUB_SERVER=server, TENSORHUB_MODEL=model_name, TENSORHUB_START_WAIT="100",
    )  # fmt: skip
    yield running
    running.end()


def test_both_ranks_have_each_version(vllm, modules, publish, fsdp):
    publish(modules[0], 1)
    vllm.until_it_serves()
    made = {1: generated(vllm, 1)}
    for version, seed in ((2, 1), (3, 0)):
        fsdp(version, engines.SEEDS[seed])
        made[version] = generated(vllm, version)
    publish(modules[1], 4, rename=lambda name: "what." + name)
    eventually(lambda: "they would meet without 'what.'" in vllm.get("/tensorhub")[1]["error"])
    assert vllm.prompt(engines.PROMPTS[0]) == ([("3", 0, 16)], made[3])
    fsdp(5, engines.SEEDS[1])
    made[5] = generated(vllm, 5)
    assert made[1] == made[3] != made[2] == made[5]
    assert vllm.get("/tensorhub")[1]["error"] == ""


def generated(vllm, version):
    eventually(lambda: vllm.get("/tensorhub")[1]["version"] == version)
    made_by, tokens = vllm.prompt(engines.PROMPTS[0])
    assert made_by == [(str(version), 0, 16)]
    return tokens
