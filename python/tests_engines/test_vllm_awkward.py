# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Two tensor-parallel workers in place, of a model whose slices are as awkward as they come.

Several slices of one name on one rank, the same slice on both ranks, and a rank with fewer words.
"""

import pytest
import tensorhub
from engines import SEEDS, awkward, join, receiving, tokens, update
from tensorhub.integrations.vllm import arrived


@pytest.fixture
def publish(server, model_name):
    """publish(version, tensors): from two ranks, each its rows."""
    clients = []

    def publish(version, tensors):
        for rank in range(2):
            group = f"trainer-{version}"
            clients.append(tensorhub.connect(server, model_name, group, rank, 2))
            clients[-1].register({name: rows(whole, rank) for name, whole in tensors.items()})
            clients[-1].publish(version)

    yield publish
    for client in clients:
        client.leave(drain_timeout=0)


def rows(whole, rank):
    size = -(-whole.shape[0] // 2)
    mine = whole[rank * size : (rank + 1) * size].clone()
    return tensorhub.sliced(mine, whole.shape, (rank * size, *[0] * (whole.dim() - 1)))


def test_awkward_slices(publish, server, model_name, tmp_path):
    modules = [awkward(seed) for seed in SEEDS]
    modules[0].save_pretrained(tmp_path)
    states = [module.state_dict() for module in modules]
    assert any("qkv_proj" in name for name in states[0]), "it is not fused"
    engine = receiving(
        tmp_path, tensor_parallel_size=2, worker_extension_cls="plain_worker.Extension"
    )
    fresh = tokens(engine)  # as vLLM itself loaded the first checkpoint
    join(engine, server, model_name, in_place=True)
    publish(1, states[1])
    update(engine)
    by_loader = tokens(engine)
    assert by_loader != fresh
    for version, index, wanted in ((2, 0, fresh), (3, 1, by_loader)):
        publish(version, states[index])
        update(engine)
        assert tokens(engine) == wanted
    assert engine.collective_rpc("in_place") == [True, True]
    first, second = arrived(engine)
    assert first.bytes_read > second.bytes_read, "the second rank has fewer words"
    assert [one.unchecked for one in tensorhub.verify(engine)] == [(), ()]
