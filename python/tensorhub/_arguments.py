# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Checks of arguments: TypeError and ValueError that name the argument."""

from __future__ import annotations

import math
import operator
from typing import Any

__all__ = ["flag", "milliseconds", "text", "whole_number"]

_NUMBER_MAX = 2**64 - 1


def whole_number(name: str, value: Any, most: int = _NUMBER_MAX) -> int:
    """A number from 0 to ``most``; NumPy's and torch's integers as well."""
    if isinstance(value, bool):
        raise TypeError(f"{name} must be an integer, not bool")
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be an integer, not {type(value).__name__}") from None
    if not 0 <= number <= most:
        raise ValueError(f"{name} is {number}: give 0 to {most}")
    return number


def text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a str, not {type(value).__name__}")
    return value


def flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be a bool, not {type(value).__name__}")
    return value


def milliseconds(name: str, seconds: Any) -> int:
    """Seconds, whole or not, as the library's milliseconds; at most what it can count."""
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)):
        raise TypeError(f"{name} must be a number of seconds, not {type(seconds).__name__}")
    if math.isnan(seconds) or seconds < 0:
        raise ValueError(f"{name} is {seconds}: give a number of seconds, 0 or more")
    return min(math.ceil(seconds * 1000), 10**12) if math.isfinite(seconds) else 10**12
