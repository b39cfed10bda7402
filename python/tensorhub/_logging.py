# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""The library's log in Python's logging, as the logger ``tensorhub``."""

from __future__ import annotations

import atexit
import logging
import os
import threading

from tensorhub import _native

__all__ = ["start"]

_logger = logging.getLogger("tensorhub")
# As the programs name them, in any case.
_LEVELS = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warn": logging.WARNING,
    "warning": logging.WARNING,
    "error": logging.ERROR,
}
_lock = threading.Lock()
_process: int | None = None


def start() -> None:
    """Before the first client: from then on a thread hands the lines over.

    What the library says at all is decided then, by TENSORHUB_LOG_LEVEL or else by the level of
    the logger.
    """
    global _process
    with _lock:
        if _process is not None:
            return
        _process = os.getpid()
        _native.use_log_queue(_level())
        thread = threading.Thread(target=_hand_over, name="tensorhub-log", daemon=True)
        thread.start()
        atexit.register(_stop, thread)


def _level() -> int:
    named = os.environ.get("TENSORHUB_LOG_LEVEL", "").lower()
    return _LEVELS.get(named, _logger.getEffectiveLevel())


def _hand_over() -> None:
    while lines := _native.take_log_lines(3600.0):
        for level, text in lines:
            _logger.log(level, "%s", text)


def _stop(thread: threading.Thread) -> None:
    if os.getpid() == _process:
        _native.close_log_queue()
        thread.join(timeout=1.0)
