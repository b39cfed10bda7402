# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Versions that lack one tensor, brought to a real vLLM by every way."""

import re

import pytest
import tensorhub
from engines import SEEDS, join, receiving, tokens, update
from safetensors.torch import load_file

WAYS = ({}, {"in_place": True}, {"stage": True})


def check_each_part_is_missed(make, parts, server, model_name, folder):
    """By these ways and each of these tensors (patterns): refused, and the tokens are as before."""
    for seed in SEEDS:
        make(seed).save_pretrained(folder / str(seed))
    weights = [load_file(folder / str(seed) / "model.safetensors") for seed in SEEDS]
    engine = receiving(folder / str(SEEDS[1]))
    trainers = []

    def publish(tensors):
        trainers.append(tensorhub.connect(server, model_name, f"trainer-{len(trainers)}"))
        trainers[-1].register(tensors)
        trainers[-1].publish(len(trainers))
        return len(trainers)

    for way in WAYS:
        join(engine, server, model_name, **way)
        update(engine, version=publish(weights[0]))
        before = tokens(engine)
        for part in parts:
            partial = {name: value for name, value in weights[1].items()
                       if not re.search(part, name)}  # fmt: skip
            assert len(partial) == len(weights[1]) - 1, part
            with pytest.raises(Exception, match=r"only a part|nothing published goes to"):
                update(engine, version=publish(partial))
            assert tokens(engine) == before, (way, part)
        update(engine, version=publish(weights[1]))
        assert tokens(engine) != before
