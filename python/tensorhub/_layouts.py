# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""What a version consists of, asked from the server, beside what this client registered."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tensorhub import _native
from tensorhub._errors import Error, NotFoundError, raise_for
from tensorhub._tensors import Described

if TYPE_CHECKING:
    from tensorhub._client import Client

__all__ = ["TensorSpec", "layout_differences", "layout_of"]

_LISTED_MAX = 10


@dataclass(frozen=True)
class TensorSpec:
    """One tensor of a rank's layout; ``dtype`` is safetensors' name."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    global_shape: tuple[int, ...] | None = None
    offset: tuple[int, ...] = ()

    def __str__(self) -> str:
        part = f" at {list(self.offset)} of {list(self.global_shape)}" if self.global_shape else ""
        return f"{self.dtype}{list(self.shape)}{part}"


def layout_of(client: Client, version: int | None) -> tuple[int, list[TensorSpec]]:
    """The version's number (the latest one's without), and this rank's tensors in it."""
    number, message, found, ranks = _native.describe_version(client.server, client.model, version)
    raise_for(number, message)
    if client.rank >= len(ranks):
        raise NotFoundError(
            f"version {found} of {client.model} has {len(ranks)} ranks, and this client is rank "
            f"{client.rank}"
        )
    return found, [
        TensorSpec(name, dtype, tuple(shape), tuple(whole) if whole is not None else None,
                   tuple(offset or ()))
        for name, dtype, shape, whole, offset in ranks[client.rank]
    ]  # fmt: skip


def layout_differences(client: Client, version: int | None, mine: Iterable[Described]) -> str:
    """The first ten tensors in which a version and this client differ; empty if that is unknown."""
    try:
        _, specs = layout_of(client, version)
    except Error:
        return ""
    theirs = {spec.name: str(spec) for spec in specs}
    own = {
        name: str(TensorSpec(name, dtype, shape, whole, offset))
        for name, _, _, dtype, shape, _, whole, offset in mine
    }
    lines = [f"{name} is {own[name]} here and {theirs[name]} there"
             for name in own if name in theirs and own[name] != theirs[name]]  # fmt: skip
    lines += [f"{name} is not in the version" for name in own if name not in theirs]
    lines += [f"{name} is not registered here" for name in theirs if name not in own]
    rest = len(lines) - _LISTED_MAX
    return "; ".join(lines[:_LISTED_MAX]) + (f"; and {rest} more" if rest > 0 else "")
