# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Two tensor-parallel workers of one vLLM: one copy in host memory, and all or none change."""

import pytest
from engines import SEEDS, join, receiving, tokens, update


def test_two_ranks(prepared, modules, expected, publish, server, model_name, holders):
    engine = receiving(prepared / str(SEEDS[0]), tensor_parallel_size=2)
    join(engine, server, model_name)
    publish(modules[1], 1)
    update(engine)
    assert holders() == 1, "one copy for both ranks"
    assert tokens(engine) == expected["packed"][1]
    publish(modules[0], 2, rename=lambda name: "what." + name)
    with pytest.raises(Exception, match="what"):
        update(engine)
    assert tokens(engine) == expected["packed"][1]
    publish(modules[0], 3)
    update(engine)
    assert tokens(engine) == expected["packed"][0]
