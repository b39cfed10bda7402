# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""A vLLM that serves by HTTP: it takes versions, and no prompts while it is too far behind."""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

import engines
import pytest

OPTIONS = (
    "--skip-tokenizer-init", "--enforce-eager", "--max-model-len=128", "--dtype=bfloat16",
    "--no-enable-prefix-caching", "--load-format=dummy", "--enable-scale-out",
    '--weight-transfer-config={"backend": "tensorhub"}',
    "--middleware=tensorhub.integrations.vllm_http.FreshOnly",
)  # fmt: skip
START_S = 240


@pytest.fixture
def post(tmp_path, server, model_name):
    """post(path, body): the status and the answer of a vLLM that serves."""
    engines.llama(engines.SEEDS[0]).config.save_pretrained(tmp_path)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = dict(
        os.environ, VLLM_SERVER_DEV_MODE="1", VLLM_ENABLE_V1_MULTIPROCESSING="1",
        TENSORHUB_SERVER=server, TENSORHUB_MODEL=model_name, TENSORHUB_MAX_LAG="1",
    )  # fmt: skip
    # As `vllm serve`, which asks for a distribution of the name vllm.
    command = [sys.executable, "-m", "vllm.entrypoints.openai.api_server", f"--model={tmp_path}",
               "--host=127.0.0.1", f"--port={port}", *OPTIONS]  # fmt: skip
    with subprocess.Popen(command, env=environment) as process:
        address = f"http://127.0.0.1:{port}"
        _wait_for(address, process)
        yield lambda path, body=None: _post(address + path, body)
        process.terminate()


def _wait_for(address, process):
    end = time.monotonic() + START_S
    while True:
        assert process.poll() is None, "vLLM has ended"
        assert time.monotonic() < end, "vLLM has not begun to serve"
        try:
            urllib.request.urlopen(f"{address}/health", timeout=5)
            return
        except OSError:
            time.sleep(0.5)


def _post(url, body):
    headers = {"content-type": "application/json"}
    request = urllib.request.Request(url, json.dumps(body or {}).encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, json.loads(answer.read() or "null")
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.loads(error.read() or "null")


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


def eventually(step):
    end = time.monotonic() + 60
    while not step():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.1)


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
