# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Two tensor-parallel workers stage what each of them takes, from two FSDP2 ranks."""

from engines import SEEDS, join, receiving, tokens, update
from tensorhub.integrations.vllm import arrived, stage


def test_staged_on_two_ranks(prepared, fsdp, server, model_name):
    engine = receiving(
        prepared / str(SEEDS[0]), tensor_parallel_size=2,
        worker_extension_cls="plain_worker.Extension",
    )  # fmt: skip
    fresh = tokens(engine)  # as vLLM itself loaded the first checkpoint
    join(engine, server, model_name, stage=True)
    fsdp(1, SEEDS[1])
    update(engine)
    by_loader = tokens(engine)
    assert by_loader != fresh
    places = engine.collective_rpc("places")
    before = by_loader
    for version, index, wanted in ((2, 0, fresh), (3, 1, by_loader)):
        fsdp(version, SEEDS[index])
        assert stage(engine) == version
        assert tokens(engine) == before
        update(engine)
        assert tokens(engine) == wanted
        before = wanted
    assert engine.collective_rpc("places") == places, "the parameters moved"
    assert [one.version for one in arrived(engine)] == [3, 3]
