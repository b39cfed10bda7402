# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""A vLLM that follows: nobody tells it of a version, and it generates from each."""

import threading

import engines
import pytest
from served import Served, eventually

FOLLOW = ("--load-format=tensorhub", "--middleware=tensorhub.integrations.vllm_http.Follow")


@pytest.fixture
def vllm(tmp_path, server, model_name):
    engines.llama(engines.SEEDS[0]).config.save_pretrained(tmp_path)
    running = Served(tmp_path, *FOLLOW, TENSORHUB_SERVER=server, TENSORHUB_MODEL=model_name,
                     TENSORHUB_START_WAIT="200")  # fmt: skip
    yield running
    running.end()


def test_it_generates_from_each_version(vllm, modules, publish, expected):
    publish(modules[0], 1)  # while it starts
    vllm.until_it_serves()
    prompt, tokens = engines.PROMPTS[0], [made[0] for made in expected["packed"]]
    eventually(lambda: standing(vllm)["version"] == 1)
    assert vllm.prompt(prompt)[1] == tokens[0]
    for version, seed in ((2, 1), (3, 0), (4, 1)):
        publish(modules[seed], version)
        eventually(lambda version=version: standing(vllm)["version"] == version)
        assert vllm.prompt(prompt) == ([(str(version), 0, 16)], tokens[seed])
    assert vllm.post("/tensorhub/hold")[1]["held"]
    publish(modules[0], 5)
    eventually(lambda: standing(vllm)["newest"] == 5)
    assert vllm.prompt(prompt)[1] == tokens[1]
    vllm.post("/tensorhub/release")
    eventually(lambda: standing(vllm)["version"] == 5)
    running = threading.Thread(target=generate, args=(vllm, asked := []))
    running.start()
    eventually(lambda: len(asked) > 2)
    publish(modules[1], 2, supersede=True)
    eventually(lambda: standing(vllm)["version"] == 2)
    assert vllm.prompt(prompt) == ([("2", 0, 16)], tokens[1])
    asked.append(None)
    running.join()
    assert standing(vllm)["error"] == ""


def generate(vllm, asked):
    """No prompt fails, whatever the vLLM takes meanwhile."""
    while None not in asked:
        made_by, _ = vllm.prompt([5, 6, 7], 64)
        asked.append(made_by)
        assert {version for version, _, _ in made_by} <= {"5", "2"}


def standing(vllm):
    status, said = vllm.get("/tensorhub")
    assert status == 200, said
    return said
