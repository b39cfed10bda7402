# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""A version that lacks one matrix of one expert, or a router, is refused."""

from engines import mixture
from partial import check_each_part_is_missed

PARTS = (
    r"layers\.1\.mlp\.experts\.3\.up_proj", r"layers\.0\.mlp\.experts\.0\.gate_proj",
    r"layers\.1\.mlp\.experts\.2\.down_proj", r"layers\.0\.mlp\.gate\.",
)  # fmt: skip


def test_each_part_is_missed(server, model_name, tmp_path):
    check_each_part_is_missed(mixture, PARTS, server, model_name, tmp_path)
