# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Two vLLMs that a trainer drives: one is killed and comes back under its URL."""

import engines
import pytest
import tensorhub.vllm
from served import Served


@pytest.fixture
def start(tmp_path, server, model_name):
    """start(port): a vLLM with random weights."""
    engines.llama(engines.SEEDS[0]).config.save_pretrained(tmp_path)
    running = []

    def start(port=None):
        running.append(Served(tmp_path, "--load-format=dummy", port=port,
                              TENSORHUB_SERVER=server, TENSORHUB_MODEL=model_name))  # fmt: skip
        return running[-1]

    yield start
    for one in running:
        one.end()


def test_each_is_updated_or_told_of(start, modules, publish, expected):
    first, second = start().until_it_serves(), start().until_it_serves()
    prompt, tokens = engines.PROMPTS[0], [made[0] for made in expected["packed"]]
    fleet = tensorhub.vllm.Fleet([first.url, second.url])
    publish(modules[0], 1)
    assert [one.version for one in fleet.update(1)] == [1, 1]
    for one in (first, second):
        assert one.prompt(prompt) == ([("1", 0, 16)], tokens[0])
    second.kill()
    publish(modules[1], 2)
    found = fleet.update(2)
    assert [one.version for one in found] == [2, None]
    assert isinstance(found[1].error, tensorhub.UnavailableError)
    assert first.prompt(prompt) == ([("2", 0, 16)], tokens[1])
    again = start(second.port).until_it_serves()
    assert [(one.version, one.error) for one in fleet.update(2)] == [(2, None)] * 2
    assert again.prompt(prompt) == ([("2", 0, 16)], tokens[1])
    publish(modules[0], 3, rename=lambda name: "what." + name)
    assert ["they would meet" in str(one.error) for one in fleet.update(3)] == [True] * 2
    for one in (first, again):
        assert one.prompt(prompt) == ([("2", 0, 16)], tokens[1])
