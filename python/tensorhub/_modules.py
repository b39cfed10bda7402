# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""A trainer's module and ranks: which tensors this rank has, and their places in the whole ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import distributed

from tensorhub import _torch_tensors, placing
from tensorhub._errors import InvalidArgumentError
from tensorhub._types import Sliced, sliced
from tensorhub._wrappers import unwrapped

__all__ = [
    "OTHER_TENSORS",
    "aliases",
    "check_values",
    "pieces",
    "rank_and_ranks",
    "walk",
    "where_is",
]

OTHER_TENSORS = "the module has other tensors than when this publisher was made; make a new one"


def walk(module: torch.nn.Module, place: placing.Place | None) -> Iterator[tuple[str, Any]]:
    """What is registered of a module: a name and a tensor, or a slice, of each; tied ones once.

    Names are those of the module without wrappers.
    """
    for _, name, given in pieces(module, place):
        yield name, given


def pieces(
    module: torch.nn.Module, place: placing.Place | None
) -> Iterator[tuple[torch.Tensor, str, Any]]:
    """The same, each behind the module's tensor that it is of."""
    state = _state(module)
    place = _place(state, place)
    for one in state:
        if one.name == one.first:
            for name, given in _placed(one.name, one.local, place):
                yield one.tensor, name, given


def aliases(module: torch.nn.Module, place: placing.Place | None) -> Iterator[tuple[str, str]]:
    """Of tied tensors, the published names that :func:`walk` leaves out, and what they share."""
    state = _state(module)
    place = _place(state, place)
    for one in state:
        if one.name != one.first:
            theirs, ours = _placed(one.name, one.local, place), _placed(one.first, one.local, place)
            yield from ((alias, name) for (alias, _), (name, _) in zip(theirs, ours, strict=False))


@dataclass(frozen=True)
class _Local:
    """What is here of one tensor of a module's state."""

    name: str
    first: str  # of the names that share it; its own where none does
    tensor: torch.Tensor
    local: Any


def _state(module: torch.nn.Module) -> list[_Local]:
    found: list[_Local] = []
    first: dict[tuple[Any, ...], str] = {}
    for key, tensor in module.state_dict(keep_vars=True).items():
        if not isinstance(tensor, torch.Tensor):
            continue  # a module's extra state
        name = unwrapped(module, key)
        local = _local(name, tensor)
        where = where_is(local)
        shared = name if where is None else first.setdefault(where, name)
        found.append(_Local(name, shared, tensor, local))
    return found


def _place(state: list[_Local], place: placing.Place | None) -> placing.Place | None:
    """What ranks have beside pieces of others, they have whole: who cuts otherwise can read it."""
    if place is None and any(isinstance(one.local, Sliced) for one in state):
        return _whole
    return place


def _placed(name: str, local: Any, place: placing.Place | None) -> Iterable[tuple[str, Any]]:
    return [(name, local)] if place is None or isinstance(local, Sliced) else place(name, local)


def where_is(given: Any) -> tuple[Any, ...] | None:
    """Which elements of which memory it has; None where that tells it from no other tensor."""
    array = given.array if isinstance(given, Sliced) else given
    if _torch_tensors.refusal_of(type(array)) is not None or array.device.type == "meta":
        return None
    try:
        if array.numel() == 0 or array.data_ptr() == 0:
            return None
        return array.device, array.data_ptr(), array.dtype, tuple(array.shape), array.stride()
    except RuntimeError:  # without memory of its own; register says so by its name
        return None


def _whole(name: str, array: Any) -> Iterator[tuple[str, Any]]:
    yield name, placing.whole(array)


def check_values(key: str, tensor: torch.Tensor) -> None:
    """InvalidArgumentError: there is nothing in it that could be published."""
    local: Any = tensor
    _torch_tensors.check_values(key, local.to_local() if hasattr(local, "to_local") else local)


def rank_and_ranks(process_group: Any) -> tuple[int, int]:
    """This process's place among a trainer's ranks; it is alone without torch.distributed."""
    if not (distributed.is_available() and distributed.is_initialized()):
        return 0, 1
    return distributed.get_rank(process_group), distributed.get_world_size(process_group)


def _local(name: str, tensor: torch.Tensor) -> Any:
    if not hasattr(tensor, "device_mesh"):
        return tensor
    given: Any = tensor
    if any(placement.is_partial() for placement in given.placements):
        raise InvalidArgumentError(
            f"tensor {name!r} is a DTensor of partial sums; redistribute it first"
        )
    local = given.to_local()
    chunks = given.__create_chunk_list__()
    whole = tuple(given.shape)
    if len(chunks) != 1 or tuple(chunks[0].sizes) != tuple(local.shape):
        raise InvalidArgumentError(
            f"tensor {name!r} is a DTensor whose local part is no single box of the whole "
            f"({len(chunks)} pieces); redistribute it to plain Shard placements"
        )
    if tuple(local.shape) == whole and given.device_mesh.size() == 1:
        return local
    return sliced(local, whole, tuple(chunks[0].offsets))
