# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""verl: a checkpoint engine, by which its trainer and its rollouts meet at a hub.

    actor_rollout_ref.rollout.checkpoint_engine.backend=tensorhub
    actor_rollout_ref.rollout.checkpoint_engine.custom_backend_module=tensorhub.integrations.verl
    +actor_rollout_ref.rollout.checkpoint_engine.engine_kwargs.tensorhub.server=hub:7070
    +actor_rollout_ref.rollout.checkpoint_engine.engine_kwargs.tensorhub.model=actor

verl imports this module in each of its processes, which registers the engine. The trainer's first
rank publishes whole tensors, each rollout rank fetches them, and verl's server adapter puts them
into the engine that generates. docs/engines.md says what works and what does not.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
import time
from collections.abc import AsyncGenerator, Sequence
from typing import Any

import torch
import verl
from verl.checkpoint_engine.base import CheckpointEngine, CheckpointEngineRegistry

import tensorhub
from tensorhub._errors import FailedPreconditionError
from tensorhub._verify import Receipt, verify_client
from tensorhub.integrations._settings import Settings
from tensorhub.integrations._stage import Arrived, Stage
from tensorhub.integrations._streamed import Named, StreamPublisher, dtype_of

__all__ = ["TRIED", "TensorHubCheckpointEngine"]

log = logging.getLogger("verl.tensorhub")

NAME = "tensorhub"
TRIED = ("0.9.1",)


@CheckpointEngineRegistry.register(NAME)  # type: ignore[untyped-decorator,unused-ignore]
class TensorHubCheckpointEngine(CheckpointEngine):  # type: ignore[misc,unused-ignore]
    """One in each process of the trainer and of the rollouts. verl makes it and calls it.

    A version's number is verl's ``global_steps``. Where the hub has that number or a higher one
    already, as after a return to a checkpoint, it is the next free one. So what a sync brings is
    always of that sync.
    """

    def __init__(
        self,
        bucket_size: int,
        is_master: bool = False,
        dtype: str | None = None,
        keep: Sequence[str] = (),
        **given: Any,
    ) -> None:
        """verl gives ``bucket_size`` and ``is_master``, and ``engine_kwargs`` the others.

        ``dtype``: what the trainer's floating point is cast to, such as 'bfloat16'; as it is by
        itself. What they are stay float8, what engines have in float32 (biases of routers, scales),
        and what a pattern of ``keep`` names. InvalidArgumentError names a setting that is missing
        or unknown.
        """
        self._settings = Settings.of(given, {"TENSORHUB_GROUP": "verl", **os.environ})
        publisher = StreamPublisher(
            self._settings, arena=bucket_size, dtype=dtype_of(dtype), keep=keep
        )
        self._publisher = publisher if is_master else None
        self._stage = Stage(self._settings)
        self._newest = -1
        self._receiving = threading.Lock()
        self.arrived: Arrived | None = None
        """What this rollout rank fetched last, with its receipt."""
        if verl.__version__ not in TRIED:
            log.warning("TensorHub was not tried with verl %s; it was with %s",
                        verl.__version__, ", ".join(TRIED))  # fmt: skip

    def prepare(self) -> dict[str, Any]:
        """The trainer's first rank tells what the hub has. UnavailableError: nobody answers."""
        return {} if self._publisher is None else {"newest": self._publisher.newest()}

    @classmethod
    def build_topology(
        cls, actor_wg_world_size: int, rollout_world_size: int, metadata: list[dict[str, Any]]
    ) -> tuple[dict[str, list[Any]], dict[str, list[Any]]]:
        """Everybody is told what the hub had before this sync."""
        newest = max((one["newest"] for one in metadata if one), default=-1)
        return {"newest": [newest] * actor_wg_world_size}, {"newest": [newest] * rollout_world_size}

    def init_process_group(self, newest: int) -> None:
        """There is no group; ranks may come and go between two syncs."""
        self._newest = newest

    def finalize(self) -> None:
        """Nothing: what was fetched stays, for peers and as memory for the next sync."""

    async def send_weights(self, weights: Named, global_steps: int | None = None) -> dict[str, Any]:
        """Publishes, on the trainer's first rank; the others take part in what it gathers.

        Returns metrics of the sync. Errors as ``tensorhub.Client.publish``.
        """
        if self._publisher is None:
            for _ in weights:
                pass
            return {}
        begin = time.monotonic()
        number = self._number(global_steps)
        self._publisher.publish(number, weights)
        seconds = time.monotonic() - begin
        log.info("TensorHub: published version %d of step %s in %.3f s: %d bytes",
                 number, global_steps, seconds, self._publisher.nbytes)  # fmt: skip
        return {"tensorhub/version": number, "tensorhub/publish_s": seconds}

    async def receive_weights(
        self, global_steps: int | None = None
    ) -> AsyncGenerator[tuple[str, torch.Tensor], None]:
        """Yields this sync's tensors, in host memory that must not be written to: peers read it.

        FailedPreconditionError: a sync runs already in this rank. DeadlineExceededError: nothing
        was published within the setting ``timeout``.
        """
        if not self._receiving.acquire(blocking=False):
            raise FailedPreconditionError(
                "a weight sync runs already in this rollout rank; wait for it to end"
            )
        try:
            await asyncio.to_thread(self._fetch, self._number(global_steps))
            for name, tensor in self._stage.tensors.items():
                yield name, tensor
        finally:
            self._receiving.release()

    def verify(self, timeout: float = 600.0) -> Receipt:
        """Whether this rollout rank's host memory has what was published; between two syncs.

        What verl's server adapter made of it in the engine that generates is not seen from here.
        DataLossError names what differs. FailedPreconditionError: no sync has brought anything.
        """
        if self.arrived is None:
            raise FailedPreconditionError(
                "no sync has brought this rank a version, or the last one failed; sync first"
            )
        return verify_client(self._stage.client, timeout)

    def close(self) -> None:
        """Leaves the hub."""
        self._stage.close()
        if self._publisher is not None:
            self._publisher.close()

    def _number(self, global_steps: int | None) -> int:
        return max(global_steps or 0, self._newest + 1)

    def _fetch(self, number: int) -> None:
        self.arrived = None
        self._stage.client.wait(tensorhub.version(number), self._settings.timeout)
        found, specs = self._stage.describe(number)
        self._stage.hold(specs)
        self.arrived = self._stage.fetch(found)
        log.info("TensorHub: %s", self.arrived)
