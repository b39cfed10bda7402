# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Fetches into a vLLM model's own memory, which is not packed here, as it is not on a GPU."""

from engines import SEEDS, join, receiving, tokens, update, use_plain_gemm, worker_of


def test_in_place(prepared, modules, expected, publish, server, model_name, holders):
    use_plain_gemm()
    engine = receiving(prepared / str(SEEDS[0]))
    join(engine, server, model_name, in_place=True)
    publish(modules[1], 1)
    update(engine)
    plugin = worker_of(engine).weight_transfer_engine
    assert plugin._slices is not None
    assert tokens(engine) == expected["plain"][1]
    parameters = dict(worker_of(engine).model_runner.get_model().named_parameters())
    places = {name: value.data_ptr() for name, value in parameters.items()}
    for version, index in ((2, 0), (3, 1)):
        publish(modules[index], version)
        update(engine)
        assert plugin.arrived.version == version
        assert tokens(engine) == expected["plain"][index]
        assert holders() == 1
    assert {name: value.data_ptr() for name, value in parameters.items()} == places
    assert plugin._receiver.stage.block is None, "the copy in host memory is still there"
