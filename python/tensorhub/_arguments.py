# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Checks of arguments: TypeError and ValueError that name the argument."""

from __future__ import annotations

import math
import numbers
import operator
from typing import Any

__all__ = ["flag", "milliseconds", "plain", "text", "whole_number"]

_NUMBER_MAX = 2**64 - 1
_FOREVER_S = 10**9


def whole_number(name: str, value: Any, most: int = _NUMBER_MAX) -> int:
    """A number from 0 to ``most``; NumPy's and torch's integers as well."""
    if isinstance(plain(value), bool):
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
    given = plain(value)
    if not isinstance(given, bool):
        raise TypeError(f"{name} must be a bool, not {type(value).__name__}")
    return given


def milliseconds(name: str, seconds: Any) -> int:
    """Seconds, whole or not, as the library's milliseconds; at most what it can count."""
    number: Any = plain(seconds)
    if isinstance(number, bool) or not isinstance(number, numbers.Real):
        raise TypeError(f"{name} must be a number of seconds, not {type(seconds).__name__}")
    bounded: Any = min(number, _FOREVER_S)
    if math.isnan(bounded) or bounded < 0:
        raise ValueError(f"{name} is {seconds}: give a number of seconds, 0 or more")
    count: int = math.ceil(bounded * 1000)
    return count


def plain(value: Any) -> Any:
    """Python's number for one of NumPy, torch and their like."""
    return value.item() if getattr(value, "ndim", None) == 0 and hasattr(value, "item") else value
