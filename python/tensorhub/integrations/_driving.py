# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""What an update of a vLLM consists of, whoever drives it, and from wherever."""

from __future__ import annotations

import time
from typing import Any, Protocol

from tensorhub._errors import Error
from tensorhub.integrations._vllm_calls import values

__all__ = ["Engine", "ask", "is_staged", "is_torn", "join", "put", "stage"]


class Engine(Protocol):
    """What an update asks of a vLLM."""

    def call(self, method: str, *args: Any) -> list[Any]:
        """What each rank's worker answers."""

    def pause(self, mode: str) -> None:
        """Returns when nothing is computed any more."""

    def resume(self) -> None:
        """Undoes :meth:`pause`. What somebody else has paused stays so."""

    def label(self, version: int) -> None:
        """What answers say of the tokens from now on. Nothing cached is of another version."""

    def drop(self) -> None:
        """Ends the requests that run."""


def ask(engine: Engine, what: str, *args: Any) -> list[Any]:
    """What each rank answers to one of the plug-in's own calls. Raises what one of them raised."""
    return values(engine.call(f"tensorhub_{what}", *args))


def join(engine: Engine, info: dict[str, Any]) -> None:
    """Has the workers join the hub. Again with the same: nothing. They stage beside the model, if
    they are not to fetch into it."""
    ask(engine, "join", info if info.get("in_place") else {**info, "stage": True})


def stage(engine: Engine, version: int | None) -> int:
    """Begins to fetch a version beside the model, the latest one without a number."""
    return int(ask(engine, "stage", version)[0])


def is_staged(engine: Engine) -> bool:
    """Whether what was begun is there. Error: it will not be."""
    ranks = ask(engine, "staged")
    wrong = next((one["error"] for one in ranks if one and one["error"]), "")
    if wrong:
        raise Error(wrong)
    return all(one is None or one["ready"] for one in ranks)


def put(engine: Engine, mode: str, version: int | None) -> tuple[dict[str, Any], float]:
    """Has the model take it, in a pause; what arrived, and for how many seconds the engine stood
    still. After an error it has what it had, or requests that run are ended: see ``torn``."""
    began = time.monotonic()
    try:
        engine.pause(mode)
        arrived = _taken(engine, version)
    finally:
        engine.resume()
    return arrived, time.monotonic() - began


def is_torn(engine: Engine) -> bool:
    """Whether the model has parts of two versions."""
    return any(one["torn"] for one in ask(engine, "torn"))


def _taken(engine: Engine, version: int | None) -> dict[str, Any]:
    try:
        arrived: dict[str, Any] = ask(engine, "take", version)[0]
    except Error:
        if is_torn(engine):
            engine.drop()
        raise
    engine.label(arrived["version"])
    return arrived
