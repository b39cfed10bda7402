# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""A vLLM that serves by HTTP: it takes versions, and no prompts while it is too far behind."""

import engines
import pytest
from served import Served, eventually


@pytest.fixture
def vllm(tmp_path, server, model_name):
    engines.llama(engines.SEEDS[0]).config.save_pretrained(tmp_path)
    running = Served(
        tmp_path, "--load-format=dummy",
        "--middleware=tensorhub.integrations.vllm_http.FreshOnly",
        TENSORHUB_SERVER=server, TENSORHUB_MODEL=model_name, TENSORHUB_MAX_LAG="1",
    )  # fmt: skip
    yield running.until_it_serves()
    running.end()


@pytest.fixture
def post(vllm):
    """post(path, body): the status and the answer."""
    return vllm.post


def prompt(post):
    body = {"token_ids": [5, 6, 7], "sampling_params": {"max_tokens": 4, "temperature": 0}}
    return post("/inference/v1/generate", body)


def update(post, version):
    for path, body in (
        ("/pause?mode=wait", None),
        ("/start_weight_update", None),
        ("/update_weights", {"update_info": {"version": version}}),
        ("/finish_weight_update", {"weight_version": str(version)}),
        ("/resume", None),
    ):
        status, said = post(path, body)
        assert status == 200, (path, said)


def test_prompts_are_refused_until_an_update_has_come(post, modules, publish):
    assert post("/init_weight_transfer_engine", {"init_info": {}})[0] == 200
    publish(modules[0], 1)
    eventually(lambda: prompt(post)[0] == 503)  # it has no version yet
    update(post, 1)
    status, first = prompt(post)
    assert status == 200, first
    assert labels(first) == [("1", 0, 4)]
    for version in (2, 3):
        publish(modules[1], version)
    eventually(lambda: prompt(post)[0] == 503)
    said = prompt(post)[1]["error"]["message"]
    assert "has version 1, more than 1 behind version 3" in said
    assert post("/collective_rpc", {"method": "tensorhub_stage"})[1] == {"results": ["3"]}
    eventually(lambda: staged(post)["ready"])
    assert prompt(post)[0] == 503, "what is staged is not in the model"
    update(post, 3)
    status, second = prompt(post)
    assert status == 200, second
    assert labels(second) == [("3", 0, 4)]
    assert second["choices"][0]["token_ids"] != first["choices"][0]["token_ids"]


def labels(answer):
    """Which version has made which of its tokens, as vLLM says it."""
    (choice,) = answer["choices"]
    return [(one["version"], one["start"], one["end"]) for one in choice["weight_versions"]]


def staged(post):
    (found,) = post("/collective_rpc", {"method": "tensorhub_staged"})[1]["results"]
    return found
