# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""What shows how far a fetch is: the user's callback, or a bar."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any

from tensorhub._types import FetchProgress

__all__ = ["Progress", "reporter"]

Progress = Callable[[FetchProgress], object]


def reporter(progress: Progress | bool | None) -> tuple[Progress | None, Callable[[], None]]:
    """What to call with each report, and what to call at the end."""
    if progress is None or progress is False:
        return None, lambda: None
    if progress is True:
        return _bar()
    if not callable(progress):
        raise TypeError(f"progress must be callable or a bool, not {type(progress).__name__}")
    return progress, lambda: None


def _bar() -> tuple[Progress | None, Callable[[], None]]:
    tqdm = _tqdm()
    if tqdm is None:
        return _line() if sys.stderr.isatty() else (None, lambda: None)
    bar = tqdm(unit="B", unit_scale=True, unit_divisor=1024, desc="fetch")

    def report(progress: FetchProgress) -> None:
        bar.total = progress.bytes_total
        bar.set_description(f"version {progress.version} from {progress.source or '...'}", False)
        bar.update(progress.bytes_done - bar.n)

    return report, bar.close


def _tqdm() -> Any:
    try:
        return importlib.import_module("tqdm.auto").tqdm
    except ImportError:
        return None


def _line() -> tuple[Progress, Callable[[], None]]:
    def report(progress: FetchProgress) -> None:
        part = progress.bytes_done / progress.bytes_total if progress.bytes_total else 1.0
        bar = "#" * int(part * 30)
        sys.stderr.write(
            f"\rversion {progress.version} [{bar:<30}] {part:4.0%} {progress.source:.30}\x1b[K"
        )
        sys.stderr.flush()

    def close() -> None:
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()

    return report, close
