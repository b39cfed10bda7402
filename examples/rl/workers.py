# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""The rollout workers: what each does, and the processes that they are.

Each has a pipe of its own for its samples: one that is killed while it writes breaks no other's.
Weights come by TensorHub alone."""

import multiprocessing
import multiprocessing.connection
import time
from typing import NamedTuple

import tensorhub
import torch
from model import Model, prompts
from tensorhub.torch import fetch_module, register_module

LOCATION = "local/dc1/r1/h1"
PATIENCE = 60  # seconds


class Samples(NamedTuple):
    worker: str
    version: int  # of the weights that wrote the answers
    stall: float  # seconds that the worker waited for them, and read
    tokens: torch.Tensor
    answers: torch.Tensor
    reward: torch.Tensor


def write_answers(model, count, generator):
    tokens, right = prompts(count, generator)
    with torch.no_grad():
        odds = model(tokens).float().softmax(-1)
    answers = torch.multinomial(odds, 1, generator=generator).squeeze(1)
    return tokens, answers, (answers == right).float()


def fetch_newer(client, model, version):
    """The version that came. A fetch may fail whose source withdrew: the trainer does not wait for
    readers before it writes its next step. Then there is a newer one."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            newer = tensorhub.newer_than(version)
            return fetch_module(client, model, newer, timeout=PATIENCE).version
        except tensorhub.Error:
            if time.monotonic() > until:
                raise


def rollout(name, address, batch, pipe):
    """Fetches, writes, sends: until the trainer is gone."""
    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(sum(name.encode()))
    model = Model().to(torch.bfloat16)
    version = 0
    with tensorhub.connect(address, "rl", name, location=LOCATION, spot=True) as client:
        register_module(client, model)
        while True:
            began = time.monotonic()
            version = fetch_newer(client, model, version)
            stall = time.monotonic() - began
            written = write_answers(model, batch, generator)
            try:
                pipe.send((name, version, stall, *(part.numpy() for part in written)))
            except OSError:
                return


class Crew:
    """The workers' processes."""

    def __init__(self, address, batch):
        self._context = multiprocessing.get_context("spawn")  # no client works in a fork
        self._address = address
        self._batch = batch
        self._workers = {}
        self._pipes = []

    def hire(self):
        name = f"rollout-{len(self._workers)}"
        ours, theirs = self._context.Pipe(duplex=False)
        arguments = (name, self._address, self._batch, theirs)
        worker = self._context.Process(target=rollout, args=arguments, daemon=True)
        worker.start()
        theirs.close()  # so that the pipe ends with the worker
        self._workers[name] = worker
        self._pipes.append(ours)
        return name

    def kill(self, name):
        self._workers[name].kill()

    def living(self):
        return [name for name, worker in self._workers.items() if worker.is_alive()]

    def take(self):
        """All samples that are there; waits for the first."""
        taken = []
        while not taken:
            ready = multiprocessing.connection.wait(self._pipes, PATIENCE)
            if not ready:
                raise SystemExit(f"no worker has sent anything for {PATIENCE} s")
            for pipe in ready:
                try:
                    name, version, stall, *arrays = pipe.recv()
                    taken.append(Samples(name, version, stall, *map(torch.from_numpy, arrays)))
                except EOFError:
                    self._pipes.remove(pipe)
        return taken

    def dismiss(self):
        for worker in self._workers.values():
            worker.terminate()
        for worker in self._workers.values():
            worker.join(5)
