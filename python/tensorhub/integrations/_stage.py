# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""A rollout worker's copy of a version, whole tensors in host memory, for an engine's own loader.

The memory is registered once and filled anew by each fetch. Between two fetches peers read it, so
it must not be written to. One thread uses a stage. Nothing is connected before the first call.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

import tensorhub
from tensorhub import _native
from tensorhub._client import Client
from tensorhub._errors import (
    DeadlineExceededError,
    Error,
    FailedPreconditionError,
    OutOfRangeError,
    UnavailableError,
)
from tensorhub._layouts import TensorSpec, layouts_of, whole_tensors
from tensorhub._types import FetchResult
from tensorhub.integrations._memory import Block, Ticket, carve
from tensorhub.integrations._names import bare, first_names, without
from tensorhub.integrations._settings import Settings

__all__ = ["Arrived", "Fetching", "Member", "Stage", "Target"]

# An engine that stands still goes on with what it has when the server was away for so long: as long
# as the server itself waits for a source that has fallen silent.
_AWAY_S = 5.0
_LOOKED_S = 0.1


@dataclass(frozen=True)
class Arrived:
    """What a fetch brought, and the receipt for it."""

    version: int
    receipt: str
    """16 bytes in hexadecimal over content and layout, equal on all workers that hold this version.
    Empty where the publisher makes no digests."""
    bytes_read: int
    sources: str
    seconds: float
    """What the fetch took."""
    pause: float = 0.0
    """Seconds that the engine stood still for it, as far as the plug-in had a part in that."""

    def __str__(self) -> str:
        receipt = f", receipt {self.receipt}" if self.receipt else ""
        return (f"version {self.version}: {self.bytes_read} bytes in {self.seconds:.3f} s from "
                f"{self.sources or 'memory'}{receipt}")  # fmt: skip


@dataclass(frozen=True)
class Member:
    """A rank of a group that holds a model together, each rank its slices."""

    group: str
    rank: int
    ranks: int


class Target:
    """A client whose registered tensors are given, and stay where they are.

    It is a group of its own, or a member of one: then all ranks fetch together. With the setting
    ``part`` it has one module of a bundle, under the names that this module has by itself.
    """

    def __init__(self, settings: Settings, member: Member | None = None) -> None:
        self._settings = settings
        self._member = member
        self._client: Client | None = None

    @property
    def client(self) -> Client:
        """Connected by the first use."""
        if self._client is None:
            here = self._settings
            member = self._member or Member(here.group_here(), 0, 1)
            self._client = tensorhub.connect(
                here.server,
                here.model,
                member.group,
                member.rank,
                member.ranks,
                location=here.location,
                data_address=here.data_address,
                spot=here.spot,
            )
        return self._client

    def connect(self) -> None:
        """Joins the hub now. UnavailableError: nobody answers."""
        _ = self.client

    def describe(self, number: int | None) -> tuple[int, list[TensorSpec]]:
        """A version's number (the latest one's without) and its tensors, put together whole."""
        found, ranks = layouts_of(self._settings.server, self._settings.model, number)
        try:
            return found, bare(self._part_of(whole_tensors(ranks)))
        except FailedPreconditionError as error:
            model = self._settings.model
            raise FailedPreconditionError(f"version {found} of {model}: {error}") from None

    def _part_of(self, specs: list[TensorSpec]) -> list[TensorSpec]:
        part = f"{self._settings.part}." if self._settings.part else ""
        found = without(part, [spec for spec in specs if spec.name.startswith(part)])
        if not found:
            modules = sorted({spec.name.partition(".")[0] for spec in specs})
            raise FailedPreconditionError(
                f"no tensor of it is of {self._settings.part!r}; the setting 'part' names a module "
                f"of a bundle, and names here begin with {first_names(modules)}"
            )
        return found

    def fetch(self, number: int) -> Arrived:
        """Fills the registered tensors. After an error they hold parts of what they held before."""
        begin = time.monotonic()
        # An engine takes what its model has, and whether names meet was looked at before.
        result = self.client.fetch(
            tensorhub.version(number), timeout=self._settings.timeout, partial=True
        )
        return _arrived(result, time.monotonic() - begin)

    def begin(
        self, number: int, prepare: Callable[[], object] = lambda: None, *, patient: bool = False
    ) -> Fetching:
        """As :meth:`fetch`, behind ``prepare``, beside what this thread does.

        A source that falls silent is waited for only by who is ``patient``. An engine that stands
        still goes on with what it has.
        """
        return Fetching(self, number, self._settings.timeout, prepare, patient)

    def register(self, tensors: Mapping[str, Any], before: str = "") -> None:
        """Which tensors, or slices of some, fetches fill; once for each connection. ``before``:
        what stands before their names where they are published."""
        self.client.register({before + name: value for name, value in tensors.items()})

    @property
    def superseded(self) -> bool:
        """Whether what is held here belongs to a term of the model that has ended."""
        return self._client is not None and isinstance(self._client.health(), OutOfRangeError)

    @property
    def unreachable(self) -> bool:
        """Whether the server is away."""
        return self._client is not None and isinstance(self._client.health(), UnavailableError)

    def close(self) -> None:
        """Serves nobody any more. More calls do nothing, and a fetch connects anew."""
        client, self._client = self._client, None
        if client is not None:
            client.leave()


class Stage(Target):
    """A target that makes its tensors itself, by the layout of what is published."""

    def __init__(self, settings: Settings, *, shared: bool = False) -> None:
        super().__init__(settings)
        self._shared = shared
        self._specs: list[TensorSpec] = []
        self.tensors: Mapping[str, torch.Tensor] = {}
        self.block: Block | None = None

    def hold(self, specs: Sequence[TensorSpec]) -> None:
        """Has memory for these tensors, and registers it; does nothing if it has."""
        if list(specs) == self._specs:
            return
        self.close()  # a client registers once
        nbytes, make = carve(specs)
        block = Block.shared(nbytes) if self._shared else Block.private(self.client, nbytes)
        tensors = make(block.flat)
        self.register(tensors, specs[0].before if specs else "")
        self.block, self.tensors, self._specs = block, tensors, list(specs)

    @property
    def ticket(self) -> Ticket | None:
        """By which the host's other ranks see these tensors."""
        return self.block.ticket if self.block is not None else None

    def close(self) -> None:
        super().close()
        self.block, self.tensors, self._specs = None, {}, []


class Fetching:
    """A fetch in a thread of its own. Until it has ended nobody else uses its target."""

    def __init__(
        self,
        target: Target,
        number: int,
        timeout: float,
        prepare: Callable[[], object],
        patient: bool,
    ) -> None:
        self.number = number
        self._target, self._timeout, self._prepare = target, timeout, prepare
        self._patient = patient
        self._call: _native.Call | None = None
        self._cancelled = threading.Event()
        self._arrived: Arrived | None = None
        self._error: Exception | None = None
        self._given_up: Error | None = None
        self._thread = threading.Thread(target=self._run, name="tensorhub-stage", daemon=True)
        self._thread.start()

    @property
    def ended(self) -> bool:
        return not self._thread.is_alive()

    @property
    def error(self) -> Exception | None:
        """Why it brought nothing; none while it goes on."""
        return self._error if self.ended else None

    def wait(self, seconds: float) -> bool:
        """Whether it ends within that."""
        self._thread.join(seconds)
        return self.ended

    def result(self) -> Arrived:
        """Waits until it has ended. Errors as ``Client.fetch``."""
        try:
            self._thread.join()
        except BaseException:  # of a signal
            self.cancel()
            raise
        if self._error is not None:
            raise self._error
        assert self._arrived is not None
        return self._arrived

    def cancel(self) -> None:
        """Returns when it has ended, in whatever way."""
        self._cancelled.set()
        if self._call is not None:
            self._call.cancel()
        self._thread.join()

    def hurry(self, seconds: float | None) -> None:
        """The engine stands still now, for ``seconds`` at most (None: any).

        Then it ends with DeadlineExceededError. It ends with UnavailableError once the server was
        away for some seconds, without which no fetch ends well.
        """
        if not self.ended:
            threading.Thread(target=self._hurry, args=(seconds,), daemon=True).start()

    def _hurry(self, seconds: float | None) -> None:
        begin = seen = time.monotonic()
        while not self.wait(_LOOKED_S):
            now = time.monotonic()
            if not self._target.unreachable:
                seen = now
            if seconds is not None and now - begin >= seconds:
                self._given_up = DeadlineExceededError(
                    f"version {self.number} was not there within {seconds:g} s, and the engine may "
                    "stand still for no longer ('max_pause'); stage it before the update"
                )
            elif now - seen >= _AWAY_S:
                self._given_up = UnavailableError(
                    f"the server went away before version {self.number} was there, and the engine "
                    "stands still for it; update again when the server is back"
                )
            if self._given_up is not None:
                self.cancel()

    def _run(self) -> None:
        begin = time.monotonic()
        try:
            self._prepare()
            result = self._fetch(self._target.client)
            self._arrived = _arrived(result, time.monotonic() - begin)
        except Exception as error:
            self._error = self._given_up or error

    def _fetch(self, client: Client) -> FetchResult:
        wanted = tensorhub.version(self.number)
        self._call = client._fetch_call(wanted, self._timeout, None, self._patient, partial=True)
        if self._cancelled.is_set():  # before there was a call to cancel
            self._call.cancel()
        return client._finish_fetch(self._call, wanted)


def _arrived(result: FetchResult, seconds: float) -> Arrived:
    return Arrived(result.version, result.receipt, result.bytes_read, result.sources, seconds)
