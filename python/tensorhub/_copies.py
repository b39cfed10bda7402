# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Host memory for copies of tensors: one block for all of them, carved."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

import torch

from tensorhub._client import Client
from tensorhub._errors import ResourceExhaustedError
from tensorhub._padding import padded

__all__ = [
    "Kind",
    "carved",
    "copies_for",
    "memory_for",
    "nbytes_of",
    "patterns",
    "published_dtype",
    "room_for",
]

Kind: TypeAlias = "tuple[torch.dtype, Sequence[int]]"

# What engines have in float32 in a model of fewer bits: what routers add to their scores, what
# state space models decay by, and the scales of quantised weights.
_KEPT = re.compile(
    r"(?:^|\.)A_log$|(?:correction|expert)_bias$|(?:router|gate)[._]bias$|_scale(?:_inv|_2)?$"
)


def published_dtype(
    name: str, tensor: torch.Tensor, dtype: torch.dtype | None, keep: Sequence[str] = ()
) -> torch.dtype:
    """What a tensor is published in where a publisher casts to ``dtype``.

    Floats of a byte or less are halves of something, with scales, and stay; so does what engines
    keep in float32, and what a pattern of ``keep`` names.
    """
    if dtype is None or not tensor.is_floating_point() or tensor.dtype.itemsize < 2:
        return tensor.dtype
    kept = _KEPT.search(name) or any(fnmatch.fnmatchcase(name, pattern) for pattern in keep)
    return tensor.dtype if kept else dtype


def patterns(keep: Sequence[str]) -> tuple[str, ...]:
    """Patterns of names, also where one is given by itself."""
    return (keep,) if isinstance(keep, str) else tuple(keep)


def nbytes_of(kind: Kind) -> int:
    """What a tensor of this dtype and shape has."""
    dtype, shape = kind
    return dtype.itemsize * torch.Size(shape).numel()


def room_for(kinds: Iterable[Kind]) -> int:
    """Bytes that such tensors take of a block."""
    return sum(padded(nbytes_of(kind)) for kind in kinds)


def carved(flat: torch.Tensor, kinds: Iterable[Kind]) -> Iterator[torch.Tensor]:
    """Such tensors, one behind the other in a block; empty ones have memory of their own."""
    begin = 0
    for dtype, shape in kinds:
        nbytes = nbytes_of((dtype, shape))
        if nbytes == 0:
            yield torch.empty(tuple(shape), dtype=dtype)
            continue
        yield flat[begin : begin + nbytes].view(dtype).view(tuple(shape))
        begin += padded(nbytes)


def memory_for(client: Client, nbytes: int) -> torch.Tensor:
    """Bytes that peers on this host read without this process's help, if possible."""
    size = max(nbytes, 1)
    try:
        return torch.frombuffer(client.allocate(size), dtype=torch.uint8)
    except ResourceExhaustedError:
        return torch.empty(size, dtype=torch.uint8)


def copies_for(client: Client, kinds: Sequence[Kind]) -> list[torch.Tensor]:
    """Memory for such tensors, in one block, which peers read."""
    return list(carved(memory_for(client, room_for(kinds)), kinds))
