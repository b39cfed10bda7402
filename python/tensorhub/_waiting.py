# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Waiting for calls of the library: signals are heard, and the main thread's end is noticed."""

from __future__ import annotations

import threading
from typing import Any

from tensorhub import _native
from tensorhub._errors import CancelledError, raise_for
from tensorhub._progress import Progress
from tensorhub._types import FetchProgress

__all__ = ["finish", "in_main_thread", "look"]

# How long a signal handler waits for its turn, at most; and how long a call may wind down behind an
# exception before its thread goes on alone.
_PIECE_S = 0.05
_WIND_DOWN_S = 0.1


def in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def look() -> None:
    """CancelledError in a thread whose main thread has ended: the interpreter waits for it."""
    if in_main_thread():
        return
    # Executors join their threads before the main thread counts as ended.
    ending = getattr(threading, "_SHUTTING_DOWN", False)
    if ending or not threading.main_thread().is_alive():
        raise CancelledError(
            "the main thread has ended, and with it what other threads wait for; join them before "
            "it ends"
        )


def finish(call: _native.Call, progress: Progress | None = None, *, in_order: bool = False) -> Any:
    """Waits for a call; returns what it brings, or raises.

    Signals are heard meanwhile. An exception, of a signal or of ``progress``, ends the call, and so
    does the end of the main thread, but for what is done ``in_order`` then.
    """
    try:
        while not call.wait(_PIECE_S):
            report(call, progress)
            if not in_order:
                look()
        report(call, progress)
    except BaseException:
        call.cancel()
        call.wait(_WIND_DOWN_S)
        raise
    number, message, value = call.result()
    raise_for(number, message)
    return value


def report(call: _native.Call, progress: Progress | None) -> None:
    """Hands on how far the call is, if there is news and somebody asks."""
    news = call.progress() if progress is not None else None
    if progress is not None and news is not None:
        progress(FetchProgress(*news))
