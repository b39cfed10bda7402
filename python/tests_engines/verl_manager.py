# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Three syncs by verl's own manager: two trainer ranks and two rollout ranks, under Ray on a CPU.

python verl_manager.py    prints a line for each sync: the step, the version, what each rank got,
                          and lines for what verify says, before and after something was changed
"""

import os

# Ray gives its workers less of a processor than anybody else, by itself.
os.environ.setdefault("RAY_worker_niceness", "0")

import ray
import tensorhub
import torch
from verl.checkpoint_engine.base import (
    CheckpointEngineManager,
    CheckpointEngineRegistry,
    CheckpointEngineWorker,
)
from verl.single_controller.base import Worker
from verl.single_controller.base.decorator import Dispatch, register
from verl.single_controller.ray import RayClassWithInitArgs, RayResourcePool, RayWorkerGroup
from verl.workers.config import CheckpointEngineConfig, RolloutConfig


class Adapter:
    """In place of verl's way into an engine that generates."""

    replica_rank = 0
    is_leader_rank = True

    async def update_weights(self, weights, global_steps=None, wire_format=None):
        self.got = {name: float(tensor.mean()) async for name, tensor in weights}


class Actor(Worker):
    def __init__(self, config):
        super().__init__()
        import tensorhub.integrations.verl  # noqa: F401

        self.checkpoint_engine = CheckpointEngineRegistry.new(
            "tensorhub", is_master=os.environ["RANK"] == "0", bucket_size=1 << 20, **config
        )

    @register(dispatch_mode=Dispatch.DP_COMPUTE, blocking=False)
    def execute_checkpoint_engine(self, method, *args, **kwargs):
        return getattr(self.checkpoint_engine, method)(*args, **kwargs)

    @register(dispatch_mode=Dispatch.ONE_TO_ALL, blocking=False)
    async def update_weights(self, global_steps=None, mode="auto"):
        weights = ((f"w{i}", torch.full((10,), 10.0 * global_steps + i)) for i in range(2))
        return await self.checkpoint_engine.send_weights(weights, global_steps=global_steps)


class Rollout(CheckpointEngineWorker):
    def __init__(self, config):
        super().__init__(config, None, server_adapter=Adapter())

    @register(dispatch_mode=Dispatch.ONE_TO_ALL)
    def got(self):
        return self.server_adapter.got

    @register(dispatch_mode=Dispatch.ONE_TO_ALL)
    def change(self, name):
        """As something would that writes into what verl was given."""
        self.checkpoint_engine._stage.tensors[name][3] += 1

    @register(dispatch_mode=Dispatch.ONE_TO_ALL)
    def differing(self):
        try:
            self.checkpoint_engine.verify()
        except tensorhub.DataLossError as error:
            return str(error)


class Replica:
    def __init__(self, workers):
        self.workers = workers

    async def _nothing(self, **_):
        """There is no engine to pause."""

    abort_all_requests = resume_generation = release_kv_cache = resume_kv_cache = _nothing


def group(prefix, worker, *given):
    pool = RayResourcePool([2], use_gpu=False, max_colocate_count=1, name_prefix=prefix)
    made = RayClassWithInitArgs(ray.remote(worker), *given)
    return RayWorkerGroup(pool, made, device_name="cpu")


def main():
    with tensorhub.serve() as hub:
        ray.init(num_cpus=8, include_dashboard=False)
        given = {"server": hub.address, "model": "actor", "timeout": 60.0}
        config = CheckpointEngineConfig(
            backend="tensorhub", custom_backend_module="tensorhub.integrations.verl",
            engine_kwargs={"tensorhub": given}, update_weights_bucket_megabytes=1,
        )  # fmt: skip
        actors = group("actors", Actor, given)
        rollouts = group("rollouts", Rollout, RolloutConfig(name="vllm", checkpoint_engine=config))
        manager = CheckpointEngineManager(config, actors, [Replica(rollouts.workers)])
        for step in (1, 2, 1):
            metrics = manager.update_weights(global_steps=step)
            print("sync", step, metrics["tensorhub/version"], rollouts.got(), flush=True)
        receipts = ray.get(rollouts.execute_checkpoint_engine(["verify"] * 2))
        print("verified", [(one.version, one.tensors, one.bytes) for one in receipts], flush=True)
        rollouts.change("w1")
        for said in rollouts.differing():
            print("differing", said, flush=True)
        ray.shutdown()


if __name__ == "__main__":
    main()
