# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Fetching straight into a vLLM model's parameters, where that is provably what its loader does.

Three things must hold, for all published tensors of which this rank takes something. The plan says
that each piece is a slice which lands in dense memory of its own. After a load through vLLM's own
loader that memory has the published bytes, so nothing was repacked. And no module keeps something
else that was computed of weights.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch

from tensorhub import placing
from tensorhub._errors import AbortedError, DataLossError, Error
from tensorhub._types import Sliced, sliced
from tensorhub.integrations._boxes import Box, boxes_of
from tensorhub.integrations._model import named_tensors
from tensorhub.integrations._names import first_names
from tensorhub.integrations._plan import Plan
from tensorhub.integrations._receiver import Peers, followed
from tensorhub.integrations._settings import Settings
from tensorhub.integrations._stage import Arrived, Member, Target

__all__ = ["Loaded", "compared", "fetch", "join", "lines", "obstacles", "of_ranks", "views"]

# These leave a weight where the loader put it, on a GPU.
_PLAIN_METHODS = ("UnquantizedLinearMethod", "UnquantizedEmbeddingMethod")
# Of experts; other kernels want them shuffled, swapped or packed.
_PLAIN_KERNELS = ("TRITON", "BATCHED_TRITON")
# Bare tensors of modules that come of no weight; numbers for themselves are scales of the KV cache.
_PLAIN_ATTRIBUTES = ("kv_cache",)
_LISTED_MAX = 3


def obstacles(model: torch.nn.Module, vllm_config: Any) -> str:
    """Why this engine's model cannot be fetched into at all; empty if nothing speaks against it."""
    if getattr(vllm_config.model_config, "enable_sleep_mode", False):
        return "sleep mode takes the memory away that peers read"
    for name, module in model.named_modules():
        method = getattr(module, "quant_method", None)
        if method is not None and not _is_plain(method):
            return f"{name} is loaded by {type(method).__name__}, which may repack it"
        for key, value in vars(module).items():
            if key not in _PLAIN_ATTRIBUTES and isinstance(value, torch.Tensor) and value.dim():
                return f"{name} keeps {key}, which may be computed of weights"
    return ""


@dataclass(frozen=True)
class Loaded:
    """A model, and what its loader has just loaded into it."""

    model: torch.nn.Module
    vllm_config: Any
    plan: Plan | None
    tensors: Mapping[str, torch.Tensor]
    before: str = ""
    """What stands before the tensors' names where they are published."""


def join(
    loaded: Loaded, settings: Settings, peers: Peers, kind: type[Target]
) -> tuple[Target | None, list[str]]:
    """A target for what this rank takes of versions, as a member of a group of all ranks.

    None, and the reasons, if it cannot be taken as slices on all of them.
    """
    ranks = len(peers.gather(None))
    found, mine = _slices_of(loaded, ranks)
    why_not = of_ranks(peers.gather(mine))
    if why_not:
        return None, why_not
    group = peers.gather(settings.group_here())[0]
    target = kind(settings, Member(group, peers.rank, ranks))
    complaint = ""
    try:
        target.register(found, loaded.before)
    except Error as error:
        complaint = str(error)
    why_not = of_ranks(peers.gather([complaint] if complaint else []))
    if why_not:
        target.close()
        return None, why_not
    return target, []


def fetch(
    target: Target, peers: Peers, number: int, before: Arrived | None, limit: float | None
) -> tuple[Arrived | None, Error | None]:
    """What all ranks' models hold after a fetch into them, None if that is no one version; and what
    went wrong, on this rank or elsewhere. ``before``: what they held before it. ``limit``: how long
    it may take."""
    arrived, error = None, None
    try:
        fetching = target.begin(number)
        fetching.hurry(limit)
        arrived = followed(fetching, peers)
    except Error as failed:
        error = failed
    outcomes = peers.gather((error is not None, target.client.held()))
    if not any(broke for broke, _ in outcomes):
        return arrived, None
    error = error or AbortedError("another rank of this engine could not fetch")
    if before is not None and all(version == before.version for _, version in outcomes):
        return before, error
    mixed = type(error)(
        f"version {number} did not arrive whole: {error}; the model is fetched into, and has "
        "parts of it and of what it had before: update again before it serves"
    )
    mixed.__cause__ = error
    return None, mixed


def _slices_of(loaded: Loaded, ranks: int) -> tuple[dict[str, Any], list[str]]:
    """What this rank would register, and why it cannot."""
    reason = obstacles(loaded.model, loaded.vllm_config)
    if reason or loaded.plan is None:
        return {}, [reason or "what the loader does could not be recorded"]
    found, reasons = views(loaded.model, loaded.plan, loaded.tensors, ranks)
    return found, lines(reasons)


def views(
    model: torch.nn.Module, plan: Plan, loaded: Mapping[str, torch.Tensor], ranks: int
) -> tuple[dict[str, Any], dict[str, list[str]]]:
    """What ``register`` takes: views into the model, and why names have none, by reason.

    ``loaded`` is what the model's loader has just loaded, all of it; a view is one only if it has
    these bytes. Of ``ranks`` that hold the model together, each has slices; a single one has whole
    tensors where it can, as other engines of one rank do.
    """
    boxes, refused = boxes_of(plan, {name: tuple(t.shape) for name, t in loaded.items()})
    places = named_tensors(model)
    found: list[tuple[str, torch.Tensor | Sliced]] = []
    for box in boxes:
        name, whole = box.piece.name, loaded[box.piece.name]
        view = _at(places.get(box.piece.parameter), box, whole)
        if view is None or not _has(view, box, whole):
            refused[name] = "vLLM keeps it in another form"
        elif ranks == 1 and box.covers(whole.shape):
            found.append((name, view))
        else:
            found.append((name, sliced(view, whole.shape, box.offset)))
    reasons: dict[str, list[str]] = {}
    for name, reason in refused.items():
        reasons.setdefault(reason, []).append(name)
    return placing.given(found), reasons


def compared(
    model: torch.nn.Module, plan: Plan | None, loaded: Mapping[str, torch.Tensor], number: int
) -> tuple[int, int, tuple[str, ...]]:
    """How many slices and bytes the model has as they were loaded; the names of other forms.

    DataLossError names what has another value.
    """
    if plan is None:
        return 0, 0, tuple(loaded)
    boxes, refused = boxes_of(plan, {name: tuple(t.shape) for name, t in loaded.items()})
    places, unchecked, different = named_tensors(model), {*refused, *plan.kept}, []
    count = nbytes = 0
    for box in boxes:
        name, whole = box.piece.name, loaded[box.piece.name]
        view = _at(places.get(box.piece.parameter), box, whole)
        if view is None or not _plain(model, box.piece.parameter):
            unchecked.add(name)
        elif _has(view, box, whole):
            count, nbytes = count + 1, nbytes + view.nbytes
        else:
            different.append(name)
    if different:
        raise DataLossError(
            f"the model does not have what was published as version {number}: "
            f"{first_names(different)} differ; somebody wrote into its parameters: update again"
        )
    return count, nbytes, tuple(sorted(unchecked))


def _plain(model: torch.nn.Module, parameter: str) -> bool:
    """Whether the parameter's module leaves it as it was loaded."""
    method = getattr(model.get_submodule(parameter.rpartition(".")[0]), "quant_method", None)
    return method is None or _is_plain(method)


def _is_plain(method: Any) -> bool:
    kernels = getattr(getattr(method, "unquantized_backend", None), "name", "")
    return type(method).__name__ in _PLAIN_METHODS or kernels in _PLAIN_KERNELS


def _at(place: torch.Tensor | None, box: Box, whole: torch.Tensor) -> torch.Tensor | None:
    """Where the model has a box, if it has it in the form in which it was loaded."""
    if place is None or place.dtype != whole.dtype or not place.is_contiguous():
        return None
    begin, count = box.piece.target.offset, math.prod(box.shape)
    if begin + count > place.numel():
        return None
    return place.detach().reshape(-1)[begin : begin + count].view(box.shape)


def _has(view: torch.Tensor, box: Box, whole: torch.Tensor) -> bool:
    return torch.equal(view, whole[box.slices()].to(view.device))


def lines(reasons: Mapping[str, list[str]]) -> list[str]:
    """One for each reason, for the log."""
    found = []
    for reason, names in reasons.items():
        more = f" and {len(names) - _LISTED_MAX} more" if len(names) > _LISTED_MAX else ""
        found.append(f"{', '.join(names[:_LISTED_MAX])}{more}: {reason}")
    return found


def of_ranks(reasons: list[list[str]]) -> list[str]:
    """The reasons of all ranks, each once; with the rank where not all have it."""
    lines: dict[str, list[int]] = {}
    for rank, mine in enumerate(reasons):
        for line in mine:
            lines.setdefault(line, []).append(rank)
    return [line if len(ranks) == len(reasons) else f"rank {ranks[0]}: {line}"
            for line, ranks in lines.items()]  # fmt: skip
