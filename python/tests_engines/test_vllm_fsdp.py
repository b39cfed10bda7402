# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Two FSDP2 ranks publish slices, and one vLLM worker fetches them into its model."""

import pytest
import tensorhub
import torch
from engines import SEEDS, join, receiving, tokens, update, use_plain_gemm, worker_of


def test_from_fsdp(prepared, expected, fsdp, server, model_name):
    use_plain_gemm()
    engine = receiving(prepared / str(SEEDS[0]))
    join(engine, server, model_name, in_place=True)
    fsdp(1, SEEDS[1])
    update(engine)
    plugin = worker_of(engine).weight_transfer_engine
    assert plugin._slices is not None
    assert tokens(engine) == expected["plain"][1]
    for version, index in ((2, 0), (3, 1)):
        fsdp(version, SEEDS[index])
        update(engine)
        assert plugin.arrived.version == version
        assert {part.split("/")[0] for part in plugin.arrived.sources.split(", ")} == {"fsdp"}
        assert tokens(engine) == expected["plain"][index]
    (receipt,) = tensorhub.verify(engine)
    assert (receipt.version, receipt.unchecked) == (3, ())
    with torch.no_grad():
        next(worker_of(engine).model_runner.get_model().parameters())[3, 5] += 1
    with pytest.raises(tensorhub.DataLossError):
        tensorhub.verify(engine)
