# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""One rank of a trainer with FSDP2, which publishes its own slices of one checkpoint or another.

    python fsdp_trainer.py SERVER MODEL     reads lines "VERSION SEED", answers "published VERSION"

RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT are in the environment, as of torchrun.
"""

import os
import sys

import engines
import tensorhub
import torch
from tensorhub.torch import publish_module, register_module
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import distribute_tensor


def sharded(seed):
    module = engines.llama(seed)
    for layer in module.model.layers:
        fully_shard(layer)
    return fully_shard(module)


def become(module, seed):
    """As an optimizer would: in place."""
    theirs = engines.llama(seed).state_dict()
    with torch.no_grad():
        for name, mine in module.state_dict().items():
            cut = distribute_tensor(theirs[name], mine.device_mesh, mine.placements)
            mine.to_local().copy_(cut.to_local())


def main(server, model):
    torch.distributed.init_process_group("gloo")
    rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    module = sharded(engines.SEEDS[0])
    with tensorhub.connect(server, model, "fsdp", rank, ranks) as client:
        register_module(client, module)
        for line in sys.stdin:
            version, seed = map(int, line.split())
            client.unpublish()
            become(module, seed)
            publish_module(client, module, version, wait_for_group=True)
            print("published", version, flush=True)
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main(*sys.argv[1:])
