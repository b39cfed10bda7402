# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""A trainer's module and ranks: which tensors this rank has, and their places in the whole ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import distributed

from tensorhub import placing
from tensorhub._errors import InvalidArgumentError
from tensorhub._types import Sliced, sliced
from tensorhub._wrappers import unwrapped

__all__ = ["check_values", "rank_and_ranks", "walk"]


def walk(module: torch.nn.Module, place: placing.Place | None) -> Iterator[tuple[str, Any]]:
    """What is registered of a module: a name and a tensor, or a slice, of each; tied ones once.

    Names are those of the module without wrappers.
    """
    seen: set[tuple[Any, ...]] = set()
    for key, tensor in module.state_dict(keep_vars=True).items():
        if not isinstance(tensor, torch.Tensor):
            continue  # a module's extra state
        name = unwrapped(module, key)
        local = _local(name, tensor)
        array = local.array if isinstance(local, Sliced) else local
        if array.device.type != "meta" and array.numel() > 0:
            where = (
                array.device,
                array.data_ptr(),
                array.dtype,
                tuple(array.shape),
                array.stride(),
            )
            if where in seen:
                continue  # tied
            seen.add(where)
        if place is None or isinstance(local, Sliced):
            yield name, local
        else:
            yield from place(name, local)


def check_values(key: str, tensor: torch.Tensor) -> None:
    """InvalidArgumentError: there is nothing in it that could be published."""
    if tensor.is_meta:
        raise InvalidArgumentError(f"tensor {key!r} is on the meta device and has no values")


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
