# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Two FSDP2 ranks publish rows, and two tensor-parallel vLLM workers fetch what each needs."""

import pytest
import tensorhub
from engines import SEEDS, join, receiving, tokens, update
from tensorhub.integrations.vllm import arrived


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
    places = engine.collective_rpc("places")
    for version, index, wanted in ((2, 0, fresh), (3, 1, by_loader)):
        fsdp(version, SEEDS[index])
        update(engine)
        assert tokens(engine) == wanted
    assert engine.collective_rpc("in_place") == [True, True]
    assert engine.collective_rpc("places") == places, "the parameters moved"
    took = arrived(engine)
    assert [one.version for one in took] == [3, 3]
    assert [one.bytes_read for one in took] == [own_bytes(modules[0])] * 2
    receipts = tensorhub.verify(engine)
    assert {one.receipt for one in receipts} == {one.receipt for one in took} != {""}
    assert [(one.bytes, one.unchecked) for one in receipts] == [(own_bytes(modules[0]), ())] * 2
    # The other rank does not wait for it until its time is over, which is ten minutes.
    fsdp(4, SEEDS[0])
    engine.collective_rpc("fail_to_join", args=(1,))
    with pytest.raises(Exception, match="rank 1 of this engine could not fetch: no memory for it"):
        update(engine)


def own_bytes(module):
    """What one of two ranks takes: half of each matrix, and all of each norm."""
    return sum(
        value.nbytes // (1 if value.dim() == 1 else 2) for value in module.state_dict().values()
    )
