# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""tensorhub.aio: the same with await, and cancellable."""

import asyncio
import time

import numpy as np
import pytest
import tensorhub


def test_a_version_arrives(server, connect):
    async def run():
        async with await tensorhub.aio.connect(server, connect.model, "trainer") as trainer:
            source, target = np.ones(5000, np.float32), np.zeros(5000, np.float32)
            trainer.register({"w": source})
            async with await tensorhub.aio.connect(server, connect.model, "rollout") as rollout:
                rollout.register({"w": target})
                fetching = asyncio.create_task(rollout.fetch(tensorhub.newer_than(0)))
                await asyncio.sleep(0.1)
                await trainer.publish(1)
                assert (await fetching).version == 1
                assert np.array_equal(source, target)
                assert await rollout.wait(tensorhub.latest(), 1) == 1
                assert [version.version for version in await rollout.list()] == [1]
                await trainer.unpublish()
                with pytest.raises(tensorhub.NotFoundError):
                    await rollout.fetch(tensorhub.version(5))

    asyncio.run(run())


def test_cancelling_a_task_ends_its_call_only(server, connect):
    async def run():
        async with await tensorhub.aio.connect(server, connect.model, "g") as client:
            client.register({"w": np.zeros(10)})
            waits = [asyncio.create_task(client.wait(tensorhub.newer_than(9), 60)) for _ in "ab"]
            fetch = asyncio.create_task(client.fetch(tensorhub.newer_than(9)))
            await asyncio.sleep(0.2)
            began = time.monotonic()
            for task in (waits[0], fetch):
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
            assert time.monotonic() - began < 10, "it waited for the versions"
            await client.publish(10)  # it does not wait for the fetch's timeout
            assert await waits[1] == 10

    asyncio.run(run())


def test_a_timeout_of_asyncio(server, connect):
    async def run():
        async with await tensorhub.aio.connect(server, connect.model, "g") as client:
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(client.wait(tensorhub.newer_than(1), 60), 0.2)

    asyncio.run(run())
