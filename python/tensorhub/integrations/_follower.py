# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""An engine that follows what is published, without anybody who tells it.

It hears of a version from the hub, has its workers stage it while they generate, and then puts it
into the model in a pause that takes a copy. What it has, everybody sees by its mark at the hub.
"""

from __future__ import annotations

import contextlib
import dataclasses
import threading
import time
from dataclasses import dataclass
from typing import Any

from tensorhub._errors import FailedPreconditionError, InvalidArgumentError
from tensorhub.integrations import _driving
from tensorhub.integrations._mark import Mark
from tensorhub.integrations._rules import Rules
from tensorhub.integrations._settings import Settings
from tensorhub.integrations.vllm import log

__all__ = ["Follower", "Standing"]

_HEARD_S = 0.5
_DUE_S = 0.1
_AGAIN_S = (0.1, 5.0)
# What is refused stays so, as a rule, and looking at it costs time in which nothing is generated.
_REFUSALS = (FailedPreconditionError, InvalidArgumentError)
_BACK_S = 30.0
_ASKED_S = (0.01, 0.25)


@dataclass(frozen=True)
class Standing:
    """How an engine that follows stands."""

    version: int | None = None
    """What its model has; None: nothing from the hub, or parts of two versions."""
    newest: int | None = None
    """What it has heard of last."""
    staged: int | None = None
    """What is beside its model, or on its way there."""
    held: bool = False
    """Whether it keeps its version because somebody asked it to."""
    updates: int = 0
    pause: float | None = None
    """For how many seconds it stood still for its last update."""
    error: str = ""
    """Why it did not take a version, until it has taken one."""
    broken: bool = False
    """Whether an update has left parts of two versions: it answers no prompts then."""


class Follower:
    """One thread follows; others may hold, release and look."""

    def __init__(self, engine: _driving.Engine, settings: Settings, rules: Rules) -> None:
        self._engine, self._settings, self._rules = engine, settings, rules
        self._mark: Mark | None = None
        self._began = 0.0
        self._failures = 0
        self._back_at: float | None = None
        self._putting, self._noting = threading.Lock(), threading.Lock()
        self._ending = threading.Event()
        self.standing = Standing()
        self.has_tried = threading.Event()
        """To join the hub, after which answers have the label of what the engine was started with,
        if that went well."""

    def run(self) -> None:
        """Follows until :meth:`end`, whatever goes wrong meanwhile."""
        while not self._ending.is_set():
            try:
                if self.join():
                    self.has_tried.set()
                self._come_back()
                if self.hears(_HEARD_S):
                    if self.is_due():
                        self.follow()
                    else:
                        self._ending.wait(_DUE_S)
            except Exception as error:
                self.has_tried.set()
                self._note_failure(error)
        self.close()

    def end(self) -> None:
        """:meth:`run` returns soon."""
        self._ending.set()

    def join(self) -> bool:
        """Joins the hub, once. Whether it had to."""
        if self._mark is not None:
            return False
        _driving.join(self._engine, dataclasses.asdict(self._settings))
        here = _driving.ask(self._engine, "here")[0]
        mark = Mark(self._settings, here, self._rules.every - 1)
        self._mark = mark
        arrived = _driving.ask(self._engine, "arrived")[0]
        if arrived is not None:
            self._engine.label(arrived["version"])
        self._note_arrived()
        log.info("TensorHub: %s follows %s with %s", here, self._settings.model,
                 "nothing yet" if self.standing.version is None
                 else f"version {self.standing.version}")  # fmt: skip
        return True

    def hears(self, seconds: float) -> bool:
        """Whether there is a version within that time that it should have."""
        newest = self._known().newer(seconds)
        if newest is not None:
            self._note(newest=newest)
        return newest is not None

    def follow(self) -> None:
        """Takes the latest version. After an error it has what it had, or is broken."""
        self.begin()
        self._until_staged()
        if not self._ending.is_set():
            self.finish()

    def begin(self) -> None:
        """Begins to fetch the latest version beside the model, where there is a place for it."""
        self._began = time.monotonic()
        if not self._settings.in_place:
            self._note(staged=_driving.stage(self._engine, None))

    def is_staged(self) -> bool:
        """Whether what :meth:`begin` has begun is there."""
        if self._settings.in_place:
            return True
        try:
            return _driving.is_staged(self._engine)
        except Exception:
            self._note(staged=None)
            raise

    def finish(self) -> None:
        """Has the model take what is staged."""
        number = self.standing.staged
        if number is None or number != self.standing.version:
            self._put(number)
            return
        self._note(staged=None)
        self._known().have(number)  # what was newer is gone

    def close(self) -> None:
        """Leaves the hub. The engine's workers do not."""
        mark, self._mark = self._mark, None
        if mark is not None:
            mark.close()

    def _put(self, number: int | None) -> None:
        """In a pause; unless somebody holds what the model has."""
        with self._putting:
            if self.standing.held:
                return
            try:
                arrived, pause = _driving.put(self._engine, self._rules.mode, number)
            except Exception:
                with contextlib.suppress(Exception):  # the first error counts
                    self._note_arrived()
                raise
        self._failures, self._back_at, version = 0, None, arrived["version"]
        self._note(version=version, staged=None, pause=pause, error="", broken=False,
                   updates=self.standing.updates + 1)  # fmt: skip
        self._known().have(version)
        log.info("TensorHub: this vLLM has version %d, and stood still for %.3f s", version, pause)

    def hold(self, held: bool) -> Standing:
        """Whether it keeps its version from now on. Returns when no update is under way."""
        with self._putting:
            self._note(held=held)
        return self.standing

    def _until_staged(self) -> None:
        begin = time.monotonic()
        while not self.is_staged():
            shortest, longest = _ASKED_S
            took = time.monotonic() - begin
            if self._ending.wait(min(max(took / 10, shortest), longest)):
                return

    def is_due(self) -> bool:
        """Whether it may take a version now."""
        if self.standing.held or self._ending.is_set():
            return False
        often = self._rules.per_minute
        return not (often and self.standing.updates) or (
            time.monotonic() >= self._began + 60 / often
        )

    def _note_failure(self, error: Exception) -> None:
        if str(error) != self.standing.error:
            log.error("TensorHub: this vLLM does not follow, and tries again: %s", error)
        self._note(error=str(error) or type(error).__name__)
        refused = self.standing.newest if isinstance(error, _REFUSALS) else None
        if refused is not None and self._mark is not None:
            self._mark.pass_over(refused)
            self._back_at = time.monotonic() + _BACK_S
            return
        first, longest = _AGAIN_S
        self._ending.wait(min(first * 2**self._failures, longest))
        self._failures = min(self._failures + 1, 10)

    def _come_back(self) -> None:
        """To a version that was refused, after a while: whoever loads adapters may have ended."""
        if self._back_at is not None and time.monotonic() >= self._back_at:
            self._back_at = None
            self._known().have(self.standing.version)

    def _note_arrived(self) -> None:
        """What the workers say that their model has."""
        arrived, torn = _driving.ask(self._engine, "arrived")[0], _driving.is_torn(self._engine)
        version = None if arrived is None else arrived["version"]
        self._note(version=version, staged=None, broken=torn)
        self._known().have(version)

    def _known(self) -> Mark:
        assert self._mark is not None
        return self._mark

    def _note(self, **changed: Any) -> None:
        with self._noting:
            self.standing = dataclasses.replace(self.standing, **changed)
