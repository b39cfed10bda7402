# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Checkpoints and what is expected of them, a server, and trainers of a test's own."""

import itertools
import json
import os
import pathlib
import socket
import subprocess
import sys

import engines
import pytest
import tensorhub
from tensorhub.torch import WholePublisher

_numbers = itertools.count()


@pytest.fixture(scope="session")
def prepared(tmp_path_factory):
    """The folder of checkpoints; tools/test_engines.sh makes one for all test files."""
    named = os.environ.get("TENSORHUB_TEST_ENGINES")
    folder = pathlib.Path(named) if named else tmp_path_factory.mktemp("engines")
    if not (folder / "expected.json").exists():
        subprocess.run([sys.executable, engines.__file__, folder], check=True)
    return folder


@pytest.fixture(scope="session")
def expected(prepared):
    """Tokens of freshly loaded engines, by how they multiply and by checkpoint."""
    found = json.loads((prepared / "expected.json").read_text(encoding="utf-8"))
    assert found["packed"][0] != found["packed"][1]
    return found


@pytest.fixture(scope="session")
def modules():
    """The trainer's side of the two checkpoints."""
    return [engines.llama(seed) for seed in engines.SEEDS]


@pytest.fixture(scope="session")
def server():
    with tensorhub.serve() as running:
        yield running.address


@pytest.fixture
def model_name(request):
    return f"{request.node.name[:60]}-{next(_numbers)}"


@pytest.fixture
def publish(server, model_name):
    """publish(module, version): from a trainer of this test's own."""
    made = []

    def publish(module, version, *, supersede=False, **options):
        group = f"trainer-{len(made)}"
        made.append(WholePublisher(module, server, model_name, group, **options))
        made[-1].publish(version, supersede=supersede)

    yield publish
    for publisher in made:
        publisher.close()


@pytest.fixture
def fsdp(server, model_name):
    """fsdp(version, seed): published by two ranks of a trainer, each its own slices."""
    script = pathlib.Path(__file__).with_name("fsdp_trainer.py")
    environment = dict(os.environ, WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT=_port())
    ranks = [
        subprocess.Popen(
            [sys.executable, script, server, model_name], env=dict(environment, RANK=str(rank)),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        for rank in range(2)
    ]  # fmt: skip

    def publish(version, seed):
        for rank in ranks:
            print(version, seed, file=rank.stdin, flush=True)
        assert [rank.stdout.readline().split() for rank in ranks] == [
            ["published", str(version)]
        ] * 2

    yield publish
    for rank in ranks:
        rank.stdin.close()
        rank.wait(60)


def _port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


@pytest.fixture
def holders(server, model_name):
    """holders(): how many vLLM workers hold the newest version."""

    def count():
        with tensorhub.connect(server, model_name, "looker") as looker:
            replicas = looker.list()[-1].replicas
        return sum(replica.group.startswith("vllm-") for replica in replicas)

    return count
