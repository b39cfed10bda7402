# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""A vLLM in this process that follows what is published, between two of its calls."""

from __future__ import annotations

import time
import weakref
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from tensorhub._errors import DeadlineExceededError, Error, FailedPreconditionError
from tensorhub.integrations._follower import Follower
from tensorhub.integrations._rules import Rules
from tensorhub.integrations._settings import Settings
from tensorhub.integrations.vllm import log

__all__ = ["turn"]

_ASKED_S = 0.01
_AGAIN_S = 0.2


class _Here:
    """Nothing runs in it meanwhile."""

    def __init__(self, engine: Any) -> None:
        self._engine = weakref.ref(engine)

    def call(self, method: str, *args: Any) -> list[Any]:
        found: list[Any] = self._there().collective_rpc(method, args=args)
        return found

    def pause(self, mode: str) -> None:
        pass

    def resume(self) -> None:
        pass

    def label(self, version: int) -> None:
        engine = self._there()
        engine.reset_prefix_cache()
        if hasattr(engine, "update_weight_version"):  # older vLLMs have none
            engine.update_weight_version(str(version))

    def drop(self) -> None:
        pass

    def _there(self) -> Any:
        engine = self._engine()
        assert engine is not None
        return engine


class _Turns:
    def __init__(self, engine: Any, given: Mapping[str, Any]) -> None:
        names = {field.name for field in fields(Rules)}
        rules = {name: value for name, value in given.items() if name in names}
        rest = {name: value for name, value in given.items() if name not in names}
        self.given = dict(given)
        self._settings = Settings.of(rest)
        self._follower = Follower(_Here(engine), self._settings, Rules.of(rules))
        weakref.finalize(engine, self._follower.close)

    def take(self, wait: float) -> int:
        """What the model has then."""
        follower = self._follower
        joins = follower.join()
        first = follower.standing.version is None
        if joins and not first:
            return self._version()  # what it was started with
        end = time.monotonic() + (self._settings.timeout if first else wait)
        while not self._stepped(end) and time.monotonic() < end:
            pass
        return self._version()

    def _version(self) -> int:
        found = self._follower.standing.version
        if found is None:
            raise DeadlineExceededError(
                f"no version of {self._settings.model} was there within {self._settings.timeout:g} "
                "s; publish one, or allow more ('timeout')"
            )
        return found

    def _stepped(self, end: float) -> bool:
        """Whether it has taken a version. What goes wrong is tried again as long as there is time:
        a trainer goes on to its next version meanwhile."""
        left = max(end - time.monotonic(), 0.0)
        try:
            return self._step(left)
        except Error as error:
            if left <= _AGAIN_S:
                raise
            log.warning("TensorHub: this vLLM does not follow yet: %s", error)
            time.sleep(_AGAIN_S)
            return False

    def _step(self, left: float) -> bool:
        """Whether it has taken a version."""
        follower = self._follower
        updates = follower.standing.updates
        if follower.standing.staged is None:
            if not (follower.is_due() and follower.hears(left)):
                return False
            follower.begin()
        if not follower.is_staged():
            time.sleep(min(left, _ASKED_S))
        else:
            follower.finish()
        return follower.standing.updates > updates


_known: weakref.WeakKeyDictionary[Any, _Turns] = weakref.WeakKeyDictionary()


def turn(engine: Any, wait: float, given: Mapping[str, Any]) -> int:
    turns = _known.get(engine)
    if turns is None:
        turns = _known[engine] = _Turns(engine, given)
    elif given and dict(given) != turns.given:
        raise FailedPreconditionError(
            "this vLLM follows already, with other settings; give them at the first call of follow"
        )
    return turns.take(wait)
