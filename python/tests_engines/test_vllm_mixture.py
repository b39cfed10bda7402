# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""A mixture of experts, whose experts vLLM packs on a CPU: it starts from peers, and follows."""

import shutil

import tensorhub
from engines import SEEDS, engine_of, join, mixture, receiving, tokens, update
from safetensors.torch import load_file


def test_it_starts_from_peers_and_follows(server, model_name, monkeypatch, tmp_path):
    fresh = []
    for seed in SEEDS:
        mixture(seed).save_pretrained(tmp_path / str(seed))
        fresh.append(tokens(engine_of(tmp_path / str(seed))))
    bare = tmp_path / "bare"
    bare.mkdir()
    shutil.copy(tmp_path / str(SEEDS[0]) / "config.json", bare)
    monkeypatch.setenv("TENSORHUB_SERVER", server)
    monkeypatch.setenv("TENSORHUB_MODEL", model_name)
    trainers = []
    for version, seed in enumerate(SEEDS, start=1):
        trainers.append(tensorhub.connect(server, model_name, f"trainer-{seed}"))
        trainers[-1].register(load_file(tmp_path / str(seed) / "model.safetensors"))
        trainers[-1].publish(version)
        if version == 1:
            engine = receiving(bare, load_format="tensorhub")
            assert tokens(engine) == fresh[0]
            join(engine, server, model_name)
    assert fresh[0] != fresh[1]
    for version in (2, 1, 2):
        update(engine, version=version)
        assert tokens(engine) == fresh[version - 1]
    for trainer in trainers:
        trainer.leave(drain_timeout=0)
