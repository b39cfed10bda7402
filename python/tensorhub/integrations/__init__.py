# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Plug-ins: ``vllm`` and ``sglang`` are for engines, ``verl`` and ``trl`` for trainers."""
