# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""What the plug-ins ask of a model, whichever engine it is of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch

from tensorhub._errors import FailedPreconditionError
from tensorhub.integrations._names import apart, first_names
from tensorhub.integrations._plan import Plan

__all__ = ["check_names", "detach", "named_tensors", "refusal"]


_SAID_MAX = 200
# What PEFT puts into names.
_ADAPTED = (".lora_", ".base_layer.")
# Whole numbers, and the floating point of one byte that is no scale's.
_QUANTISED = ("int", "uint", "float8_e4m3", "float8_e5m2")


def check_names(plan: Plan, number: int) -> None:
    """FailedPreconditionError: a parameter of the engine would keep what it has, or a quantised one
    would get numbers that nobody has quantised."""
    unlike = [
        piece
        for piece in plan.pieces
        if piece.source.dtype != piece.target.dtype and _quantised(piece.target.dtype)
    ]
    if unlike:
        there, here = (str(region.dtype).removeprefix("torch.")
                       for region in (unlike[0].source, unlike[0].target))  # fmt: skip
        raise FailedPreconditionError(
            f"version {number} has {first_names([piece.name for piece in unlike])} as {there}, and "
            f"this engine has them quantised, as {here}: publish what its checkpoint has, or start "
            "an engine that is not quantised. The model is unchanged"
        )
    if plan.partly.keys() & set(plan.unfilled):
        raise FailedPreconditionError(
            f"version {number} has only a part of what goes to "
            f"{first_names(_parts(plan))}; publish all parts, under the names of the Hugging Face "
            "checkpoint. The model is unchanged"
        )
    if plan.unfilled:
        raise FailedPreconditionError(
            f"version {number} does not have what this engine needs: nothing published goes to "
            f"{first_names(plan.unfilled)}; of the published tensors the engine takes nothing of "
            f"{first_names(plan.untaken)}; {_remedy(plan.untaken, plan.unfilled)}. The model is "
            "unchanged"
        )


def _parts(plan: Plan) -> list[str]:
    """Parameters that would get a part of their elements, with what is published for them."""
    found = []
    for name in plan.unfilled:
        if name not in plan.partly:
            continue
        lacking = plan.partly[name]
        given = dict.fromkeys(piece.name for piece in plan.pieces if piece.parameter == name)
        found.append(
            f"{name} (it would keep {lacking.elements} of its {lacking.of} elements, and gets "
            f"{first_names(list(given))})"
        )
    return found


def _quantised(dtype: torch.dtype) -> bool:
    return str(dtype).removeprefix("torch.").startswith(_QUANTISED)


def detach(model: torch.nn.Module, memory: torch.Tensor | None) -> None:
    """Gives parameters that a loader left inside of ``memory`` memory of their own.

    The next fetch would change them while the model is used.
    """
    if memory is None:
        return
    begin = memory.data_ptr()
    for tensor in named_tensors(model).values():
        if tensor.device == memory.device and 0 <= tensor.data_ptr() - begin < memory.nbytes:
            tensor.data = tensor.data.clone()


def named_tensors(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Its parameters and buffers, by each of their names."""
    return {
        **dict(model.named_parameters(remove_duplicate=False)),
        **dict(model.named_buffers(remove_duplicate=False)),
    }


def refusal(
    error: Exception, model: torch.nn.Module, published: Iterable[str]
) -> FailedPreconditionError:
    """For what a model's loading code raised when it was shown names and shapes."""
    given, there = list(published), list(named_tensors(model))
    return FailedPreconditionError(
        f"this model does not take what is published: {type(error).__name__}: {_begin_of(error)}; "
        f"published are {first_names(given)}; the model has {first_names(there)}; "
        f"{_remedy(given, there)}. The model is unchanged"
    )


def _remedy(published: Sequence[str], there: Iterable[str]) -> str:
    if any(mark in name for name in published for mark in _ADAPTED):
        return (
            "publish a model with adapters after merge_and_unload(), or its adapter by "
            "tensorhub.torch.AdapterPublisher"
        )
    return apart(published, there) or (
        "publish under the names and shapes of the Hugging Face checkpoint"
    )


def _begin_of(error: Exception) -> str:
    """Its first sentence: engines name all their parameters behind it, in any order."""
    said = " ".join(str(error).split()).partition(". ")[0]
    return said if len(said) <= _SAID_MAX else f"{said[:_SAID_MAX]}…"
