# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""The ranks of one SGLang engine, and the one receiver that each of its schedulers has."""

from __future__ import annotations

from typing import Any

import torch

from tensorhub.integrations._receiver import Peers, Receiver
from tensorhub.integrations._settings import Settings

__all__ = ["receiver", "release"]

_current: Receiver | None = None


def receiver(settings: Settings) -> Receiver:
    """This process's receiver, made by the first call; all ranks call it together."""
    global _current
    if _current is None:
        _current = Receiver(settings, _peers())
    return _current


def release() -> None:
    """Leaves the hub; the next call of :func:`receiver` makes a new one."""
    global _current
    if _current is not None:
        _current.close()
    _current = None


def _peers() -> Peers:
    distributed = torch.distributed.is_available() and torch.distributed.is_initialized()
    return _Ranks() if distributed else Peers()


class _Ranks(Peers):
    """Tensor and pipeline parallel ranks. Data parallel ones are engines of their own."""

    def __init__(self) -> None:
        from sglang.srt.distributed.parallel_state import get_pp_group, get_tp_group

        tensor, pipeline = get_tp_group(), get_pp_group()
        self._groups: list[Any] = [one for one in (tensor, pipeline) if one.world_size > 1]
        self.rank = pipeline.rank_in_group * tensor.world_size + tensor.rank_in_group

    def gather(self, value: Any) -> list[Any]:
        values = [value]
        for group in self._groups:
            found: list[Any] = [None] * group.world_size
            torch.distributed.all_gather_object(found, values, group=group.cpu_group)
            values = [one for each in found for one in each]
        return values
