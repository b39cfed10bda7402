# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Fetching straight into a vLLM model's parameters, where that is provably what its loader does.

Three things must hold, for all published tensors of which this rank takes something. The plan says
that each piece is a slice which lands in dense memory of its own. After a load through vLLM's own
loader that memory has the published bytes, so nothing was repacked. And no module keeps something
else that was computed of weights.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from tensorhub import placing
from tensorhub._types import Sliced, sliced
from tensorhub.integrations._boxes import Box, boxes_of
from tensorhub.integrations._plan import Plan

__all__ = ["lines", "obstacles", "views"]

# These leave a weight where the loader put it, on a GPU.
_PLAIN_METHODS = ("UnquantizedLinearMethod", "UnquantizedEmbeddingMethod")
# Bare tensors of modules that come of no weight; numbers for themselves are scales of the KV cache.
_PLAIN_ATTRIBUTES = ("kv_cache",)
_LISTED_MAX = 3


def obstacles(model: torch.nn.Module, vllm_config: Any) -> str:
    """Why this engine's model cannot be fetched into at all; empty if nothing speaks against it."""
    if getattr(vllm_config.model_config, "enable_sleep_mode", False):
        return "sleep mode takes the memory away that peers read"
    for name, module in model.named_modules():
        method = getattr(module, "quant_method", None)
        if method is not None and type(method).__name__ not in _PLAIN_METHODS:
            return f"{name} is loaded by {type(method).__name__}, which may repack it"
        for key, value in vars(module).items():
            if key not in _PLAIN_ATTRIBUTES and isinstance(value, torch.Tensor) and value.dim():
                return f"{name} keeps {key}, which may be computed of weights"
    return ""


def views(
    model: torch.nn.Module, plan: Plan, loaded: Mapping[str, torch.Tensor], ranks: int
) -> tuple[dict[str, Any], dict[str, list[str]]]:
    """What ``register`` takes: views into the model, and why names have none, by reason.

    ``loaded`` is what the model's loader has just loaded, all of it; a view is one only if it has
    these bytes. Of ``ranks`` that hold the model together, each has slices; a single one has whole
    tensors where it can, as other engines of one rank do.
    """
    boxes, refused = boxes_of(plan, {name: tuple(t.shape) for name, t in loaded.items()})
    places = {**dict(model.named_parameters(remove_duplicate=False)), **dict(model.named_buffers())}
    found: list[tuple[str, torch.Tensor | Sliced]] = []
    for box in boxes:
        name, whole = box.piece.name, loaded[box.piece.name]
        view = _view(places.get(box.piece.parameter), box, whole)
        if view is None:
            refused[name] = "vLLM keeps it in another form"
        elif ranks == 1 and box.covers(whole.shape):
            found.append((name, view))
        else:
            found.append((name, sliced(view, whole.shape, box.offset)))
    reasons: dict[str, list[str]] = {}
    for name, reason in refused.items():
        reasons.setdefault(reason, []).append(name)
    return placing.given(found), reasons


def _view(place: torch.Tensor | None, box: Box, whole: torch.Tensor) -> torch.Tensor | None:
    if place is None or place.dtype != whole.dtype or not place.is_contiguous():
        return None
    begin, loaded = box.piece.target.offset, whole[box.slices()]
    if begin + loaded.numel() > place.numel():
        return None
    view = place.detach().reshape(-1)[begin : begin + loaded.numel()].view(loaded.shape)
    return view if torch.equal(view, loaded.to(view.device)) else None


def lines(reasons: Mapping[str, list[str]]) -> list[str]:
    """One for each reason, for the log."""
    found = []
    for reason, names in reasons.items():
        more = f" and {len(names) - _LISTED_MAX} more" if len(names) > _LISTED_MAX else ""
        found.append(f"{', '.join(names[:_LISTED_MAX])}{more}: {reason}")
    return found
