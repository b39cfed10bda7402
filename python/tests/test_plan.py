# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""The recorder of an engine's loading code, on a module that fuses and splits as engines do."""

import math
import random
import time

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed in this environment")

from tensorhub.integrations import _plan  # noqa: E402
from tensorhub.integrations._coverage import Lacking, unwritten  # noqa: E402
from tensorhub.integrations._plan import record  # noqa: E402

Q, KV, HIDDEN = 8, 4, 6


class Block(torch.nn.Module):
    """The second of two tensor-parallel ranks: q, k, v fused by rows, o split by columns."""

    def __init__(self):
        super().__init__()
        self.qkv = torch.nn.Parameter(torch.zeros((Q + 2 * KV) // 2, HIDDEN))
        self.o = torch.nn.Parameter(torch.zeros(HIDDEN, Q // 2))
        self.norm = torch.nn.Parameter(torch.ones(HIDDEN))
        self.scale = torch.nn.Parameter(torch.zeros(HIDDEN))
        self.vocabulary = torch.nn.Parameter(torch.ones(10, HIDDEN))
        self.alone = torch.nn.Parameter(torch.ones(3))

    def load_weights(self, weights):
        row = {"q": 0, "k": Q // 2, "v": Q // 2 + KV // 2}
        for name, tensor in weights:
            if name in row:
                rows = tensor.shape[0] // 2
                mine = tensor.narrow(0, rows, rows)
                self.qkv.data.narrow(0, row[name], rows).copy_(mine)
            elif name == "o":
                self.o.data.copy_(tensor.chunk(2, dim=1)[1])
            elif name == "norm":
                self.norm.data.copy_(tensor)
            elif name == "scale":
                self.scale.data.copy_(tensor.float() + 1)
            elif name == "vocabulary":
                self.vocabulary.data[: tensor.shape[0]].copy_(tensor)
                self.vocabulary.data[tensor.shape[0] :].fill_(0)


SHAPES = {
    "q": (Q, HIDDEN), "k": (KV, HIDDEN), "v": (KV, HIDDEN), "o": (HIDDEN, Q), "norm": (HIDDEN,),
    "scale": (HIDDEN,), "vocabulary": (9, HIDDEN), "expert.of.another.rank": (2, 2),
}  # fmt: skip


def recorded(block, dtypes=None):
    published = [
        (name, (dtypes or {}).get(name, torch.float32), shape) for name, shape in SHAPES.items()
    ]
    return record(published, dict(block.named_parameters()), block.load_weights)


def test_a_plan_does_what_loading_does():
    block, loaded = Block(), Block()
    before = {name: value.clone() for name, value in block.state_dict().items()}
    plan = recorded(block)
    for name, value in block.state_dict().items():
        assert torch.equal(value, before[name]), f"recording changed {name}"
    sources = {name: torch.rand(shape) for name, shape in SHAPES.items()}
    loaded.load_weights(sources.items())
    parameters = dict(block.named_parameters())
    for piece in plan.pieces:
        source, target = piece.source, piece.target
        value = sources[piece.name].as_strided(source.shape, source.stride, source.offset)
        parameter = parameters[piece.parameter].data
        parameter.as_strided(target.shape, target.stride, target.offset).copy_(value)
    for name in ("qkv", "o", "norm"):
        assert torch.equal(parameters[name], getattr(loaded, name)), name
    assert torch.equal(block.vocabulary[:9], loaded.vocabulary[:9])


def test_what_is_not_followed_is_named():
    plan = recorded(Block())
    assert plan.changed == {"scale": "aten.add.Tensor"}
    assert plan.untaken == ["expert.of.another.rank"]
    assert plan.unfilled == ["alone"]
    assert plan.written == {"scale": "aten.add.Tensor", "vocabulary": "aten.fill_.Scalar"}


def plain(names, parameters=("qkv", "o", "norm")):
    """A block's loading code without what changes values."""
    block = Block().to("meta")
    published = [(name, torch.float32, SHAPES[name]) for name in names]
    wanted = {name: value for name, value in block.named_parameters() if name in parameters}
    return published, wanted, block.load_weights


def test_copies_alone_tell_what_all_operations_tell(monkeypatch):
    given = plain(("q", "k", "v", "o", "norm"))
    with monkeypatch.context() as patch:
        patch.setattr(_plan, "_copies_alone", lambda *_: None)
        whole = record(*given)
    with monkeypatch.context() as patch:
        patch.setattr(_plan._Recorder, "__torch_dispatch__", None)
        quick = record(*given)
    assert quick.pieces == whole.pieces
    assert len(quick.pieces) == 5
    assert (quick.unfilled, quick.changed) == (whole.unfilled, whole.changed) == ([], {})


@pytest.mark.parametrize("lacking", ["q", "k", "v"])
@pytest.mark.parametrize("device", ["meta", "cpu"])
def test_a_part_that_lacks_is_told_from_a_whole(lacking, device):
    block = Block().to(device)
    published = [(name, torch.float32, SHAPES[name]) for name in ("q", "k", "v") if name != lacking]
    plan = record(published, {"qkv": block.qkv}, block.load_weights)
    assert plan.unfilled == ["qkv"]
    elements = SHAPES[lacking][0] // 2 * HIDDEN
    assert plan.partly == {"qkv": Lacking(elements, block.qkv.numel(), is_behind=lacking == "v")}


def test_what_copies_do_not_tell_is_looked_at_again():
    parameters = ("qkv", "o", "norm", "vocabulary")
    published, wanted, load = plain(("q", "k", "v", "o", "norm"), parameters)
    assert record(published, wanted, load).unfilled == ["vocabulary"]
    published, wanted, load = plain(("q", "k", "v", "o", "norm", "vocabulary"), parameters)
    assert record(published, wanted, load).unfilled == [], "padding is written as well"
    block = Block().to("meta")
    published = [(name, torch.float32, shape) for name, shape in SHAPES.items()]
    plan = record(published, dict(block.named_parameters()), block.load_weights)
    assert plan.changed == {"scale": "aten.add.Tensor"}
    assert plan.unfilled == ["alone"]


def test_copies_of_others_go_on_behind_a_recording():
    record(*plain(("q", "k", "v", "o", "norm", "vocabulary")))
    with pytest.raises(RuntimeError):
        torch.zeros(3, device="meta").copy_(torch.zeros(4, device="meta"))


def test_tied_parameters_are_filled_together():
    block = torch.nn.Module()
    block.first = torch.nn.Parameter(torch.zeros(2, 2))
    block.second = block.first

    def load(weights):
        block.first.data.copy_(dict(weights)["w"])

    names = dict(block.named_parameters(remove_duplicate=False))
    assert record([("w", torch.float32, (2, 2))], names, load).unfilled == []


def test_what_does_not_fit_is_refused():
    target = torch.zeros(3, 2)

    def load(weights):
        for _, tensor in weights:
            target.copy_(tensor)

    plan = record([("w", torch.float32, (1, 2))], {"t": target}, load)
    assert plan.changed == {"w": "broadcasting"}
    with pytest.raises(ValueError, match=r"w of shape \[4, 3, 2\] does not fit into t"):
        record([("w", torch.float32, (4, 3, 2))], {"t": target}, load)


def test_errors_of_the_loading_code_come_out():
    def load(weights):
        raise KeyError(weights[0][0])

    with pytest.raises(KeyError, match="w"):
        record([("w", torch.float32, (1,))], {}, load)


def seconds_to_record(layers):
    """Of this thread, the least of some times."""
    parameters = {f"layer.{n}": torch.zeros(32, 16) for n in range(layers)}
    published = [(f"{half}.{n}", torch.float32, (16, 16)) for n in range(layers) for half in "ab"]

    def load(weights):
        for name, tensor in weights:
            half, number = name.split(".")
            parameter = parameters[f"layer.{number}"]
            parameter.narrow(0, 16 * "ab".index(half), 16).copy_(tensor)

    times = []
    for _ in range(5):
        begin = time.thread_time()  # of others' load nothing
        plan = record(published, parameters, load)
        times.append(time.thread_time() - begin)
    assert len(plan.pieces) == 2 * layers
    return min(times)


def test_recording_takes_as_long_as_there_are_tensors():
    few, many = seconds_to_record(100), seconds_to_record(800)
    print(f"recorded 200 tensors in {few * 1000:.1f} ms, 1600 in {many * 1000:.1f} ms")
    assert many < 3 * 8 * few


def test_what_is_unwritten_is_counted_as_if_by_element():
    """Views of a tensor at random, boxes and others, and of one beside it in the same memory."""
    chance = random.Random(7)
    for _ in range(300):
        shape = [chance.randint(1, 5) for _ in range(chance.randint(1, 4))]
        memory = torch.zeros(math.prod(shape) + 20, dtype=torch.int8)
        tensor = memory[10 : 10 + math.prod(shape)].view(shape)
        tensor = tensor.permute(chance.sample(range(len(shape)), len(shape)))
        writes = []
        for _ in range(chance.randint(0, 4)):
            view = memory if chance.random() < 0.1 else tensor
            for axis in range(view.dim()):
                begin = chance.randint(0, view.shape[axis] - 1)
                view = view.narrow(axis, begin, chance.randint(1, view.shape[axis] - begin))
            if chance.random() < 0.2 and view.is_contiguous():
                view = view.view(-1)[:: chance.randint(1, 2)]
            view.fill_(1)
            writes.append((view.storage_offset() - 10, view.shape, view.stride()))
        lacking = unwritten(tensor.shape, tensor.stride(), writes)
        assert (lacking.elements if lacking else 0) == int((tensor == 0).sum()), (shape, writes)
