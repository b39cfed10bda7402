# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""What can be registered, as names, addresses and shapes. NumPy and torch are not imported."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tensorhub._arrays import HOST, Shape, find_array
from tensorhub._errors import FailedPreconditionError
from tensorhub._torch_tensors import find_tensor, is_torch
from tensorhub._types import Sliced
from tensorhub._watch import Watch, moved_error_text

__all__ = ["HOST", "Described", "Registration", "read_tensors"]

# As python/native/client.cc takes it.
Described = tuple[str, int, int, str, Shape, int, "Shape | None", Shape]


@dataclass
class Registration:
    """Everything that one ``register`` names, and what keeps it alive."""

    described: list[Described] = field(default_factory=list)
    kept: list[Any] = field(default_factory=list)
    torch_tensors: list[Any] = field(default_factory=list)
    read_only: list[str] = field(default_factory=list)
    watch: Watch = field(default_factory=Watch)

    def check_there(self) -> None:
        """FailedPreconditionError: memory has been replaced or freed, so it must not be read."""
        moved = self.watch.moved()
        if moved:
            raise FailedPreconditionError(moved_error_text(moved))


def read_tensors(tensors: Any) -> Registration:
    """What ``register`` was given. TypeError and InvalidArgumentError name the tensor."""
    registration = Registration()
    for name, value in _pairs(tensors):
        if not isinstance(name, str):
            raise TypeError(f"the names of tensors must be str, not {type(name).__name__}")
        pieces = value if isinstance(value, list) and _only_slices(name, value) else [value]
        for piece in pieces:
            _add(registration, name, piece)
    return registration


def _pairs(tensors: Any) -> Iterable[tuple[Any, Any]]:
    if isinstance(tensors, Mapping):
        return tensors.items()
    if isinstance(tensors, Iterable) and not isinstance(tensors, (str, bytes)):
        pairs = list(tensors)
        for pair in pairs:
            if not isinstance(pair, tuple) or len(pair) != 2:
                raise TypeError(
                    "tensors must be a dict, or pairs of a name and a tensor; an item is a "
                    f"{type(pair).__name__}"
                )
        return pairs
    raise TypeError(
        "tensors must be a dict, or an iterable of pairs, of names to tensors, not "
        f"{type(tensors).__name__}"
    )


def _only_slices(name: str, values: list[Any]) -> bool:
    if values and all(isinstance(value, Sliced) for value in values):
        return True
    raise TypeError(
        f"tensor {name!r} is a list; only a list of tensorhub.sliced(...) can be given, otherwise "
        "make it an array first"
    )


def _add(registration: Registration, name: str, value: Any) -> None:
    piece = value if isinstance(value, Sliced) else None
    array = piece.array if piece else value
    if is_torch(array):
        found = find_tensor(name, array, registration.watch)
        registration.torch_tensors.append(found.kept)
    else:
        found = find_array(name, array, registration.watch)
    if not found.writable:
        registration.read_only.append(name)
    whole = piece.global_shape if piece else None
    offset = piece.offset if piece else ()
    registration.described.append(
        (name, found.address, found.nbytes, found.dtype, found.shape, found.device, whole, offset)
    )
    registration.kept.append(found.kept)
