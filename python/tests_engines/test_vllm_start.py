# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""A vLLM that starts with ``--load-format tensorhub``."""

import shutil

from engines import SEEDS, receiving, tokens, update


def test_a_worker_that_starts_loads_from_peers(
    prepared, modules, expected, publish, server, model_name, holders, monkeypatch, tmp_path
):
    publish(modules[1], 1)
    monkeypatch.setenv("TENSORHUB_SERVER", server)
    monkeypatch.setenv("TENSORHUB_MODEL", model_name)
    # A folder without weights.
    shutil.copy(prepared / str(SEEDS[0]) / "config.json", tmp_path)
    engine = receiving(tmp_path, load_format="tensorhub")
    assert tokens(engine) == expected["packed"][1]
    assert holders() == 1
    engine.init_weight_transfer_engine({"init_info": {}})
    publish(modules[0], 2)
    update(engine)
    assert tokens(engine) == expected["packed"][0]
