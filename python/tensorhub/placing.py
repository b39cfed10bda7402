# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Where a rank's tensors belong in the whole ones, as trainers and engines say it.

A *place* is a function of a tensor's name and the tensor. It gives what is registered of it: pairs
of the published name and a tensor, or a :func:`tensorhub.sliced` of one; none if this rank does not
publish it. Views of the tensor may go under several names, and several pieces under one name::

    def place(name, tensor):                        # one rank of a fused weight in TP 2
        query, key = tensor[:64], tensor[64:96]     # views, not copies
        yield "q_proj.weight", tensorhub.sliced(query, (128, 512), (rank * 64, 0))
        yield "k_proj.weight", tensorhub.sliced(key, (64, 512), (rank * 32, 0))

    register_module(client, module, place=place)

:func:`megatron` and :func:`described` make such functions. Torch is not imported.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tensorhub._arguments import whole_number
from tensorhub._errors import InvalidArgumentError
from tensorhub._megatron import Count, Names
from tensorhub._types import Sliced, sliced

__all__ = ["Place", "box_of", "described", "given", "megatron", "piece_of", "whole"]

Place = Callable[[str, Any], Iterable[tuple[str, Any]]]
"""What a rank registers of a tensor: pairs of a published name and a tensor or a slice."""


def whole(array: Any) -> Sliced:
    """A tensor that this rank has whole, and says so: groups that are cut otherwise can read it."""
    return sliced(array, array.shape, (0,) * len(array.shape))


def piece_of(array: Any, dimension: int, index: int, count: int, parts: int = 1) -> list[Sliced]:
    """Piece ``index`` of ``count`` equal ones along a dimension.

    With ``parts`` the tensor is as many tensors in one (gate and up), and the rank has its piece of
    each of them, one after the other: as many slices.
    """
    rows = array.shape[dimension]
    if rows % parts:
        raise ValueError(f"dimension {dimension} has {rows} rows, which are no {parts} equal parts")
    size = rows // parts
    shape = list(array.shape)
    shape[dimension] = rows * count
    slices = []
    for part in range(parts):
        offset = [0] * len(shape)
        offset[dimension] = (part * count + index) * size
        cut = [slice(None)] * len(shape)
        cut[dimension] = slice(part * size, (part + 1) * size)
        view = array[tuple(cut)] if parts > 1 else array
        slices.append(sliced(view, shape, offset))
    return slices


def megatron(
    *,
    tp: tuple[int, int] = (0, 1),
    pp: tuple[int, int] = (0, 1),
    ep: tuple[int, int] = (0, 1),
    expert_tp: tuple[int, int] | None = None,
    layers: int | None = None,
    first_layer: int | None = None,
    experts: int | None = None,
    dimensions: Mapping[str, int | None] | None = None,
) -> Place:
    """A place by Megatron's degrees, each as (this rank's index, size).

    *Tensor parallel*: along ``partition_dim`` of parameters with ``tensor_model_parallel``, in
    ``partition_stride`` parts; or along the dimension that ``dimensions`` has for a pattern of
    names (``{"*.o_proj.weight": 1}``; ``None``: whole). Experts by ``expert_tp``, as ``tp`` without
    it. *Pipeline*: ``layers.N.`` counts within the stage, and is published as a number in the whole
    model: ``layers`` are in all, or ``first_layer`` is this stage's first. Those of ``mtp`` are not
    shared out. *Expert parallel*: ``experts.N.`` likewise, of ``experts`` in all, and grouped ones,
    ``experts.linear_fc1.weightN``.

    Everything else is registered as whole where that loses nothing. InvalidArgumentError names
    what might be a part where the degree is above 1: another stack of numbered layers, experts
    without a number of their own or with one that is too high, a matrix of which neither Megatron
    nor ``dimensions`` says how it is cut. ValueError: a size that does not divide.
    """
    split = _degree("tp", tp)
    expert_split = _degree("expert_tp", expert_tp) if expert_tp is not None else split
    names = Names(
        _layers(_degree("pp", pp), layers, first_layer),
        _count("ep", _degree("ep", ep), "experts", experts),
    )
    patterns = dict(dimensions or {})

    def place(name: str, array: Any) -> Iterable[tuple[str, Any]]:
        published, of_expert = names.published(name, array, expert_split != split)
        index, count = expert_split if of_expert else split
        dimension = _cut_dimension(name, array, patterns, count)
        if dimension is None or count == 1:
            return [(published, whole(array))]
        parts = getattr(array, "partition_stride", 1)
        return [(published, each) for each in piece_of(array, dimension, index, count, parts)]

    return place


def described(tensors: Iterable[Any], rank: int) -> Place:
    """A place by descriptions that all ranks have alike, such as vLLM's ``ParamMeta``.

    Each has ``name``, ``shape`` (of the whole), ``owners`` (ranks, row-major over the mesh, or
    ``None``: all), ``mesh_shape`` and ``placements`` (one for each dimension of the mesh, see
    :func:`box_of`; ``None``: whole at each owner). InvalidArgumentError names a tensor that is not
    described, not this rank's, or of another shape.
    """
    by_name = {tensor.name: tensor for tensor in tensors}

    def place(name: str, array: Any) -> Iterable[tuple[str, Any]]:
        tensor = by_name.get(name)
        if tensor is None:
            raise InvalidArgumentError(f"tensor {name!r} is not described")
        owners = None if tensor.owners is None else list(tensor.owners)
        if owners is not None and rank not in owners:
            raise InvalidArgumentError(
                f"tensor {name!r} is described as of ranks {owners}, and this is rank {rank}"
            )
        mesh, placements = tuple(tensor.mesh_shape or ()), tuple(tensor.placements or ())
        coordinate = _coordinate(rank if owners is None else owners.index(rank), mesh)
        offset, shape = box_of(tensor.shape, mesh, placements, coordinate)
        if tuple(array.shape) != shape:
            raise InvalidArgumentError(
                f"tensor {name!r} has shape {list(array.shape)} here, and its description makes it "
                f"{list(shape)} at {list(offset)} of {list(tensor.shape)}"
            )
        return [(name, sliced(array, tensor.shape, offset))]

    return place


def box_of(
    shape: Sequence[int],
    mesh_shape: Sequence[int],
    placements: Sequence[Any],
    coordinate: Sequence[int],
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The offset and the shape of what one rank of a mesh has of a tensor.

    A placement with a ``dim`` cuts that dimension as DTensor does, in pieces of equal size of which
    the last ones may be shorter or empty; one without replicates. ValueError: partial sums, strided
    pieces, or a mesh that does not fit.
    """
    if not len(mesh_shape) == len(placements) == len(coordinate):
        raise ValueError(f"{len(placements)} placements for a mesh of shape {list(mesh_shape)}")
    offset, extent = [0] * len(shape), [int(size) for size in shape]
    for count, placement, index in zip(mesh_shape, placements, coordinate, strict=True):
        kind = type(placement).__name__
        if "Partial" in kind or hasattr(placement, "split_factor"):
            raise ValueError(f"a placement of kind {kind} is no box; redistribute the tensor first")
        dimension = getattr(placement, "dim", None)
        if dimension is None:
            continue
        size = -(-extent[dimension] // count)
        begin = min(index * size, extent[dimension])
        extent[dimension] = min(begin + size, extent[dimension]) - begin
        offset[dimension] += begin
    return tuple(offset), tuple(extent)


def given(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """What ``register`` takes, of a place's pairs: pieces of one name together.

    InvalidArgumentError names what is there twice and is no slice.
    """
    merged: dict[str, Any] = {}
    for name, value in pairs:
        if name not in merged:
            merged[name] = value
            continue
        pieces = merged[name] if isinstance(merged[name], list) else [merged[name]]
        if not all(isinstance(piece, Sliced) for piece in [*pieces, value]):
            raise InvalidArgumentError(
                f"tensor {name!r} is there twice; several pieces of one name have to be "
                "tensorhub.sliced(...)"
            )
        merged[name] = [*pieces, value]
    return merged


def _degree(name: str, degree: tuple[int, int]) -> tuple[int, int]:
    index, size = (whole_number(name, number) for number in degree)
    if index >= size:
        raise ValueError(f"{name} is (index, size) with index below size, not {degree}")
    return index, size


def _count(name: str, degree: tuple[int, int], what: str, total: int | None) -> Count:
    index, size = degree
    if size == 1:
        return Count(what, name, size, 0, None)
    if total is None or total % size:
        raise ValueError(f"{name} has size {size}: give {what}, a multiple of it, not {total}")
    return Count(what, name, size, index * (total // size), total // size)


def _layers(degree: tuple[int, int], total: int | None, first: int | None) -> Count:
    """Stages may have unequal numbers of layers, where the first one is given."""
    if first is None:
        return _count("pp", degree, "layers", total)
    first = whole_number("first_layer", first)
    return Count("layers", "pp", degree[1], first, None if total is None else total - first)


def _cut_dimension(
    name: str, array: Any, patterns: Mapping[str, int | None], count: int
) -> int | None:
    for pattern, dimension in patterns.items():
        if fnmatch.fnmatchcase(name, pattern):
            return dimension
    said = getattr(array, "tensor_model_parallel", None)
    if said is None and count > 1 and len(array.shape) > 1:
        raise InvalidArgumentError(
            f"tensor {name!r} is a matrix, and nothing says how its {count} ranks cut it; give "
            f"dimensions={{{name!r}: …}}, a dimension, or None if each rank has all of it"
        )
    return int(array.partition_dim) if said else None


def _coordinate(number: int, mesh_shape: tuple[int, ...]) -> tuple[int, ...]:
    coordinate = []
    for size in reversed(mesh_shape):
        coordinate.append(number % size)
        number //= size
    return tuple(reversed(coordinate))
