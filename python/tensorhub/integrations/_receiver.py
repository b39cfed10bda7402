# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""The ranks of one engine receive a version together: all of them, or none.

Rank 0 decides which version. On each host the first rank fetches it, once for all ranks there, and
the others see that memory. Every step ends with an exchange, so that all ranks raise if one does,
before any of them changes its model.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import torch

import tensorhub
from tensorhub._errors import AbortedError, DataLossError, NotFoundError
from tensorhub._layouts import TensorSpec
from tensorhub.integrations._memory import Block, Ticket, carve
from tensorhub.integrations._settings import Settings
from tensorhub.integrations._stage import Arrived, Fetching, Stage

__all__ = ["Notice", "Peers", "Received", "Receiver", "followed"]

_ATTEMPTS = 20
_LISTEN_S = 0.05
# What ends a group's fetch at the hub reaches all of its ranks by themselves, within this.
_GRACE_S = 0.5

_T = TypeVar("_T")


class Notice:
    """By which a rank that fails is heard of by those that wait for it; this rank is alone."""

    def tell(self, what: str) -> None:
        """To whoever listens on another rank, now or later."""

    def heard(self) -> str:
        """What a rank has told; empty if none has. Does not wait."""
        return ""


class Peers:
    """The ranks that hold one model together; this one is alone."""

    rank = 0

    def notice(self) -> Notice:
        """A new one for one step. All ranks call it, in the same order; it waits for nobody."""
        return Notice()

    def gather(self, value: Any) -> list[Any]:
        """What each rank gave, by rank. All ranks call it, in the same order."""
        return [value]

    def together(self, step: Callable[[], _T]) -> list[_T]:
        """Each rank's result of ``step``, by rank. If it fails on any rank, every rank raises."""
        mine: Exception | None = None
        value: Any = None
        try:
            value = step()
        except Exception as error:
            mine = error
        outcomes = self.gather((value, None if mine is None else str(mine)))
        if mine is not None:
            raise mine
        for rank, (_, complaint) in enumerate(outcomes):
            if complaint is not None:
                raise AbortedError(f"rank {rank} of this engine could not go on: {complaint}")
        return [value for value, _ in outcomes]


def followed(fetching: Fetching, peers: Peers) -> Arrived:
    """What a fetch brought that all ranks make as one group; all of them call it.

    Where a rank fails alone, such as before it has joined the group's fetch, the hub would let the
    others wait until their time is over. They hear of it here, and end with AbortedError, which has
    the rank and the reason. Errors of this rank as ``Client.fetch``.
    """
    notice = peers.notice()
    try:
        said = _listened(fetching, notice)
        if not said:
            return fetching.result()
    except Exception as error:
        notice.tell(f"rank {peers.rank} of this engine could not fetch: {error}")
        raise
    except BaseException:  # of a signal
        fetching.cancel()
        raise
    fetching.cancel()
    raise AbortedError(said)


def _listened(fetching: Fetching, notice: Notice) -> str:
    """Empty once the fetch has ended by itself; else why it has to be ended."""
    while not fetching.wait(_LISTEN_S):
        said = notice.heard()
        if said and not fetching.wait(_GRACE_S):
            return said
    return ""


@dataclass(frozen=True)
class Received:
    """A version in this host's memory: to be read only, until the next fetch."""

    arrived: Arrived
    tensors: Mapping[str, torch.Tensor]
    memory: torch.Tensor | None


class Receiver:
    """One rank's part. All ranks make the same calls in the same order."""

    def __init__(self, settings: Settings, peers: Peers) -> None:
        self.peers = peers
        hosts = peers.gather(_host() if settings.share else str(peers.rank))
        self._leader = hosts.index(hosts[peers.rank])
        self._leads = self._leader == peers.rank
        self.stage = Stage(settings, shared=hosts.count(hosts[peers.rank]) > 1)
        self._ticket: Ticket | None = None
        self._block: Block | None = None  # another rank's, which this one only reads

    def connect(self) -> None:
        """Joins the hub, where this rank fetches for its host. Else the first call does it."""
        if self._leads:
            self.stage.connect()

    def describe(self, number: int | None) -> tuple[int, list[TensorSpec]]:
        """A version (the latest one without a number) and its tensors, as rank 0 finds them."""
        first = self.peers.rank == 0
        answers = self.peers.together(lambda: self.stage.describe(number) if first else None)
        assert answers[0] is not None
        return answers[0]

    def await_first(self, seconds: float) -> None:
        """Until there is a version. DeadlineExceededError: there is none within that."""
        first = self.peers.rank == 0 and seconds > 0
        anything = tensorhub.newer_than(None)
        self.peers.together(lambda: self.stage.client.wait(anything, seconds) if first else None)

    def take(self, number: int | None, step: Callable[[int, list[TensorSpec]], _T]) -> _T:
        """``step`` with a version and its tensors; without a number, with the latest one.

        The latest may be gone before it is here, as its trainer does not wait for those who only
        look. Then it is done again with what is the latest by then. ``step`` raises on all ranks or
        on none.
        """
        for attempt in range(_ATTEMPTS):
            found, specs = self.describe(number)
            try:
                return step(found, specs)
            except Exception as error:
                gone = self.peers.gather(isinstance(error, NotFoundError))
                if number is not None or not any(gone) or attempt == _ATTEMPTS - 1:
                    raise
        raise AssertionError("unreachable")

    def begin(
        self, number: int, specs: list[TensorSpec], *, patient: bool = False
    ) -> Fetching | None:
        """Begins to fetch it, where this rank does so for its host; :meth:`finish` goes on."""
        if not self._leads:
            return None
        return self.stage.begin(number, lambda: self.stage.hold(specs), patient=patient)

    def fetch(self, number: int, specs: list[TensorSpec], *, patient: bool = False) -> Received:
        """The version in memory, the same on all ranks."""
        return self.finish(number, specs, self.begin(number, specs, patient=patient))

    def finish(self, number: int, specs: list[TensorSpec], fetching: Fetching | None) -> Received:
        """What :meth:`begin` has begun, once it has ended on all ranks."""
        outcomes = self.peers.together(lambda: self._outcome(fetching))
        found = outcomes[self._leader]
        assert found is not None
        receipts = {one[0].receipt for one in outcomes if one is not None}
        if len(receipts) > 1:
            raise DataLossError(
                f"version {number} has other bytes on another host of this engine: receipts "
                f"{', '.join(sorted(receipts))}; publish it again under a new number"
            )
        arrived, ticket = found
        self.peers.together(lambda: self._see(ticket))
        block = self.stage.block if self._leads else self._block
        assert block is not None
        return Received(arrived, carve(specs)[1](block.flat), block.flat)

    def close(self) -> None:
        """Serves nobody any more."""
        self._ticket = self._block = None
        self.stage.close()

    def _outcome(self, fetching: Fetching | None) -> tuple[Arrived, Ticket | None] | None:
        return (fetching.result(), self.stage.ticket) if fetching is not None else None

    def _see(self, ticket: Ticket | None) -> None:
        if not self._leads and ticket is not None and ticket != self._ticket:
            self._block, self._ticket = Block.of(ticket), ticket


def _host() -> str:
    """The same for ranks that can open each other's memory: of one kernel, user, PID namespace."""
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as stream:
        boot = stream.read().strip()
    return f"{boot}/{os.stat('/proc/self/ns/pid').st_ino}/{os.getuid()}"
