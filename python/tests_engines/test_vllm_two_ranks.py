# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Two tensor-parallel workers of one vLLM: one copy in host memory, and all or none change."""

import pytest
import tensorhub
from engines import SEEDS, join, receiving, tokens, update
from tensorhub.integrations.vllm import arrived, stage


def test_two_ranks(prepared, modules, publish, server, model_name, holders):
    engine = receiving(prepared / str(SEEDS[0]), tensor_parallel_size=2)
    # As vLLM itself loaded the first checkpoint into two ranks, which round sums in another way
    # than one.
    fresh = tokens(engine)
    join(engine, server, model_name)
    publish(modules[1], 1)
    update(engine)
    assert holders() == 1, "one copy for both ranks"
    second = tokens(engine)
    assert second != fresh
    publish(modules[0], 2, rename=lambda name: "what." + name)
    with pytest.raises(Exception, match="what"):
        update(engine)
    assert tokens(engine) == second
    publish(modules[0], 3)
    # The second rank's answer to what failed is read as well (vllm#49972).
    assert [one.version for one in arrived(engine)] == [1, 1]
    with pytest.raises(tensorhub.NotFoundError):
        stage(engine, 77)
    assert [one.version for one in arrived(engine)] == [1, 1]
    update(engine)
    assert tokens(engine) == fresh
