# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Which pieces of a plan are slices of published tensors that can be registered where they land.

A slice is a box of the whole tensor, row by row, in dense memory of the same dtype. One rank may
hold several boxes of one name, but no element twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tensorhub.integrations._coverage import box_of
from tensorhub.integrations._plan import Piece, Plan

__all__ = ["Box", "boxes_of"]


@dataclass(frozen=True)
class Box:
    """A piece of a plan, as the box of the published tensor that it is."""

    piece: Piece
    offset: tuple[int, ...]
    shape: tuple[int, ...]

    def covers(self, shape: Sequence[int]) -> bool:
        """Whether it is all of a tensor of this shape."""
        return self.shape == tuple(shape)

    def slices(self) -> tuple[slice, ...]:
        """What the published tensor is indexed with to get it."""
        return tuple(
            slice(begin, begin + extent)
            for begin, extent in zip(self.offset, self.shape, strict=True)
        )


def boxes_of(plan: Plan, shapes: Mapping[str, Sequence[int]]) -> tuple[list[Box], dict[str, str]]:
    """The plan's pieces as boxes, and which names are not made of boxes, each with the reason.

    A name is in one of both, or in none of them if this worker takes no element of it.
    """
    by_name: dict[str, list[Piece]] = {}
    for piece in plan.pieces:
        by_name.setdefault(piece.name, []).append(piece)
    refused = {name: f"its values are changed by {how}" for name, how in plan.changed.items()}
    found: list[Box] = []
    for name, pieces in by_name.items():
        if name in refused:
            continue
        boxes, reason = _boxes(pieces, tuple(shapes[name]))
        if reason:
            refused[name] = reason
        else:
            found += boxes
    return found, refused


def _boxes(pieces: list[Piece], shape: tuple[int, ...]) -> tuple[list[Box], str]:
    boxes: list[Box] = []
    for piece in pieces:
        if 0 in piece.source.shape and 0 not in shape:
            continue  # such as the last rank's part of a short tensor
        if piece.source.dtype != piece.target.dtype:
            return [], "its dtype is another one in the engine"
        if not piece.target.dense:
            return [], "it does not lie densely in the engine"
        box = box_of(piece.source.view, shape)
        if box is None:
            return [], "what the engine takes of it is transposed, or no box of the whole tensor"
        made = Box(piece, *box)
        if any(_overlap(made, other) for other in boxes):
            return [], "the engine keeps elements of it in two places"
        boxes.append(made)
    return boxes, ""


def _overlap(one: Box, other: Box) -> bool:
    return all(
        mine < yours + there and yours < mine + here
        for mine, here, yours, there in zip(
            one.offset, one.shape, other.offset, other.shape, strict=True
        )
    )
