# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""How far a worker may be behind what is published."""

from __future__ import annotations

from dataclasses import dataclass

import tensorhub
from tensorhub import _native
from tensorhub._client import Client

__all__ = ["Lag", "Watch"]

_LONG_S = 30 * 86400.0


@dataclass(frozen=True)
class Lag:
    """What an engine has, beside the newest version."""

    version: int | None
    """What the engine has; None before the first update, and of one that failed midway."""
    max_lag: int | None
    """How many versions it may be behind; None: any number."""
    stale: bool
    """Whether it is further behind, or what it has was superseded: it should take no prompts."""
    newest: int | None = None
    """Of an engine that is too far behind: the newest version there was when it came to be so."""

    def __str__(self) -> str:
        held = "no version yet" if self.version is None else f"version {self.version}"
        if not self.stale:
            return f"this engine has {held}, which is new enough"
        if self.newest is None:
            return f"this engine has {held}, which is superseded: update it"
        return (f"this engine has {held}, more than {self.max_lag} behind version {self.newest}: "
                "update it before it takes prompts")  # fmt: skip


class Watch:
    """Hears of versions that are newer than what a worker has. One thread uses it.

    The hub says once that there are too many, so asking costs nothing. While it is away nothing is
    published, and nobody gets staler.
    """

    def __init__(self, client: Client, max_lag: int) -> None:
        """``client`` is this object's from now on. What it holds, or held last, it says by itself,
        so that a lower number of a new term is newer."""
        self._client = client
        self._max_lag = max_lag
        self._held: int | None = None
        self._newest: int | None = None
        self._call: _native.Call | None = None

    def have(self, version: int | None) -> None:
        """From now on the worker has this one; with none, any version is too new."""
        if self._call is not None and version == self._held and self._newest is None:
            return
        self._end()
        self._held, self._newest = version, None
        self._call = self._begin()

    def too_new(self, seconds: float = 0.0) -> int | None:
        """The newest version, if the worker is too far behind it within that time."""
        if self._newest is None and self._call is not None and self._call.wait(seconds):
            number, _, value = self._call.result()
            if number == 0:
                self._newest = int(value)
            else:
                self._call = self._begin()
        return self._newest

    def close(self) -> None:
        self._end()
        self._client.leave()

    def _begin(self) -> _native.Call:
        wanted = tensorhub.newer_than(self._held)
        return self._client._wait_call(wanted, _LONG_S, self._max_lag)

    def _end(self) -> None:
        call, self._call = self._call, None
        if call is not None:
            call.cancel()
