# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""What a version consists of, asked from the server, beside what this client registered."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tensorhub import _native
from tensorhub._errors import Error, FailedPreconditionError, NotFoundError, raise_for
from tensorhub._types import sliced

if TYPE_CHECKING:
    from tensorhub._client import Client

__all__ = [
    "TensorSpec",
    "is_alias",
    "layout_of",
    "layouts_of",
    "names_in",
    "whole_tensors",
    "with_aliases",
]

_LISTED_MAX = 10
# A tied tensor is registered once. Its other names go with it as tensors of no bytes, whose names
# say it: "head.weight = embedding.weight". So a layout carries them, and nothing is read for them.
_ALIAS = " = "


@dataclass(frozen=True)
class TensorSpec:
    """One tensor of a rank's layout; ``dtype`` is safetensors' name."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    global_shape: tuple[int, ...] | None = None
    offset: tuple[int, ...] = ()
    before: str = ""
    """What stands before the name where it is published, if that was taken away."""

    def __str__(self) -> str:
        part = f" at {list(self.offset)} of {list(self.global_shape)}" if self.global_shape else ""
        return f"{self.dtype}{list(self.shape)}{part}"

    @property
    def is_alias(self) -> bool:
        """Whether it only says another name of a tied tensor."""
        return is_alias(self.name, self.shape)

    def box(self) -> str:
        """``"[0:4, 2:8]"``: which elements of the whole tensor it has."""
        begins = self.offset or (0,) * len(self.shape)
        along = (
            f"{begin}:{begin + extent}" for begin, extent in zip(begins, self.shape, strict=True)
        )
        return f"[{', '.join(along)}]"


def is_alias(name: str, shape: Sequence[int]) -> bool:
    """Whether a tensor only says another name of a tied one."""
    return tuple(shape) == (0,) and name.count(_ALIAS) == 1


def layouts_of(
    server: str,
    model: str,
    version: int | None,
    security: tuple[str, str, str, str] = ("", "", "", ""),
) -> tuple[int, list[list[TensorSpec]]]:
    """The version's number (the latest one's without), and each rank's tensors in it."""
    found, ranks = _described(server, model, version, security)
    return found, [[spec for spec in rank if not spec.is_alias] for rank in ranks]


def with_aliases(tensors: Mapping[str, Any], aliases: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """What ``register`` is given, with the other names of tied tensors."""
    names = (alias + _ALIAS + name for alias, name in aliases)
    return dict(tensors) | {name: sliced(bytearray(), (0,), (0,)) for name in names}


def names_in(client: Client, version: int | None, but: Iterable[str] = ()) -> str:
    """The first ten names that a version has, but for these; empty if that is unknown, or none."""
    try:
        _, ranks = layouts_of(client.server, client.model, version, client._security)
    except Error:
        return ""
    known = frozenset(but)
    names = sorted({spec.name for rank in ranks for spec in rank} - known)
    rest = len(names) - _LISTED_MAX
    shown = ", ".join(repr(name) for name in names[:_LISTED_MAX])
    return shown + (f" and {rest} more" if rest > 0 else "")


def _described(
    server: str, model: str, version: int | None, security: tuple[str, str, str, str]
) -> tuple[int, list[list[TensorSpec]]]:
    number, message, found, ranks = _native.describe_version(server, model, version, security)
    raise_for(number, message)
    return found, [[_spec(*tensor) for tensor in rank] for rank in ranks]


def layout_of(client: Client, version: int | None) -> tuple[int, list[TensorSpec], dict[str, str]]:
    """The version's number (the latest one's without), and this rank's tensors in it. And the names
    of tied tensors under which they are not registered, each with the name under which it is."""
    found, ranks = _described(client.server, client.model, version, client._security)
    if client.rank >= len(ranks):
        raise NotFoundError(
            f"version {found} of {client.model} has {len(ranks)} ranks, and this client is rank "
            f"{client.rank}"
        )
    parted = (spec.name.partition(_ALIAS) for rank in ranks for spec in rank if spec.is_alias)
    tied = {alias: name for alias, _, name in parted}
    return found, [spec for spec in ranks[client.rank] if not spec.is_alias], tied


def whole_tensors(ranks: Sequence[Sequence[TensorSpec]]) -> list[TensorSpec]:
    """The tensors of which the ranks have pieces, as whole ones; by name where they are put
    together.

    FailedPreconditionError names a tensor whose place in the whole is not known, or that ranks
    describe differently. Whether somebody has each element, the server says at the fetch.
    """
    if len(ranks) == 1 and all(spec.global_shape is None for spec in ranks[0]):
        return list(ranks[0])
    found: dict[str, TensorSpec] = {}
    for number, rank in enumerate(ranks):
        for spec in rank:
            whole = _whole(spec, number, len(ranks))
            other = found.setdefault(spec.name, whole)
            if other != whole:
                raise FailedPreconditionError(
                    f"tensor {spec.name!r} is a piece of {whole} on rank {number}, and of {other} "
                    "on another; publish all pieces of a name with one dtype and one whole shape"
                )
    return [found[name] for name in sorted(found)]


def _whole(spec: TensorSpec, number: int, ranks: int) -> TensorSpec:
    if spec.global_shape is None and ranks > 1:
        raise FailedPreconditionError(
            f"rank {number} of {ranks} published tensor {spec.name!r} without its place in the "
            "whole, so nobody knows what it is a part of; register slices (register_module does "
            "so of DTensors, and of others by place=), or publish by tensorhub.torch.WholePublisher"
        )
    return TensorSpec(spec.name, spec.dtype, spec.global_shape or spec.shape)


def _spec(
    name: str,
    dtype: str,
    shape: Sequence[int],
    whole: Sequence[int] | None,
    offset: Sequence[int] | None,
) -> TensorSpec:
    box = tuple(whole) if whole is not None else None
    return TensorSpec(name, dtype, tuple(shape), box, tuple(offset or ()))
