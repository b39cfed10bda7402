# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Whether an SGLang's model has what was published, by SGLang's own checksums of its parameters.

SGLang's weight checker says what each parameter hashes to. The same hash of what the model's
loading code would have put there, of a version that is known to be whole, has to be equal.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import torch

from tensorhub._errors import DataLossError, Error, with_code
from tensorhub._verify import Receipt
from tensorhub.integrations._coverage import last_of
from tensorhub.integrations._names import first_names
from tensorhub.integrations._plan import Piece, Plan, Region

__all__ = ["action_for", "answered", "asked", "compared", "said"]

_ACTION = "tensorhub"
# These leave a weight where the loader put it, but on a CPU with AMX.
_PLAIN_METHODS = ("UnquantizedLinearMethod", "UnquantizedEmbeddingMethod")
_FIELDS = ("version", "receipt", "tensors", "bytes", "unchecked")


def asked(action: str) -> float | None:
    """Of an action of SGLang's weight checker: the timeout, if it is this plug-in's."""
    name, _, timeout = action.partition(":")
    return (float(timeout) if timeout else 600.0) if name == _ACTION else None


def action_for(timeout: float) -> str:
    return f"{_ACTION}:{timeout}"


def said(receipt: Receipt) -> dict[str, str]:
    """A receipt in the place where the weight checker's answer has text by name."""
    return {name: json.dumps(getattr(receipt, name)) for name in _FIELDS}


def answered(done: bool, message: str, ranks: list[Mapping[str, Any]] | None) -> list[Receipt]:
    """What SGLang's weight checker answered, of each rank."""
    if not done:
        code, _, rest = message.removeprefix("TensorHub: ").partition(": ")
        raise with_code(code, rest) or Error(message)
    found = []
    for rank in ranks or []:
        values = {name: json.loads(text) for name, text in rank["checksums"].items()}
        found.append(Receipt(**{**values, "unchecked": tuple(values["unchecked"])}))
    return found


def compared(
    model: torch.nn.Module,
    plan: Plan | None,
    loaded: Mapping[str, torch.Tensor],
    number: int,
    checksums: Mapping[str, str],
    hashed: Callable[[torch.Tensor], str],
) -> tuple[int, int, tuple[str, ...]]:
    """How many parameters and bytes are as they were published; which names say nothing.

    ``checksums`` is what SGLang says of its parameters, made by ``hashed``. DataLossError names
    parameters of another value. Takes memory for one parameter beside the model.
    """
    if plan is None:
        return 0, 0, tuple(loaded)
    pieces: dict[str, list[Piece]] = {}
    for piece in plan.pieces:
        pieces.setdefault(piece.parameter, []).append(piece)
    places = {**dict(model.named_parameters()), **dict(model.named_buffers())}
    unchecked, different = set(plan.changed), []
    count = nbytes = 0
    for name, given in pieces.items():
        tensor = places.get(name)
        if tensor is None or name not in checksums or not _plain(model, name, tensor, given):
            unchecked |= {piece.name for piece in given}
            continue
        if hashed(_expected(tensor, given, loaded)) != checksums[name]:
            different.append(name)
        count, nbytes = count + 1, nbytes + tensor.nbytes
    if different:
        raise DataLossError(
            f"the model does not have what was published as version {number}: "
            f"{first_names(different)} differ; somebody wrote into its parameters: update again"
        )
    return count, nbytes, tuple(sorted(unchecked))


def _plain(model: torch.nn.Module, name: str, tensor: torch.Tensor, pieces: list[Piece]) -> bool:
    """Whether the parameter is as it was loaded: its module leaves it so, and the pieces fit."""
    module = model.get_submodule(name.rpartition(".")[0])
    if getattr(module, "use_intel_amx_backend", False) or not tensor.is_contiguous():
        return False
    method = getattr(module, "quant_method", None)
    return (method is None or type(method).__name__ in _PLAIN_METHODS) and all(
        piece.target.dtype == tensor.dtype and _end(piece.target) <= tensor.numel()
        for piece in pieces
    )


def _end(region: Region) -> int:
    """Behind its last element."""
    return region.offset if 0 in region.shape else last_of(region.view) + 1


def _expected(
    tensor: torch.Tensor, pieces: list[Piece], loaded: Mapping[str, torch.Tensor]
) -> torch.Tensor:
    """What the parameter would hold; what nothing is published for, such as padding, is its own."""
    found = tensor.detach().clone()
    for piece in pieces:
        source, target = piece.source, piece.target
        whole = loaded[piece.name]
        value = whole.as_strided(
            source.shape, source.stride, whole.storage_offset() + source.offset
        )
        found.as_strided(target.shape, target.stride, target.offset).copy_(value)
    return found
