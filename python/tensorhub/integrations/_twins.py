# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""What a rank takes of a version, in host memory beside the model: fetched early, copied late."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

import torch

from tensorhub._copies import copies_for
from tensorhub._errors import DataLossError, FailedPreconditionError
from tensorhub._types import Sliced
from tensorhub.integrations._names import first_names
from tensorhub.integrations._stage import Target

__all__ = ["Twins"]


class Twins(Target):
    """A target in which each tensor has a twin; fetches fill the twins, which peers read.

    The tensors themselves change by :meth:`copy` alone.
    """

    _pairs: tuple[tuple[str, torch.Tensor, torch.Tensor], ...] = ()

    def register(self, tensors: Mapping[str, Any], before: str = "") -> None:
        """Makes the twins and registers them, as what they are the twins of would be."""
        found = [(name, array) for name, value in tensors.items() for array in _arrays(value)]
        made = copies_for(self.client, [(array.dtype, array.shape) for _, array in found])
        self._pairs = tuple(
            (name, array, twin) for (name, array), twin in zip(found, made, strict=True)
        )
        twins = iter(made)
        made_of = {name: _twin_of(value, twins) for name, value in tensors.items()}
        super().register(made_of, before)

    def copy(self) -> None:
        """Fills the tensors. Requires that a fetch has filled the twins, and that none runs."""
        with torch.no_grad():
            for _, tensor, twin in self._pairs:
                tensor.copy_(twin)

    def check(self, number: int) -> None:
        """DataLossError names what is not its twin's. FailedPreconditionError: the twins have
        another version already."""
        if self.client.held() != number:
            raise FailedPreconditionError(
                f"the model has version {number}, and what it came of is being filled with the "
                "next one: verify before a version is staged, or after it is in the model"
            )
        different = [name for name, tensor, twin in self._pairs
                     if not torch.equal(tensor, twin.to(tensor.device))]  # fmt: skip
        if different:
            raise DataLossError(
                f"the model does not have what was published as version {number}: "
                f"{first_names(different)} differ; somebody wrote into its parameters: update again"
            )

    def close(self) -> None:
        super().close()
        self._pairs = ()


def _arrays(value: Any) -> Iterator[torch.Tensor]:
    for piece in value if isinstance(value, list) else [value]:
        yield piece.array if isinstance(piece, Sliced) else piece


def _twin_of(value: Any, twins: Iterator[torch.Tensor]) -> Any:
    if isinstance(value, list):
        return [_twin_of(piece, twins) for piece in value]
    twin = next(twins)
    return dataclasses.replace(value, array=twin) if isinstance(value, Sliced) else twin
