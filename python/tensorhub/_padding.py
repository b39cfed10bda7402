# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Where tensors begin that lie in one block."""

from __future__ import annotations

__all__ = ["padded"]

_ALIGNMENT = 256


def padded(nbytes: int) -> int:
    """So many bytes and those up to where the next tensor begins."""
    return -(-nbytes // _ALIGNMENT) * _ALIGNMENT
