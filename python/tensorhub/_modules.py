# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""The tensors of a PyTorch module that this rank has, with their places in the whole ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from tensorhub import placing
from tensorhub._errors import InvalidArgumentError
from tensorhub._types import Sliced, sliced

__all__ = ["walk"]


def walk(module: torch.nn.Module, place: placing.Place | None) -> Iterator[tuple[str, Any]]:
    """What is registered of a module: a name and a tensor, or a slice, of each; tied ones once."""
    seen: set[tuple[Any, ...]] = set()
    for name, tensor in module.state_dict(keep_vars=True).items():
        if not isinstance(tensor, torch.Tensor):
            continue  # a module's extra state
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
