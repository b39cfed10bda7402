# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""The trainer: ranks of FSDP2, each of which publishes its own slices.

Each rank has float32 weights, which AdamW changes, and publishes a bfloat16 copy of its slices.
Nobody ever has the model whole.
"""

import multiprocessing
import os
import socket
import time

import task

CLIP = 0.2
ENTROPY = 0.01
WARM_UP = 20  # steps, until the learning rate is whole


def sharded(module):
    from torch.distributed.fsdp import fully_shard

    for layer in module.model.layers:
        fully_shard(layer)
    return fully_shard(module)


class Rank:
    def __init__(self, server, learning_rate):
        import torch
        from tensorhub.torch import SlicePublisher

        self.master = sharded(task.module())
        self.publisher = SlicePublisher(self.master, server, task.MODEL, dtype=torch.bfloat16)
        self.optimizer = torch.optim.AdamW(
            self.master.parameters(), lr=learning_rate, weight_decay=0.0
        )
        self.warm_up = torch.optim.lr_scheduler.LinearLR(
            self.optimizer, start_factor=1 / WARM_UP, total_iters=WARM_UP
        )

    def publish(self, version):
        """Seconds that this rank stood still for it."""
        began = time.monotonic()
        self.publisher.publish(version)
        return time.monotonic() - began

    def learn(self, tokens, before, advantage):
        """GRPO's clipped step. ``before``: what vLLM gave the tokens that it chose."""
        import torch

        tokens, before, advantage = map(torch.from_numpy, (tokens, before, advantage))
        answers = tokens[:, task.PROMPT :]
        logits = self.master(input_ids=tokens[:, :-1]).logits[:, task.PROMPT - 1 :].float()
        every = logits.log_softmax(-1)
        now = every.gather(2, answers[..., None]).squeeze(2)
        ratio, gain = (now - before).exp(), advantage[:, None]
        clipped = torch.minimum(ratio * gain, ratio.clamp(1 - CLIP, 1 + CLIP) * gain)
        entropy = -(every.exp() * every).sum(-1)
        self.optimizer.zero_grad()
        (-(clipped + ENTROPY * entropy).mean()).backward()
        torch.nn.utils.clip_grad_norm_(self.master.parameters(), 1.0)
        self.optimizer.step()
        self.warm_up.step()


def run_rank(rank, ranks, port, server, learning_rate, pipe):
    """Answers each order with the seconds that publishing took; ends with the pipe."""
    import torch

    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", rank=rank, world_size=ranks)
    mine = Rank(server, learning_rate)
    pipe.send(mine.publish(1))
    while True:
        try:
            version, batch = pipe.recv()
        except EOFError:
            break
        mine.learn(*(part[rank::ranks] for part in batch))
        pipe.send(mine.publish(version))
    mine.publisher.close()
    torch.distributed.destroy_process_group()


class Trainer:
    """The ranks' processes."""

    def __init__(self, ranks, server, learning_rate):
        context = multiprocessing.get_context("spawn")  # no client works in a fork
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self._pipes, self._ranks = [], []
        for rank in range(ranks):
            ours, theirs = context.Pipe()
            given = (rank, ranks, port, server, learning_rate, theirs)
            self._ranks.append(context.Process(target=run_rank, args=given, daemon=True))
            self._ranks[-1].start()
            theirs.close()
            self._pipes.append(ours)
        self.wait()

    def step(self, version, batch):
        """Learns, and publishes. Seconds that publishing took."""
        for pipe in self._pipes:
            pipe.send((version, batch))
        return self.wait()

    def wait(self):
        return max(pipe.recv() for pipe in self._pipes)

    def close(self):
        for pipe in self._pipes:
            pipe.close()
        for rank in self._ranks:
            rank.join(20)
