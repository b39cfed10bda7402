# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Two FSDP2 ranks publish rows, and two tensor-parallel vLLM workers fetch what each needs."""

from engines import SEEDS, join, receiving, tokens, update


def test_from_fsdp(prepared, fsdp, modules, server, model_name):
    engine = receiving(
        prepared / str(SEEDS[0]), tensor_parallel_size=2,
        worker_extension_cls="plain_worker.Extension",
    )  # fmt: skip
    fresh = tokens(engine)  # as vLLM itself loaded the first checkpoint
    join(engine, server, model_name, in_place=True)
    fsdp(1, SEEDS[1])
    update(engine)
    by_loader = tokens(engine)
    assert by_loader != fresh
    before = engine.collective_rpc("holds")
    for version, index, wanted in ((2, 0, fresh), (3, 1, by_loader)):
        fsdp(version, SEEDS[index])
        update(engine)
        assert tokens(engine) == wanted
    after = engine.collective_rpc("holds")
    assert [one[0] for one in after] == [3, 3]
    assert [one[3] for one in after] == [True, True], "not in place"
    assert [one[4] for one in after] == [one[4] for one in before], "the parameters moved"
    assert len({one[2] for one in after}) == 1, "one receipt"
    assert [one[1] for one in after] == [own_bytes(modules[0])] * 2


def own_bytes(module):
    """What one of two ranks takes: half of each matrix, and all of each norm."""
    return sum(
        value.nbytes // (1 if value.dim() == 1 else 2) for value in module.state_dict().values()
    )
