# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""What wrappers of modules put into names: nothing that a reader's module would have as well."""

from __future__ import annotations

from typing import Any

import torch

__all__ = ["unwrapped"]

# torch.compile, activation checkpointing, FSDP.
_MARKS = ("_orig_mod", "_checkpoint_wrapped_module", "_fsdp_wrapped_module")
# DistributedDataParallel, DataParallel, Megatron's wrappers: so a module may be called by others.
_MODULE = "module"


def unwrapped(module: torch.nn.Module, key: str) -> str:
    """A tensor's name in ``module`` without what wrappers of modules put into it.

    ``module`` goes where it is all that the module around it has, as in DDP.
    """
    if f"{_MODULE}." not in key and f"{_MARKS[0]}." not in key:
        return key
    around: Any = module
    kept = []
    for part in key.split("."):
        if part not in _MARKS and not (part == _MODULE and _only_wraps(around)):
            kept.append(part)
        around = getattr(around, part, None)
    return ".".join(kept)


def _only_wraps(around: Any) -> bool:
    if not isinstance(around, torch.nn.Module) or isinstance(around, torch.nn.ModuleDict):
        return False
    own = around._parameters or around._buffers
    return list(around._modules) == [_MODULE] and not own
