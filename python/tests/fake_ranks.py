# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""An engine of several ranks, each a thread with a model that fuses and cuts as vLLM's do."""

import threading
import time

import tensorhub
import torch

Q, KV, UP, HIDDEN, WORDS = 8, 4, 6, 6, 7
SHAPES = {
    "q": (Q, HIDDEN), "k": (KV, HIDDEN), "v": (KV, HIDDEN), "o": (HIDDEN, Q), "norm": (HIDDEN,),
    "gate": (UP, HIDDEN), "up": (UP, HIDDEN), "embed": (WORDS, HIDDEN),
}  # fmt: skip


class Model(torch.nn.Module):
    """One tensor-parallel rank as engines have it: fused by rows, cut by columns, padded words."""

    def __init__(self, rank, ranks):
        super().__init__()
        self.rank, self.ranks = rank, ranks
        words = 8 // ranks
        shapes = {
            "qkv": ((Q + 2 * KV) // ranks, HIDDEN), "o": (HIDDEN, Q // ranks), "norm": (HIDDEN,),
            "gate_up": (2 * UP // ranks, HIDDEN), "embed": (words, HIDDEN),
        }  # fmt: skip
        for name, shape in shapes.items():
            setattr(self, name, torch.nn.Parameter(torch.full(shape, -1.0), requires_grad=False))
        self.loads = 0

    def load_weights(self, weights):
        for name, tensor in weights:
            if name not in SHAPES:
                raise ValueError(f"There is no module or parameter named {name!r}")
            self._load(name, tensor)
            self.loads += not tensor.is_meta
        return set(self._parameters)

    def _load(self, name, tensor):
        rank, ranks = self.rank, self.ranks
        if name == "o":
            self._whole("o", tensor).copy_(tensor.chunk(ranks, 1)[rank])
        elif name == "norm":
            self._whole("norm", tensor).copy_(tensor)
        elif name == "embed":
            self._load_embed(tensor)
        else:
            rows = tensor.shape[0] // ranks
            fused, begin = {
                "q": ("qkv", 0), "k": ("qkv", Q // ranks), "v": ("qkv", (Q + KV) // ranks),
                "gate": ("gate_up", 0), "up": ("gate_up", UP // ranks),
            }[name]  # fmt: skip
            into = self._whole(fused, tensor).narrow(0, begin, rows)
            into.copy_(tensor.narrow(0, rank * rows, rows))

    def _load_embed(self, tensor):
        into = self._whole("embed", tensor)
        begin = self.rank * into.shape[0]
        mine = tensor[begin : begin + into.shape[0]]
        into[: mine.shape[0]].copy_(mine)
        into[mine.shape[0] :].fill_(0)

    def _whole(self, name, tensor):
        """As vLLM's layerwise reload: memory of its own once bytes arrive."""
        parameter = self._parameters[name]
        if parameter.is_meta and not tensor.is_meta:
            parameter = torch.nn.Parameter(torch.zeros(parameter.shape), False)
            self._parameters[name] = parameter
        return parameter.data


class OneStage(Model):
    """A pipeline-parallel rank: it takes nothing of what other ranks hold."""

    MINE = (("embed", "q", "k", "v"), ("o", "norm", "gate", "up"))

    def __init__(self, rank):
        super().__init__(0, 1)
        self.stage = rank
        for name in (("o", "norm", "gate_up"), ("qkv", "embed"))[rank]:
            delattr(self, name)

    def _load(self, name, tensor):
        if name in self.MINE[self.stage]:
            super()._load(name, tensor)


def weights_of(version):
    """Every element tells the version, the tensor and its place."""
    made = {}
    for number, (name, shape) in enumerate(SHAPES.items()):
        count = torch.Size(shape).numel()
        made[name] = torch.arange(float(count)).reshape(shape) + 100 * number + 1000 * version
    return made


def holds(model, version):
    fresh = Model(model.rank, model.ranks)
    fresh.load_weights(weights_of(version).items())
    theirs = dict(fresh.named_parameters())
    return all(torch.equal(value, theirs[name]) for name, value in model.named_parameters())


class Notice:
    """What the ranks say beside what they do, by the number of the step."""

    def __init__(self, said, step):
        self._said, self._step = said, step

    def tell(self, what):
        self._said[self._step] = what

    def heard(self):
        return self._said.get(self._step, "")


class Threads:
    """The ranks of one engine, each in a thread; ``run(step)`` gives each rank's result."""

    def __init__(self, ranks):
        self.ranks = ranks
        self.here = threading.local()
        self._barrier = threading.Barrier(ranks)
        self._given = [None] * ranks
        self._said = {}
        self._steps = [0] * ranks

    def notice(self):
        self._steps[self.here.rank] += 1
        return Notice(self._said, self._steps[self.here.rank])

    def gather(self, value):
        self._given[self.here.rank] = value
        self._barrier.wait(60)
        values = list(self._given)
        self._barrier.wait(60)
        return values

    def run(self, step):
        outcomes = [None] * self.ranks

        def one(rank):
            self.here.rank = rank
            try:
                outcomes[rank] = step(rank)
            except Exception as error:
                outcomes[rank] = error

        threads = [threading.Thread(target=one, args=(rank,)) for rank in range(self.ranks)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return outcomes


def sliced(whole, rank, axis):
    axis = min(axis, whole.dim() - 1)
    size = -(-whole.shape[axis] // 2)
    begin = rank * size
    piece = whole.narrow(axis, begin, min(size, whole.shape[axis] - begin)).contiguous()
    offset = [0] * whole.dim()
    offset[axis] = begin
    return tensorhub.sliced(piece, whole.shape, offset)


def update(threads, engines, **info):
    return threads.run(lambda rank: engines[rank].update_weights(info))


def fetched(engines):
    return [engine.arrived.bytes_read for engine in engines]


def own_bytes(model):
    """What a rank takes of a version: all its parameters, but for the words that are padding."""
    rows = min(max(WORDS - model.rank * model.embed.shape[0], 0), model.embed.shape[0])
    padding = (model.embed.shape[0] - rows) * HIDDEN
    return 4 * (sum(value.numel() for value in model.parameters()) - padding)


class Llm:
    """As vLLM's ``LLM`` of these ranks, as far as the plug-in asks it."""

    def __init__(self, threads, engines):
        import fake_vllm

        self._threads = threads
        self._workers = [fake_vllm.WorkerBase(engine) for engine in engines]

    def collective_rpc(self, method, args=()):
        found = self._threads.run(lambda rank: getattr(self._workers[rank], method)(*args))
        for one in found:
            if isinstance(one, Exception):
                raise one
        return found


def eventually(step, seconds=60.0):
    """Until ``step`` is true."""
    end = time.monotonic() + seconds
    while not step():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.01)
