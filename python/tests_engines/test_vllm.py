# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""The plug-in in a real vLLM: tokens after an update are those of a freshly loaded engine."""

import pytest
import tensorhub
from engines import SEEDS, join, receiving, tokens, update, worker_of
from tensorhub.integrations import vllm


@pytest.fixture(scope="module")
def engine(prepared):
    return receiving(prepared / str(SEEDS[0]))


def arrived(engine):
    (found,) = vllm.arrived(engine)
    return found


def test_tokens_after_an_update_are_a_fresh_engines(
    engine, modules, expected, publish, server, model_name, holders
):
    join(engine, server, model_name)
    publish(modules[1], 1)
    update(engine)
    assert tokens(engine) == expected["packed"][1]
    assert arrived(engine).version == 1
    assert len(arrived(engine).receipt) == 32
    assert holders() == 1, "the worker is a source for its peers"
    publish(modules[0], 2)
    update(engine, version=2)
    assert tokens(engine) == expected["packed"][0]
    update(engine, version=1)
    assert tokens(engine) == expected["packed"][1]


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (lambda name: "what." + name, "what"),
        (lambda name: None if "norm" in name else name, "nothing published goes to"),
    ],
    ids=["unknown", "missing"],
)
def test_names_that_do_not_meet_leave_the_model_alone(
    engine, modules, expected, publish, server, model_name, names, said
):
    join(engine, server, model_name)
    publish(modules[0], 1)
    update(engine)
    before = arrived(engine)
    publish(modules[1], 2, rename=names)
    with pytest.raises(Exception, match=said):
        update(engine)
    assert arrived(engine) == before
    assert tokens(engine) == expected["packed"][0]
    publish(modules[1], 3)
    update(engine)
    assert tokens(engine) == expected["packed"][1]


def test_a_version_that_is_not_there_leaves_the_model_alone(
    engine, modules, expected, publish, server, model_name
):
    join(engine, server, model_name)
    publish(modules[1], 1)
    update(engine)
    with pytest.raises(Exception, match="7"):
        update(engine, version=7)
    assert tokens(engine) == expected["packed"][1]
    update(engine)


def test_what_is_packed_is_not_fetched_in_place(
    engine, modules, expected, publish, server, model_name
):
    layer = worker_of(engine).model_runner.get_model().model.layers[0]
    if layer.self_attn.qkv_proj.weight.numel():
        pytest.skip("vLLM packs no weights on this CPU; it does with AVX-512")
    join(engine, server, model_name, in_place=True)
    publish(modules[1], 1)
    update(engine)
    publish(modules[0], 2)
    update(engine)
    (receipt,) = tensorhub.verify(engine)
    assert (receipt.version, receipt.receipt) == (2, arrived(engine).receipt)
    assert "model.layers.0.self_attn.q_proj.weight" in receipt.unchecked, "it is packed"
    assert receipt.tensors > 0
    assert tokens(engine) == expected["packed"][0]
