# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""A version that lacks one part of one layer is refused, and the engine is as it was."""

from engines import qwen3
from partial import check_each_part_is_missed

PARTS = (
    r"layers\.1\.self_attn\.q_proj", r"layers\.0\.self_attn\.k_proj",
    r"layers\.1\.self_attn\.v_proj", r"layers\.0\.mlp\.gate_proj", r"layers\.1\.mlp\.up_proj",
    r"layers\.1\.input_layernorm", r"layers\.0\.self_attn\.q_norm", r"embed_tokens", r"lm_head",
)  # fmt: skip


def test_each_part_is_missed(server, model_name, tmp_path):
    check_each_part_is_missed(qwen3, PARTS, server, model_name, tmp_path)
