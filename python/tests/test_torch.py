# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Modules of PyTorch, and its tensors."""

import os
import subprocess
import sys
import textwrap

import pytest
import tensorhub

torch = pytest.importorskip("torch", reason="torch is not installed in this environment")

from tensorhub import sliced  # noqa: E402
from tensorhub._tensors import read_tensors  # noqa: E402
from tensorhub.placing import whole  # noqa: E402
from tensorhub.torch import (  # noqa: E402
    WholePublisher,
    bundle,
    fetch_module,
    load_state,
    publish_module,
    register_module,
    tensors_of,
)


class Tied(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = torch.nn.Embedding(50, 8)
        self.norm = torch.nn.BatchNorm1d(8)
        self.head = torch.nn.Linear(8, 50, bias=False)
        self.head.weight = self.embedding.weight


def same(one, two):
    return all(
        torch.equal(mine, theirs)
        for mine, theirs in zip(one.state_dict().values(), two.state_dict().values(), strict=True)
    )


def test_a_module_arrives(connect):
    theirs, ours = Tied().to(torch.bfloat16), Tied().to(torch.bfloat16)
    trainer, rollout = connect("trainer"), connect("rollout")
    register_module(trainer, theirs)
    register_module(rollout, ours)
    publish_module(trainer, theirs, 1)
    assert fetch_module(rollout, ours).version == 1
    assert same(theirs, ours)
    trainer.unpublish()
    with torch.no_grad():
        theirs.embedding.weight.add_(1)
    publish_module(trainer, theirs, 2)
    fetch_module(rollout, ours, tensorhub.newer_than(1))
    assert same(theirs, ours)
    assert ours.head.weight is ours.embedding.weight


def test_tied_weights_have_one_name_and_buffers_are_in():
    names = set(tensors_of(Tied()))
    assert "embedding.weight" in names
    assert "head.weight" not in names
    assert "head.weight = embedding.weight" in names
    assert {"norm.running_mean", "norm.num_batches_tracked"} <= names


def pair():
    """A model and a draft that has the model's embedding."""
    target, draft = Tied(), torch.nn.Sequential(torch.nn.Embedding(50, 8), torch.nn.Linear(8, 3))
    draft[0].weight = target.embedding.weight
    return bundle({"target": target, "draft": draft})


def test_a_bundle_is_one_version(connect):
    theirs, ours = pair(), pair()
    trainer, rollout = connect("trainer"), connect("rollout")
    register_module(trainer, theirs)
    register_module(rollout, ours)
    publish_module(trainer, theirs, 1)
    fetch_module(rollout, ours)
    assert same(theirs, ours)
    names = [name for name in tensors_of(theirs) if "norm" not in name and " = " not in name]
    assert names == ["target.embedding.weight", "draft.1.weight", "draft.1.bias"]


def test_a_bundle_is_published_whole(connect, server):
    theirs = pair()
    with WholePublisher(theirs, server, connect.model, dtype=torch.bfloat16) as publisher:
        publisher.publish(1)
        state = load_state(connect("rollout"))
    assert state["draft.1.weight"].dtype == torch.bfloat16
    assert torch.equal(state["draft.1.weight"], theirs["draft"][1].weight.bfloat16())


def test_an_average_comes_with_what_it_is_of(connect, server):
    actor, average = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)
    both, mine = (
        bundle({"actor": actor, "average": average}),
        bundle({"actor": torch.nn.Linear(4, 4), "average": torch.nn.Linear(4, 4)}),
    )
    rollout = connect("rollout")
    register_module(rollout, mine)
    with WholePublisher(both, server, connect.model) as publisher:
        for step in range(1, 4):
            with torch.no_grad():
                actor.weight.fill_(step)
                average.weight.lerp_(actor.weight, 0.5)
            publisher.publish(step)
            assert fetch_module(rollout, mine).version == step
            assert same(both, mine)
    assert not torch.equal(mine["actor"].weight, mine["average"].weight)


@pytest.mark.parametrize("given", [{}, {"a.b": Tied()}, {"": Tied()}, {"a": 1}, {"keys": Tied()}])
def test_what_is_no_bundle(given):
    with pytest.raises(tensorhub.InvalidArgumentError, match="bundle"):
        bundle(given)


def test_an_optimizer_may_step_between(connect):
    model = torch.nn.Linear(4, 4)
    client = connect("trainer")
    register_module(client, model)
    optimizer = torch.optim.AdamW(model.parameters())
    for step in range(1, 4):
        model(torch.ones(4)).sum().backward()
        client.unpublish()
        optimizer.step()
        publish_module(client, model, step)


def test_replaced_storage_is_found_before_anything_is_published(connect):
    model = torch.nn.Linear(4, 4)
    client = connect("trainer")
    with pytest.raises(tensorhub.FailedPreconditionError, match="register_module"):
        publish_module(client, model, 1)
    register_module(client, model)
    model.weight.data = torch.zeros(4, 4)
    with pytest.raises(tensorhub.FailedPreconditionError, match="weight was replaced or freed"):
        publish_module(client, model, 1)
    assert client.held() is None
    with pytest.raises(tensorhub.FailedPreconditionError, match="weight"):
        fetch_module(client, model)


def test_autograd_notices_a_fetch(connect):
    trainer, rollout = connect("trainer"), connect("rollout")
    trainer.register({"w": torch.ones(5)})
    weights = torch.zeros(5, requires_grad=True)
    rollout.register({"w": weights})
    trainer.publish(1)
    loss = (weights * weights).sum()
    before = weights._version
    rollout.fetch(tensorhub.latest())
    assert weights._version > before
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_a_fresh_state_dict(connect):
    theirs, ours = Tied(), Tied()
    trainer = connect("trainer")
    register_module(trainer, theirs)
    publish_module(trainer, theirs, 4)
    state = load_state(connect("rollout"))
    ours.load_state_dict(state)
    assert same(theirs, ours)
    assert state["head.weight"] is state["embedding.weight"]


class Untied(Tied):
    def __init__(self):
        super().__init__()
        self.head.weight = torch.nn.Parameter(torch.rand(50, 8))


def test_a_tied_rollout_of_an_untied_trainer_hears_what_it_lacks(connect):
    theirs, ours = Untied(), Tied()
    before = ours.head.weight.detach().clone()
    trainer, rollout = connect("trainer"), connect("rollout")
    register_module(trainer, theirs)
    publish_module(trainer, theirs, 1)
    register_module(rollout, ours)
    with pytest.raises(tensorhub.FailedPreconditionError, match=r'registered: "head\.weight"; '):
        fetch_module(rollout, ours, timeout=20)
    assert torch.equal(ours.head.weight, before)
    fetch_module(rollout, ours, partial=True, timeout=20)
    assert torch.equal(ours.head.weight, theirs.embedding.weight)


def test_an_untied_rollout_of_a_tied_trainer_hears_what_there_is_not(connect):
    theirs, ours = Tied(), Untied()
    trainer, rollout = connect("trainer"), connect("rollout")
    register_module(trainer, theirs)
    publish_module(trainer, theirs, 1)
    register_module(rollout, ours)
    with pytest.raises(tensorhub.FailedPreconditionError, match=r"head\.weight"):
        fetch_module(rollout, ours, partial=True, timeout=20)


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        ("bfloat16", "BF16"), ("float8_e4m3fn", "F8_E4M3"), ("float8_e5m2", "F8_E5M2"),
        ("float8_e8m0fnu", "F8_E8M0"), ("bool", "BOOL"), ("uint16", "U16"), ("uint64", "U64"),
        ("float64", "F64"), ("complex64", "C64"),
    ],
)  # fmt: skip
def test_dtypes(connect, name, dtype):
    ours = torch.zeros(4, 6, dtype=getattr(torch, name))
    theirs = torch.randint(0, 2, (ours.nbytes,), dtype=torch.uint8).view(ours.dtype).view(4, 6)
    trainer, rollout = connect("trainer"), connect("rollout")
    trainer.register({"w": theirs})
    rollout.register({"w": ours})
    assert read_tensors({"w": ours}).described[0][2:5] == (ours.nbytes, dtype, (4, 6))
    trainer.publish(1)
    rollout.fetch(tensorhub.latest())
    assert torch.equal(theirs.view(torch.uint8), ours.view(torch.uint8))


def test_packed_float4():
    if not hasattr(torch, "float4_e2m1fn_x2"):
        pytest.skip("this torch has no float4")
    packed = torch.zeros(4, 6, dtype=torch.uint8).view(torch.float4_e2m1fn_x2)
    assert read_tensors({"w": packed}).described[0][2:5] == (24, "F4", (4, 12))


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: torch.zeros(4, 4).t()[1:], "'w' is not contiguous"),
        (lambda: torch.zeros(4, device="meta"), "'w' is on the meta device"),
        (lambda: torch.zeros(4, dtype=torch.complex128), "'w' has dtype complex128"),
        (lambda: torch.zeros(4, 4).to_sparse(), "'w' is torch.sparse_coo"),
        (lambda: torch.zeros(1).expand(4), "'w' is not contiguous"),
    ],
)
def test_what_cannot_be_registered(make, said):
    with pytest.raises(tensorhub.InvalidArgumentError, match=said):
        read_tensors({"w": make()})


class Fused(torch.nn.Module):
    """As engines have weights: q, k and v in one, and a gate and an up of each expert in one."""

    def __init__(self):
        super().__init__()
        self.qkv = torch.nn.Linear(3, 8, bias=False)
        self.experts = torch.nn.Parameter(torch.zeros(2, 4, 3))
        self.norm = torch.nn.LayerNorm(3)


def unfused(name, tensor):
    if name == "qkv.weight":
        for part, rows in (("q", tensor[:4]), ("k", tensor[4:6]), ("v", tensor[6:])):
            yield f"{part}.weight", whole(rows)
    elif name == "experts":
        for expert in range(2):
            yield f"experts.{expert}.gate.weight", whole(tensor[expert, :2])
            yield f"experts.{expert}.up.weight", whole(tensor[expert, 2:])
    else:
        yield name, whole(tensor)


def test_several_names_are_views_of_one_parameter(connect):
    ours = Fused()
    names = {"q.weight": 4, "k.weight": 2, "v.weight": 2, "norm.weight": None, "norm.bias": None}
    names |= {f"experts.{e}.{part}.weight": 2 for e in range(2) for part in ("gate", "up")}
    theirs = {name: torch.rand((rows, 3) if rows else 3) for name, rows in names.items()}
    trainer, rollout = connect("trainer"), connect("rollout")
    trainer.register({name: whole(tensor) for name, tensor in theirs.items()})
    register_module(rollout, ours, place=unfused)
    trainer.publish(1)
    fetch_module(rollout, ours)
    assert torch.equal(ours.qkv.weight, torch.cat([theirs[f"{x}.weight"] for x in "qkv"]))
    assert torch.equal(ours.experts[1, 2:], theirs["experts.1.up.weight"])
    assert torch.equal(ours.norm.weight, theirs["norm.weight"])
    ours.qkv.weight.data = torch.zeros(8, 3)
    with pytest.raises(tensorhub.FailedPreconditionError, match=r"memory of q\.weight, k\.weight"):
        fetch_module(rollout, ours)


def test_a_fresh_state_has_each_piece_of_a_name(connect):
    theirs = torch.arange(6.0).view(6, 1)
    trainer = connect("trainer")
    trainer.register(
        {"w": [sliced(theirs[:2], (9, 1), (0, 0)), sliced(theirs[2:], (9, 1), (5, 0))]}
    )
    trainer.publish(1)
    state = load_state(connect("rollout"))
    assert list(state) == ["w[0:2, 0:1]", "w[5:9, 0:1]"]
    assert torch.equal(torch.cat(list(state.values())), theirs)


_FSDP = """
import os, sys
import torch, torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import Replicate, distribute_tensor
import tensorhub
from tensorhub.torch import (
    SlicePublisher, WholePublisher, fetch_module, load_state, publish_module, register_module,
    tensors_of)
server, model_name = sys.argv[1:3]
rank = int(os.environ["RANK"])
dist.init_process_group("gloo")
mesh = init_device_mesh("cpu", (2,))
def build(seed):
    torch.manual_seed(seed)
    model = torch.nn.Sequential(torch.nn.Linear(7, 5), torch.nn.Linear(5, 3))
    for layer in model:
        fully_shard(layer, mesh=mesh)
    # Beside what is sharded: buffers, and a parameter that is left out.
    model.register_buffer("counts", torch.arange(4.0) + seed)
    model.register_buffer("step", torch.tensor(seed))
    model.register_parameter("ignored", torch.nn.Parameter(torch.full((2, 3), 1.0 * seed)))
    return fully_shard(model, mesh=mesh, ignored_params={model.ignored})
def full(tensor):
    return tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor
theirs, ours = build(1), build(2)
piece = tensors_of(theirs)["0.weight"]
assert piece.global_shape == (5, 7), piece
assert piece.offset == ((0, 0), (3, 0))[rank], piece.offset
both = distribute_tensor(torch.ones(3), mesh, [Replicate()])
kept = torch.nn.Module()
kept.register_buffer("scale", both)
scale = tensors_of(kept)["scale"]
assert (scale.global_shape, scale.offset) == ((3,), (0,)), scale
for name in ("counts", "step", "ignored"):
    plain, shape = tensors_of(theirs)[name], tuple(getattr(theirs, name).shape)
    assert (plain.global_shape, plain.offset) == (shape, (0,) * len(shape)), plain
trainer = tensorhub.connect(server, model_name, "trainer", rank, 2)
rollout = tensorhub.connect(server, model_name, "rollout", rank, 2)
register_module(trainer, theirs)
register_module(rollout, ours)
publish_module(trainer, theirs, 1, wait_for_group=True)
fetch_module(rollout, ours)
for mine, yours in zip(ours.parameters(), theirs.parameters(), strict=True):
    assert torch.equal(full(mine), full(yours))
for mine, yours in zip(ours.buffers(), theirs.buffers(), strict=True):
    assert torch.equal(mine, yours)
dist.barrier()
rollout.leave(); trainer.leave()
whole = WholePublisher(theirs, server, model_name + "-whole", dtype=torch.bfloat16)
whole.publish(1)
if rank == 0:
    reader = tensorhub.connect(server, model_name + "-whole", "reader")
    found = load_state(reader)
def cast(name, value):
    return value if name in ("counts", "step") else value.to(torch.bfloat16)
expected = {name: cast(name, full(value)) for name, value in theirs.state_dict().items()}
if rank == 0:
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        assert torch.equal(found[name], value), name
    reader.leave()
try:
    whole.publish(0)  # on every rank the same error
    raise SystemExit("an older version was published")
except tensorhub.FailedPreconditionError:
    pass
whole.publish(2)
whole.close()
pieces = SlicePublisher(theirs, server, model_name + "-pieces", dtype=torch.bfloat16)
pieces.publish(1)
if rank == 0:
    found = {name: torch.zeros_like(value) for name, value in expected.items()}
    with tensorhub.connect(server, model_name + "-pieces", "reader") as reader:
        reader.register(found)
        reader.fetch(tensorhub.latest())
    for name, value in expected.items():
        assert torch.equal(found[name], value), name
dist.barrier()
pieces.close()
lonely = WholePublisher(theirs, server, model_name + "-lonely")
lonely.publish(1)
if rank == 1:  # what only one rank has lost stops all of them, before anything is gathered
    theirs[0].weight.to_local().untyped_storage().resize_(0)
try:
    lonely.publish(2)
    raise SystemExit("freed memory was published")
except tensorhub.InvalidArgumentError as error:
    assert "weight" in str(error) and "no memory" in str(error), error
lonely.close()
dist.destroy_process_group()
"""


def test_fsdp_registers_its_shards(server, connect, tmp_path):
    environment = dict(
        os.environ, WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT=str(_free_port()),
        OMP_NUM_THREADS="1",
    )  # fmt: skip
    ranks = [
        subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(_FSDP), server, connect.model],
            env=dict(environment, RANK=str(rank)),
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    for rank in ranks:
        _, complaint = rank.communicate(timeout=120)
        assert rank.returncode == 0, complaint


def _free_port():
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
