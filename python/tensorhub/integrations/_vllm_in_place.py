# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Fetching straight into a vLLM model's parameters, where that is provably what its loader does.

Three things must hold, for all published tensors. The plan says that each lands whole in dense
memory of its own. After a load through vLLM's own loader that memory has the published bytes, so
nothing was repacked. And no module keeps something else that was computed of weights.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from tensorhub.integrations._plan import Piece, Plan, whole_pieces

__all__ = ["lines", "obstacles", "views"]

# These leave a weight where the loader put it, on a GPU.
_PLAIN_METHODS = ("UnquantizedLinearMethod", "UnquantizedEmbeddingMethod")
# Bare tensors of modules that come of no weight; numbers for themselves are scales of the KV cache.
_PLAIN_ATTRIBUTES = ("kv_cache",)
_LISTED_MAX = 3


def obstacles(model: torch.nn.Module, vllm_config: Any, ranks: int) -> str:
    """Why this engine's model cannot be fetched into at all; empty if nothing speaks against it."""
    if ranks > 1:
        return f"each of {ranks} ranks holds parts of the published tensors"
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
    model: torch.nn.Module, plan: Plan, loaded: Mapping[str, torch.Tensor]
) -> tuple[dict[str, torch.Tensor], dict[str, list[str]]]:
    """Each published tensor as a view into the model, and why names are not: by reason.

    ``loaded`` is what the model's loader has just loaded; a view is one only if it has these bytes.
    """
    whole, refused = whole_pieces(plan, {name: tuple(t.shape) for name, t in loaded.items()})
    places = {**dict(model.named_parameters(remove_duplicate=False)), **dict(model.named_buffers())}
    found: dict[str, torch.Tensor] = {}
    for piece in whole:
        view = _view(places.get(piece.parameter), piece, loaded[piece.name])
        if view is None:
            refused[piece.name] = "vLLM keeps it in another form"
        else:
            found[piece.name] = view
    reasons: dict[str, list[str]] = {}
    for name, reason in refused.items():
        reasons.setdefault(reason, []).append(name)
    return found, reasons


def _view(place: torch.Tensor | None, piece: Piece, loaded: torch.Tensor) -> torch.Tensor | None:
    target = piece.target
    if place is None or place.dtype != loaded.dtype or not place.is_contiguous():
        return None
    if target.offset + loaded.numel() > place.numel():
        return None
    view = place.detach().reshape(-1)[target.offset : target.offset + loaded.numel()]
    view = view.view(loaded.shape)
    return view if torch.equal(view, loaded.to(view.device)) else None


def lines(reasons: Mapping[str, list[str]]) -> list[str]:
    """One for each reason, for the log."""
    found = []
    for reason, names in reasons.items():
        more = f" and {len(names) - _LISTED_MAX} more" if len(names) > _LISTED_MAX else ""
        found.append(f"{', '.join(names[:_LISTED_MAX])}{more}: {reason}")
    return found
