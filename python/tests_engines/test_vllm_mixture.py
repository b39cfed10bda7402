# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""A mixture of experts on a CPU: a vLLM starts from peers, and does not take updates."""

import shutil

import pytest
import tensorhub
from engines import engine_of, join, mixture, receiving, tokens
from safetensors.torch import load_file


def test_it_starts_from_peers_and_refuses_updates(server, model_name, monkeypatch, tmp_path):
    whole, bare = tmp_path / "whole", tmp_path / "bare"
    mixture(1).save_pretrained(whole)
    bare.mkdir()
    shutil.copy(whole / "config.json", bare)
    fresh = tokens(engine_of(whole))
    monkeypatch.setenv("TENSORHUB_SERVER", server)
    monkeypatch.setenv("TENSORHUB_MODEL", model_name)
    with tensorhub.connect(server, model_name, "trainer") as trainer:
        trainer.register(load_file(whole / "model.safetensors"))
        trainer.publish(1)
        engine = receiving(bare, load_format="tensorhub")
        assert tokens(engine) == fresh
        with pytest.raises(tensorhub.FailedPreconditionError, match="is a mixture of experts"):
            join(engine, server, model_name)
        assert tokens(engine) == fresh
