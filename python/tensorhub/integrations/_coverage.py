# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Views as boxes of what they are views of, and how much of a parameter a set of them covers.

A fused weight is filled by several copies, and one that is missing leaves its rows as they were. So
elements are counted, and not names. Almost all copies are boxes of the parameter: these cut each
axis in a few places, and the cells between are few, whatever the parameter's size.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

__all__ = ["Lacking", "View", "box_of", "is_run", "last_of", "unwritten"]

View = tuple[int, Sequence[int], Sequence[int]]
"""What ``as_strided`` takes: where it begins, counted in elements, its shape and its strides."""


@dataclass(frozen=True)
class Lacking:
    """What of a parameter nothing was written to."""

    elements: int
    of: int
    is_behind: bool
    """All of it lies behind what was written, along some axes, as padding does."""


_Box = tuple[tuple[int, ...], tuple[int, ...]]  # where it begins, how far it goes


def box_of(view: View, shape: Sequence[int]) -> _Box | None:
    """A view of a dense tensor of ``shape`` as a box of it, row by row.

    None if its elements are no box, or in another order.
    """
    if 0 in shape:
        return (0,) * len(shape), tuple(shape)
    strides = [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
    begin, rest = [], view[0]
    for stride in strides:
        begin.append(rest // stride)
        rest -= begin[-1] * stride
    extents = [1] * len(shape)
    axis = len(shape) - 1
    for extent, stride in zip(reversed(view[1]), reversed(view[2]), strict=True):
        if extent == 1:
            continue
        while axis >= 0 and (shape[axis] == 1 or strides[axis] != stride):
            axis -= 1
        # Axes that a view has merged are whole, but for the outermost one.
        while axis > 0 and begin[axis] == 0 and extent > shape[axis] and not extent % shape[axis]:
            extents[axis] = shape[axis]
            extent //= shape[axis]
            axis -= 1
        if axis < 0 or begin[axis] + extent > shape[axis]:
            return None
        extents[axis] = extent
        axis -= 1
    return tuple(begin), tuple(extents)


def unwritten(
    shape: Sequence[int], stride: Sequence[int], writes: Iterable[View]
) -> Lacking | None:
    """Which elements of a parameter are in none of the writes; None: there are no such.

    Writes are views of its memory, counted from its first element; they may reach beyond it.
    """
    axes = [axis for axis in _sorted(shape, stride) if axis[1] != 1]
    whole = [extent for _, extent in axes]
    if [step for step, _ in axes] != [math.prod(whole[i + 1 :]) for i in range(len(whole))]:
        return None  # a view of another parameter, which is looked at by itself
    total = math.prod(whole)
    given = [write for write in writes if 0 not in write[1]]
    found = [_box_within(write, whole) for write in given]
    boxes = [box for box in found if box is not None and 0 not in box[1]]
    if None in found:
        lacking, is_behind = _by_element(total, given), False
    else:
        there = _volume(boxes, len(whole))
        hull = math.prod(
            max((begin[axis] + extents[axis] for begin, extents in boxes), default=0)
            for axis in range(len(whole))
        )
        lacking, is_behind = total - there, there == hull
    return Lacking(lacking, total, is_behind) if lacking > 0 else None


def _sorted(shape: Sequence[int], stride: Sequence[int]) -> list[tuple[int, int]]:
    """Stride and extent of each axis, the longest stride first."""
    return sorted(zip(stride, shape, strict=True), key=lambda axis: -axis[0])


def _box_within(write: View, whole: Sequence[int]) -> _Box | None:
    """Its order does not matter here."""
    axes = _sorted(write[1], write[2])
    if write[0] <= 0 and write[0] + math.prod(write[1]) >= math.prod(whole) and is_run(axes):
        return (0,) * len(whole), tuple(whole)  # all of it, and more
    if last_of(write) < 0 or write[0] >= math.prod(whole):
        return (0,) * len(whole), (0,) * len(whole)  # of a parameter beside it
    if write[0] < 0:
        return None
    view = (write[0], [extent for _, extent in axes], [step for step, _ in axes])
    return box_of(view, whole)


def last_of(write: View) -> int:
    """Where its last element is."""
    offset, shape, stride = write
    return offset + sum((extent - 1) * step for extent, step in zip(shape, stride, strict=True))


def is_run(axes: Sequence[tuple[int, int]]) -> bool:
    expected = 1
    for step, extent in reversed(axes):
        if extent != 1 and step != expected:
            return False
        expected *= extent
    return True


def _volume(boxes: Sequence[_Box], dimensions: int) -> int:
    """Of all of them together."""
    if dimensions == 0:
        return min(len(boxes), 1)
    cuts: list[list[int]] = []
    for axis in range(dimensions):
        ends = {end for begin, extents in boxes
                for end in (begin[axis], begin[axis] + extents[axis])}  # fmt: skip
        cuts.append(sorted(ends))
    places: list[dict[int, int]] = [{cut: i for i, cut in enumerate(found)} for found in cuts]
    cells: Any = torch.zeros(
        [max(len(found) - 1, 0) for found in cuts], dtype=torch.bool, device="cpu"
    )
    for begin, extents in boxes:
        cells[tuple(slice(places[axis][begin[axis]], places[axis][begin[axis] + extents[axis]])
                    for axis in range(dimensions))] = True  # fmt: skip
    for axis, found in enumerate(cuts):
        sizes = [there - here for here, there in itertools.pairwise(found)]
        view = [1] * dimensions
        view[axis] = len(sizes)
        cells = cells * torch.tensor(sizes, dtype=torch.int64, device="cpu").view(view)
    return int(cells.sum())


def _by_element(total: int, writes: Sequence[View]) -> int:
    """With a byte for each element, where a write is no box: such parameters are small."""
    begin = min(0, *(write[0] for write in writes))
    lasts = [last_of(write) for write in writes]
    seen = torch.zeros(max(total - 1, *lasts) + 1 - begin, dtype=torch.bool, device="cpu")
    for offset, shape, stride in writes:
        seen.as_strided(tuple(shape), tuple(stride), offset - begin).fill_(True)
    return total - int(seen[-begin : total - begin].sum())
