# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""The ranks of one vLLM engine, and the one receiver that each of its processes has.

The loader and the transfer engine of a process share a receiver if they join in the same way, so
that what was fetched at the start is served to peers, and its memory is used again by updates.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import weakref
from typing import Any

import torch

from tensorhub.integrations._receiver import Notice, Peers, Receiver
from tensorhub.integrations._settings import Settings
from tensorhub.integrations._stage import Arrived

__all__ = [
    "held", "joined", "note_engine", "note_started", "receiver", "release", "settings",
    "take_started", "taken",
]  # fmt: skip

_serials = itertools.count()
_started: Arrived | None = None
_current: tuple[Settings, Receiver] | None = None
_engine: weakref.ref[Any] | None = None


def note_engine(engine: Any) -> None:
    """Which transfer engine this process's model has."""
    global _engine
    _engine = weakref.ref(engine)


def held() -> int | None:
    """The version that this process's model has, if it came from TensorHub."""
    engine = None if _engine is None else _engine()
    arrived = _started if engine is None else engine.arrived
    return None if arrived is None else arrived.version


def settings() -> Settings | None:
    """What this process's receiver was made with."""
    return None if _current is None else _current[0]


def note_started(arrived: Arrived) -> None:
    """What the load format has put into this process's model."""
    global _started
    _started = arrived


def take_started() -> Arrived | None:
    """What that was, once: a model that is made later may be of something else."""
    global _started
    found, _started = _started, None
    return found


def joined(settings: Settings) -> tuple[Receiver, Receiver | None]:
    """This process's receiver, which has joined the hub; all ranks call it together.

    One that joins the same hub in another way is the second of both, and may be closed now.
    """
    global _current
    given = _for_receiver(settings)
    if _current is not None and _current[0] == given:
        return _current[1], None
    receiver = Receiver(given, _Ranks())
    receiver.peers.together(receiver.connect)
    others, _current = _current, (given, receiver)
    return receiver, None if others is None else others[1]


def receiver(settings: Settings) -> Receiver:
    """As :func:`joined`; one that joins in another way is closed."""
    found, others = joined(settings)
    if others is not None:
        others.close()
    return found


def taken() -> Receiver | None:
    """This process's receiver, to be closed; the next call of :func:`joined` makes a new one."""
    global _current
    others, _current = _current, None
    return None if others is None else others[1]


def release() -> None:
    """Leaves the hub."""
    receiver = taken()
    if receiver is not None:
        receiver.close()


def _for_receiver(settings: Settings) -> Settings:
    """Without what only says how a version gets from the receiver into the model."""
    return dataclasses.replace(
        settings, in_place=False, stage=False, max_lag=None, max_pause=None, start_wait=0.0
    )


class StoreNotice(Notice):
    """In the store by which torch's processes have found one another: it needs no collective."""

    def __init__(self, key: str) -> None:
        self._key = key
        self._store: Any = torch.distributed.distributed_c10d._get_default_store()

    def tell(self, what: str) -> None:
        with contextlib.suppress(RuntimeError):  # the rank's own error counts
            self._store.set(self._key, what)

    def heard(self) -> str:
        return self._store.get(self._key).decode() if self._store.check([self._key]) else ""


class _Ranks(Peers):
    """Tensor and pipeline parallel ranks. Data parallel ones are engines of their own."""

    def __init__(self) -> None:
        from vllm.distributed.parallel_state import get_pp_group, get_tp_group

        self._groups: list[Any] = [
            group for group in (get_tp_group(), get_pp_group()) if group.world_size > 1
        ]
        tensor, pipeline = get_tp_group(), get_pp_group()
        self.rank = pipeline.rank_in_group * tensor.world_size + tensor.rank_in_group
        self._steps = itertools.count()
        # Equal on the ranks of this engine, and not on other engines of the same processes' store.
        first = min(self.gather(torch.distributed.get_rank() if self._groups else 0))
        self._name = f"tensorhub/{first}/{next(_serials)}"

    def notice(self) -> Notice:
        return StoreNotice(f"{self._name}/{next(self._steps)}") if self._groups else Notice()

    def gather(self, value: Any) -> list[Any]:
        values = [value]
        for group in self._groups:
            found: list[Any] = [None] * group.world_size
            torch.distributed.all_gather_object(found, values, group=group.cpu_group)
            values = [one for each in found for one in each]
        return values
