# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Weight syncs through verl's checkpoint engines: one trainer rank, two rollout ranks, no Ray.

python examples/verl_sync.py              # with a server of its own
python examples/verl_sync.py HOST:PORT    # beside a running tensorhub-server

Needs verl. It does what verl's CheckpointEngineManager does in each sync. docs/engines.md has the
settings of a real run, where verl does it.
"""

import asyncio
import importlib
import sys

import tensorhub
import torch
from verl.checkpoint_engine.base import CheckpointEngineRegistry


async def receive(engine, step):
    """Stands for verl's server adapter, which gives the tensors to the engine that generates."""
    return {name: float(tensor.mean()) async for name, tensor in engine.receive_weights(step)}


async def sync(trainer, rollouts, module, step):
    metadata = [engine.prepare() for engine in (trainer, *rollouts)]
    told, also = trainer.build_topology(1, len(rollouts), metadata)
    trainer.init_process_group(newest=told["newest"][0])
    for engine, newest in zip(rollouts, also["newest"], strict=True):
        engine.init_process_group(newest=newest)
    receiving = [asyncio.create_task(receive(engine, step)) for engine in rollouts]
    await trainer.send_weights(iter(module.state_dict().items()), step)
    return await asyncio.gather(*receiving)


def main(server):
    importlib.import_module("tensorhub.integrations.verl")  # verl: custom_backend_module
    given = {"bucket_size": 1 << 20, "server": server, "model": "actor"}
    trainer = CheckpointEngineRegistry.new("tensorhub", is_master=True, **given)
    rollouts = [CheckpointEngineRegistry.new("tensorhub", **given) for _ in range(2)]
    module = torch.nn.Linear(64, 64)
    for step in range(1, 4):
        with torch.no_grad():
            module.weight.add_(1.0)
        print(f"step {step}:", asyncio.run(sync(trainer, rollouts, module, step)), flush=True)
        print("  receipts:", {engine.arrived.receipt for engine in rollouts}, flush=True)
    for engine in (*rollouts, trainer):
        engine.close()


if __name__ == "__main__":
    if len(sys.argv) > 2:
        sys.exit(__doc__)
    main(sys.argv[1] if len(sys.argv) == 2 else tensorhub.serve().address)
