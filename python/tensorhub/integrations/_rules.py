# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""How an engine follows what is published: as its environment says, or who calls ``follow``."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from tensorhub._errors import InvalidArgumentError

__all__ = ["Rules"]

_MODES = ("keep", "wait", "abort")


@dataclass(frozen=True)
class Rules:
    """Which versions an engine takes, and when."""

    mode: str = "keep"
    """What becomes of requests that run: as of vLLM's ``/pause``."""
    every: int = 1
    """It takes each so many-th version."""
    per_minute: float = 0.0
    """It takes no more than so many in a minute; 0: any number."""

    @classmethod
    def of(cls, given: Mapping[str, Any], environment: Mapping[str, str] = os.environ) -> Rules:
        """InvalidArgumentError names what is unknown, or what is no such value."""
        known = {field.name for field in fields(cls)}
        unknown = sorted(set(given) - known)
        if unknown:
            raise InvalidArgumentError(
                f"{unknown[0]!r} is nothing that follow takes; there are {', '.join(sorted(known))}"
            )
        said = {name: environment.get(_variable(name)) or None for name in known}
        values = {name: given.get(name, said[name]) for name in known}
        checked: dict[str, Any] = {
            name: _CHECKS[name](name, value) for name, value in values.items() if value is not None
        }
        return cls(**checked)


def _variable(name: str) -> str:
    return f"TENSORHUB_FOLLOW_{name.upper()}"


def _mode(name: str, value: Any) -> str:
    if value not in _MODES:
        raise _wrong(name, value, "keep, wait or abort")
    return str(value)


def _every(name: str, value: Any) -> int:
    text = str(value)
    if isinstance(value, bool) or not text.isdecimal() or int(text) < 1:
        raise _wrong(name, value, "a number from 1 on")
    return int(text)


def _per_minute(name: str, value: Any) -> float:
    try:
        found = float("nan" if isinstance(value, bool) else value)
    except (TypeError, ValueError):
        found = -1.0
    if not 0 <= found < float("inf"):
        raise _wrong(name, value, "a number, 0 for any")
    return found


def _wrong(name: str, value: Any, right: str) -> InvalidArgumentError:
    return InvalidArgumentError(f"{name} ({_variable(name)}) is {value!r}; give {right}")


_CHECKS = {"mode": _mode, "every": _every, "per_minute": _per_minute}
