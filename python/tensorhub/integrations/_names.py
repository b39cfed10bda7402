# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Names of tensors in messages."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["first_names"]

_LISTED_MAX = 10


def first_names(names: Sequence[str]) -> str:
    """The first ten, and how many more there are."""
    rest = len(names) - _LISTED_MAX
    more = f" and {rest} more" if rest > 0 else ""
    return (", ".join(names[:_LISTED_MAX]) or "none") + more
