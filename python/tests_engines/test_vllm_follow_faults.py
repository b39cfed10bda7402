# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""What goes away while a vLLM follows: a trainer that hangs, a hub that is killed.
It serves what it has, says what it lacks, and goes on when that is back."""

import os
import pathlib
import signal
import subprocess
import sys

import engines
import pytest
import tensorhub
from served import Served, eventually

FOLLOW = ("--load-format=tensorhub", "--middleware=tensorhub.integrations.vllm_http.Follow")
SLOW = {"UCX_TLS": "tcp,self"}  # so that nobody reads the memory of a process that hangs


@pytest.fixture
def hub():
    with tensorhub.serve() as running:
        yield running


@pytest.fixture
def trainer(hub, model_name):
    """A process; trainer.publish(version, seed)."""
    script = pathlib.Path(__file__).with_name("fsdp_trainer.py")
    environment = dict(os.environ, WORLD_SIZE="1", RANK="0", MASTER_ADDR="127.0.0.1",
                       MASTER_PORT="0", **SLOW)  # fmt: skip
    process = subprocess.Popen(
        [sys.executable, script, hub.address, model_name], env=environment,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip

    def publish(version, seed):
        print(version, seed, file=process.stdin, flush=True)
        assert process.stdout.readline().split() == ["published", str(version)]

    process.publish = publish
    yield process
    process.kill()
    process.wait()


def test_it_serves_whatever_goes_away(tmp_path, hub, model_name, trainer, expected):
    engines.llama(engines.SEEDS[0]).config.save_pretrained(tmp_path)
    trainer.publish(1, engines.SEEDS[0])
    vllm = Served(tmp_path, *FOLLOW, TENSORHUB_SERVER=hub.address, TENSORHUB_MODEL=model_name,
                  **SLOW)  # fmt: skip
    try:
        vllm.until_it_serves()
        eventually(lambda: standing(vllm)["version"] == 1)
        tokens = [made[0] for made in expected["packed"]]
        hangs(vllm, trainer, tokens)
        is_killed(vllm, hub, trainer, tokens)
    finally:
        vllm.end()


def hangs(vllm, trainer, tokens):
    vllm.post("/tensorhub/hold")
    trainer.publish(2, engines.SEEDS[1])
    trainer.send_signal(signal.SIGSTOP)
    vllm.post("/tensorhub/release")
    eventually(lambda: standing(vllm)["error"])
    assert vllm.prompt(engines.PROMPTS[0]) == ([("1", 0, 16)], tokens[0])
    trainer.send_signal(signal.SIGCONT)
    eventually(lambda: standing(vllm)["version"] == 2)
    assert vllm.prompt(engines.PROMPTS[0]) == ([("2", 0, 16)], tokens[1])


def is_killed(vllm, hub, trainer, tokens):
    port = hub.address.rpartition(":")[2]
    hub._process.kill()
    hub._process.wait()
    assert vllm.prompt(engines.PROMPTS[0]) == ([("2", 0, 16)], tokens[1])
    with tensorhub.serve(listen=f"127.0.0.1:{port}"):
        trainer.publish(3, engines.SEEDS[0])
        eventually(lambda: standing(vllm)["version"] == 3)
        assert vllm.prompt(engines.PROMPTS[0]) == ([("3", 0, 16)], tokens[0])


def standing(vllm):
    status, said = vllm.get("/tensorhub")
    assert status == 200, said
    return said
