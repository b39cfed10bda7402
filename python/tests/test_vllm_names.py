# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""What stands before published names: what wrappers have put there is taken away."""

import importlib
import logging

import pytest
import tensorhub

torch = pytest.importorskip("torch", reason="torch is not installed in this environment")

from test_vllm_contract import (  # noqa: E402, F401
    holds,
    make_engine,
    plugin,
    publish,
    weights_of,
)

# ruff: noqa: F811


def named(before, value):
    return {before + name: tensor for name, tensor in weights_of(value).items()}


@pytest.mark.parametrize("way", ["loader", "in_place", "stage"])
def test_what_wrappers_put_before_names_is_taken_away(make_engine, publish, caplog, way):
    engine = make_engine(**({} if way == "loader" else {way: True}))
    with caplog.at_level(logging.INFO, "tensorhub"):
        for version, before in enumerate(
            ("", "module.", "module.", "base_model.model.", "module.base_model.model.", ""), 1
        ):
            publish(version, named(before, version))
            engine.update_weights({})
            assert holds(engine.model, version), before
            assert engine.verify(20).version == version
    assert "without the 'base_model.model.' that a wrapper" in caplog.text


def test_a_name_without_the_wrapper_is_no_wrapped_one(make_engine, publish):
    engine = make_engine()
    tensors = {**named("module.", 1), "k": weights_of(1)["k"]}
    del tensors["module.k"]
    publish(1, tensors)
    with pytest.raises(tensorhub.FailedPreconditionError, match=r"named 'module\.(q|norm)'"):
        engine.update_weights({})


def test_a_refusal_has_ten_names_of_each_side_in_order_and_what_is_between(make_engine, publish):
    engine = make_engine()
    more = {f"x{number:02}": torch.zeros(1) for number in range(12, 0, -1)}
    publish(1, {f"trunk.{name}": value for name, value in {**weights_of(1), **more}.items()})
    with pytest.raises(tensorhub.FailedPreconditionError) as caught:
        engine.update_weights({})
    said = str(caught.value)
    assert "published are trunk.k, trunk.norm, trunk.q, trunk.x01, " in said
    assert "trunk.x07 and 5 more; the model has norm, qk; they would meet without 'trunk.'" in said
    assert "\n" not in said


def test_what_is_between_names(plugin):
    apart = importlib.import_module("tensorhub.integrations._names").apart
    there = ["model.norm.weight", "model.layers.0.qkv.weight", "lm_head.weight"]
    assert "with 'model.'" in apart(["norm.weight", "layers.0.q.weight"], there)
    assert "without 'a.b.'" in apart([f"a.b.{name}" for name in there], there)
    assert apart(["lm_head.weight", "q"], there) == apart(["q"], there) == ""


def test_adapters_in_a_model_have_a_remedy_of_their_own(make_engine, publish):
    engine = make_engine()
    publish(1, {**named("base_model.model.", 1), "base_model.model.q.lora_A.x": torch.zeros(2)})
    with pytest.raises(tensorhub.FailedPreconditionError, match="merge_and_unload"):
        engine.update_weights({})
