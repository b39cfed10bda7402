# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""What goes into the calls and comes out of them: plain values, none of which changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Optional, TypeAlias

from tensorhub._arguments import whole_number

__all__ = [
    "FetchProgress",
    "FetchResult",
    "Replica",
    "Selector",
    "Sliced",
    "VersionInfo",
    "latest",
    "newer_than",
    "sliced",
    "version",
]

_KINDS = ("latest", "version", "newer_than", "any")


@dataclass(frozen=True)
class Selector:
    """Which version; made by :func:`latest`, :func:`version` and :func:`newer_than`."""

    kind: str
    number: int | None = 0
    """``None``, of ``newer_than``: newer than nothing, so any."""

    @property
    def native(self) -> tuple[int, int]:
        """The place of the kind in the library's enumeration, and the number."""
        return _KINDS.index("any" if self.number is None else self.kind), self.number or 0

    def __repr__(self) -> str:
        return f"tensorhub.{self.kind}({'' if self.kind == 'latest' else self.number})"


def latest() -> Selector:
    """The newest version that ever became visible."""
    return Selector("latest")


def version(number: int) -> Selector:
    """Exactly this one, for ``fetch``; for ``wait`` this one or a newer one."""
    return Selector("version", whole_number("number", number))


def newer_than(number: int | None) -> Selector:
    """The newest one above this number that is held whole; ``fetch`` waits until there is one.

    Above ``None`` is any, version 0 as well. So ``newer_than(client.held())`` is what a rollout
    worker has not got yet, whether it has something or not.
    """
    return Selector("newer_than", None if number is None else whole_number("number", number))


Identity: TypeAlias = Optional[bytes]  # noqa: UP045


@dataclass(frozen=True)
class FetchResult:
    """What a fetch brought."""

    version: int
    bytes_read: int
    """Bytes that came from peers; 0 if the version was held already."""
    bytes_skipped: int
    """Bytes found unchanged in place and verified by hashing; neither read nor written."""
    way: str
    """How the bytes came, such as ``"one-sided over sysv"``; empty if none did."""
    sources: str
    """Who they came from, ``"trainer/0"``, or several, in the order used."""
    identity: Identity = None
    """A receipt: 16 bytes over what the group has now, the same on all its ranks. ``None`` where
    the publisher makes no digests."""

    @property
    def receipt(self) -> str:
        """The identity in hexadecimal, as logs and :func:`tensorhub.verify` have it, or empty."""
        return self.identity.hex() if self.identity is not None else ""


@dataclass(frozen=True)
class FetchProgress:
    """How far a fetch is, for a progress callback."""

    version: int
    bytes_done: int
    bytes_total: int
    source: str
    """``"group/rank"`` of the present source; empty before the first."""


@dataclass(frozen=True)
class Replica:
    """A group that holds a version, or is about to."""

    group: str
    ranks_complete: int
    ranks: int
    state: str
    """``publishing``, ``filling``, ``complete`` or ``draining``."""


@dataclass(frozen=True)
class VersionInfo:
    """A version as the server lists it."""

    version: int
    state: str
    """``publishing``, ``visible`` or ``lost``; ``superseded``: by a later term, and held still."""
    bytes: int
    replicas: tuple[Replica, ...]
    identity: Identity = None
    """16 bytes over its content; ``None``: not known (yet)."""
    term: int = 0
    """In which it was published: how often a publisher had begun anew before."""


@dataclass(frozen=True)
class Sliced:
    """A piece of a larger tensor; made by :func:`sliced`."""

    array: Any
    global_shape: tuple[int, ...]
    offset: tuple[int, ...]


def sliced(array: Any, global_shape: Sequence[int], offset: Sequence[int]) -> Sliced:
    """A piece of a larger tensor, for ``register``.

    ``array`` is the piece; it begins at ``offset`` of a tensor of ``global_shape``, and its extent
    is its own shape. All three have as many dimensions.
    """
    whole = tuple(whole_number("global_shape", extent) for extent in global_shape)
    begin = tuple(whole_number("offset", index) for index in offset)
    if len(whole) != len(begin):
        raise ValueError(f"global_shape has {len(whole)} dimensions and offset {len(begin)}")
    return Sliced(array, whole, begin)
