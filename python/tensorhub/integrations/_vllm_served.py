# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""A vLLM as the process that serves it by HTTP has it, for a thread that follows."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Coroutine
from typing import Any

__all__ = ["ServedEngine"]

_GOODBYE_S = 3.0


class ServedEngine:
    """Its calls run in the event loop of the server. One thread uses it."""

    def __init__(self, engine: Any, loop: asyncio.AbstractEventLoop) -> None:
        self._engine, self._loop = engine, loop
        self._server = threading.get_ident()
        self._paused = False  # by somebody else

    def call(self, method: str, *args: Any) -> list[Any]:
        found: list[Any] = self._wait(self._engine.collective_rpc(method, args=args))
        return found

    def pause(self, mode: str) -> None:
        self._paused = True
        self._paused = self._wait(self._engine.is_paused())
        if not self._paused:
            self._wait(self._engine.pause_generation(mode=mode, clear_cache=True))

    def resume(self) -> None:
        if not self._paused:
            self._wait(self._engine.resume_generation())

    def label(self, version: int) -> None:
        if self._paused:
            self._wait(self._engine.reset_prefix_cache(reset_running_requests=True))
        if hasattr(self._engine, "update_weight_version"):  # older vLLMs have none
            self._wait(self._engine.update_weight_version(str(version)))

    def drop(self) -> None:
        self._wait(self._engine.pause_generation(mode="abort", clear_cache=True))

    def at_end(self, step: Callable[[], None]) -> None:
        """``step`` comes before vLLM ends its workers, which by itself kills them at once. They
        leave the hub then."""
        end = self._engine.shutdown

        def shutdown(*args: Any, **kwargs: Any) -> Any:
            step()
            if threading.get_ident() != self._server:
                with contextlib.suppress(Exception):  # the server sees them go a little later
                    self._wait(
                        self._engine.collective_rpc("shutdown_weight_transfer_engine"), _GOODBYE_S
                    )
            return end(*args, **kwargs)

        self._engine.shutdown = shutdown

    def _wait(self, call: Coroutine[Any, Any, Any], seconds: float | None = None) -> Any:
        return asyncio.run_coroutine_threadsafe(call, self._loop).result(seconds)
