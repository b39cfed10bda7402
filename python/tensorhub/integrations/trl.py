# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""TRL: what AsyncGRPOTrainer takes as ``weight_transfer``.

    transfer = WeightTransfer(server="hub:7070", model="actor")
    trainer = AsyncGRPOTrainer(..., weight_transfer=transfer)

TRL calls it on the trainer's first rank. Each sync publishes a version, and ends when the engines
that follow have it. The interface is one of ``trl.experimental``, which TRL may change.
docs/engines.md says what works and what does not.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Sequence
from typing import Any

from tensorhub._errors import FailedPreconditionError
from tensorhub.integrations._settings import Settings
from tensorhub.integrations._streamed import Named, StreamPublisher, dtype_of

__all__ = ["TRIED", "WeightTransfer"]

log = logging.getLogger("trl.tensorhub")

TRIED = ("1.16.0",)


class WeightTransfer:
    """TRL's ``WeightTransferProtocol``. One thread uses it."""

    def __init__(
        self,
        *,
        update: Callable[[int], None] | None = None,
        pause: Callable[[], None] | None = None,
        resume: Callable[[], None] | None = None,
        share: float = 0.9,
        dtype: str | None = None,
        keep: Sequence[str] = (),
        **given: Any,
    ) -> None:
        """``given`` and the environment say where the hub is: ``server``, ``model`` and so on.

        A sync ends when ``share`` of the engines that follow have its version, and after
        ``timeout`` by DeadlineExceededError. Of engines that do not follow, ``update(version)`` has
        each one take that version, and returns when it has; ``pause`` and ``resume`` do so around
        it. ``dtype``: what floating point is cast to, such as 'bfloat16'; float8, what engines have
        in float32 (biases of routers, scales), and what a pattern of ``keep`` names stay what they
        are. InvalidArgumentError names a setting that is missing or unknown.
        """
        settings = Settings.of(given, {"TENSORHUB_GROUP": "trl", **os.environ})
        self._publisher = StreamPublisher(settings, dtype=dtype_of(dtype), keep=keep)
        self._update = update or self._wait
        self._share, self._timeout = share, settings.timeout
        self._pause = pause
        self._resume = resume
        self._began = False
        self.version: int | None = None
        """What was published last."""

    def init_weight_transfer(self) -> None:
        """Joins the hub. UnavailableError: nobody answers."""
        _warn_if_untried()
        self._publisher.newest()
        self._began = True

    def pause(self) -> None:
        """Before the weights change."""
        if self._pause is not None:
            self._pause()

    def send_weights(self, iterator: Named) -> None:
        """Publishes the next version, and has the engines take it.

        Uses ``iterator`` up also where that fails, since TRL's other ranks take part in it.
        """
        if not self._began:
            for _ in iterator:
                pass
            raise FailedPreconditionError("call init_weight_transfer first")
        begin = time.monotonic()
        number = self._publisher.publish_next(iterator)
        published = time.monotonic()
        self.version = number
        self._update(number)
        log.info("TensorHub: published version %d in %.3f s, taken in %.3f s", number,
                 published - begin, time.monotonic() - published)  # fmt: skip

    def _wait(self, number: int) -> None:
        self._publisher.wait_taken(number, share=self._share, timeout=self._timeout)

    def resume(self) -> None:
        """After the weights have changed."""
        if self._resume is not None:
            self._resume()

    def destroy(self) -> None:
        """Leaves the hub. Engines that hold the last version serve it on."""
        self._began = False
        self._publisher.close()


def _warn_if_untried() -> None:
    import trl

    if trl.__version__ not in TRIED:
        log.warning("TensorHub was not tried with TRL %s; it was with %s",
                    trl.__version__, ", ".join(TRIED))  # fmt: skip
