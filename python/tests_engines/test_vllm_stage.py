# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""A vLLM that generates while the next version arrives beside its model."""

import time

import pytest
import tensorhub
from engines import SEEDS, join, receiving, tokens, update, use_plain_gemm, worker_of
from tensorhub.integrations.vllm import StaleError, arrived, require_fresh, stage, staged


def wait_for(engine):
    end = time.monotonic() + 60
    while not staged(engine).ready:
        assert time.monotonic() < end, staged(engine)
        time.sleep(0.01)


def test_staged(prepared, modules, expected, publish, server, model_name, holders):
    use_plain_gemm()
    engine = receiving(prepared / str(SEEDS[0]))
    join(engine, server, model_name, stage=True, max_lag=0)
    publish(modules[1], 1)
    update(engine)
    assert tokens(engine) == expected["plain"][1]
    parameters = dict(worker_of(engine).model_runner.get_model().named_parameters())
    places = {name: value.data_ptr() for name, value in parameters.items()}
    for version, index in ((2, 0), (3, 1)):
        publish(modules[index], version)
        assert stage(engine) == version
        wait_for(engine)
        assert tokens(engine) == expected["plain"][1 - index], "the model has changed too early"
        assert holders() == 1
        with pytest.raises(StaleError, match=f"behind version {version}"):
            require_fresh(engine)
        update(engine)
        require_fresh(engine)
        assert tokens(engine) == expected["plain"][index]
        assert arrived(engine)[0].version == version
        assert tensorhub.verify(engine)[0].unchecked == ()
    assert {name: value.data_ptr() for name, value in parameters.items()} == places
