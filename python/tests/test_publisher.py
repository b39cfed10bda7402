# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Whole tensors from a trainer, in one process; test_torch.py has a sharded one."""

import pytest
import tensorhub

torch = pytest.importorskip("torch", reason="torch is not installed in this environment")

from tensorhub._copies import published_dtype  # noqa: E402
from tensorhub.torch import SlicePublisher, WholePublisher, load_state  # noqa: E402


class Tied(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = torch.nn.Embedding(50, 8)
        self.head = torch.nn.Linear(8, 50, bias=False)
        self.head.weight = self.embedding.weight
        self.register_buffer("bias", torch.arange(4.0))
        self.register_buffer("nothing", torch.zeros(0, 3))


def test_parameters_are_cast_and_buffers_are_not(server, connect):
    model = Tied()
    with WholePublisher(model, server, connect.model, dtype=torch.bfloat16) as publisher:
        publisher.publish(1)
        state = load_state(connect("reader"))
        assert state.keys() == {"embedding.weight", "head.weight", "bias", "nothing"}
        assert torch.equal(state["embedding.weight"], model.embedding.weight.to(torch.bfloat16))
        assert torch.equal(state["bias"], model.bias)


def test_the_module_may_change_once_it_is_published(server, connect):
    model = torch.nn.Linear(4, 4)
    reader = connect("reader")
    with WholePublisher(model, server, connect.model) as publisher:
        for step in (1, 2):
            publisher.publish(step)
            published = model.weight.detach().clone()
            with torch.no_grad():
                model.weight.add_(1)
            if step == 1:
                state = load_state(reader)
            else:
                reader.fetch(tensorhub.newer_than(1))
            assert torch.equal(state["weight"], published)


def test_names_are_those_of_the_checkpoint(server, connect):
    compiled = torch.nn.Module()
    compiled._orig_mod = torch.nn.Linear(4, 4)
    names = {"weight": "model.weight"}
    with WholePublisher(compiled, server, connect.model, rename=names.get) as publisher:
        publisher.publish(1)
        assert load_state(connect("reader")).keys() == {"model.weight"}


def test_bad_modules_are_refused_before_anybody_connects(server, connect):
    with pytest.raises(tensorhub.InvalidArgumentError, match="weight and bias both become 'w'"):
        WholePublisher(torch.nn.Linear(4, 4), server, connect.model, rename=lambda name: "w")
    with pytest.raises(tensorhub.InvalidArgumentError, match="'weight' is on the meta device"):
        WholePublisher(torch.nn.Linear(4, 4, device="meta"), server, connect.model)


def test_a_closed_publisher_says_so(server, connect):
    publisher = WholePublisher(torch.nn.Linear(4, 4), server, connect.model)
    publisher.close()
    publisher.close()
    with pytest.raises(tensorhub.InvalidArgumentError, match="closed"):
        publisher.publish(1)


def test_slices_are_cast_and_buffers_are_not(server, connect):
    model = Tied()
    with SlicePublisher(model, server, connect.model, dtype=torch.bfloat16) as publisher:
        publisher.publish(1)
        state = load_state(connect("reader"))
        assert state.keys() == {"embedding.weight", "head.weight", "bias", "nothing"}
        assert torch.equal(state["embedding.weight"], model.embedding.weight.to(torch.bfloat16))
        assert torch.equal(state["bias"], model.bias)
        with torch.no_grad():
            model.embedding.weight.add_(1)
        assert state["bias"].dtype == torch.float32
        publisher.publish(2)
        reader = connect("another")
        assert torch.equal(
            load_state(reader)["embedding.weight"], model.embedding.weight.to(torch.bfloat16)
        )


class Routed(torch.nn.Module):
    """What shares one block of memory, and what engines have in float32."""

    def __init__(self):
        super().__init__()
        block = torch.arange(16.0)
        self.weight = torch.nn.Parameter(block[:8].view(2, 4))
        self.register_buffer("mean", block[8:12])
        self.gate = torch.nn.Module()
        self.gate.weight = torch.nn.Parameter(block[12:].view(1, 4))
        self.gate.e_score_correction_bias = torch.nn.Parameter(torch.tensor([1 / 3, 2 / 3]))
        self.packed = torch.nn.Parameter(torch.ones(3).to(torch.float8_e4m3fn), requires_grad=False)
        self.packed_scale = torch.nn.Parameter(torch.tensor([1 / 3]))
        self.head = torch.nn.Parameter(torch.ones(2))
        self.wide = torch.nn.Parameter(torch.ones(2, dtype=torch.float64))


BFLOAT16 = {"weight", "gate.weight", "wide"}


@pytest.mark.parametrize("kind", [SlicePublisher, WholePublisher])
def test_a_cast_is_for_what_has_enough_bits_and_is_no_buffer(server, connect, kind):
    model = Routed()
    with kind(model, server, connect.model, dtype=torch.bfloat16, keep=["he*"]) as publisher:
        publisher.publish(1)
        state = load_state(connect("reader"))
    for name, tensor in model.state_dict().items():
        wanted = torch.bfloat16 if name in BFLOAT16 else tensor.dtype
        assert state[name].dtype == wanted, name
        assert torch.equal(state[name].double(), tensor.to(wanted).double()), name


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("model.layers.3.mlp.gate.e_score_correction_bias", True),
        ("decoder.layers.3.mlp.router.expert_bias", True),
        ("model.layers.3.moe.router_bias", True),
        ("model.layers.3.mlp.router.bias", True),
        ("backbone.layers.0.mixer.A_log", True),
        ("model.layers.0.mlp.experts.1.down_proj.weight_scale_inv", True),
        ("model.layers.0.mlp.down_proj.input_scale", True),
        ("model.layers.0.mlp.gate_proj.bias", False),
        ("model.layers.0.mlp.gate.weight", False),
        ("model.layers.0.self_attn.q_proj.bias", False),
        ("model.layers.0.input_layernorm.weight", False),
    ],
)
def test_what_engines_have_in_float32(name, kept):
    def wanted(dtype):
        return published_dtype(name, torch.ones(2, dtype=dtype), torch.bfloat16)

    assert wanted(torch.float32) == (torch.float32 if kept else torch.bfloat16)
    assert wanted(torch.float8_e5m2) == torch.float8_e5m2
    assert wanted(torch.int32) == torch.int32


def test_slices_have_the_place_and_the_name_that_are_said(server, connect):
    model = torch.nn.Linear(4, 6, bias=False)

    def place(name, tensor):
        return [("up." + name, tensorhub.sliced(tensor[:3], (6, 4), (3, 0))),
                ("up." + name, tensorhub.sliced(tensor[3:], (6, 4), (0, 0)))]  # fmt: skip

    with SlicePublisher(
        model, server, connect.model, place=place, rename=lambda name: "model." + name
    ) as publisher:
        publisher.publish(1)
        reader, whole = connect("reader"), torch.zeros(6, 4)
        reader.register({"model.up.weight": whole})
        reader.fetch(tensorhub.latest())
    assert torch.equal(whole, torch.cat([model.weight[3:], model.weight[:3]]))


def test_a_module_that_changed_its_shapes_is_refused(server, connect):
    model = torch.nn.Linear(4, 6)
    publisher = SlicePublisher(model, server, connect.model)
    publisher.publish(1)
    model.weight = torch.nn.Parameter(torch.zeros(5, 4))
    with pytest.raises(tensorhub.FailedPreconditionError, match="other tensors than when"):
        publisher.publish(2)
    publisher.close()
    with pytest.raises(tensorhub.InvalidArgumentError, match="closed"):
        publisher.publish(3)
    with pytest.raises(tensorhub.InvalidArgumentError, match="'weight' is on the meta device"):
        SlicePublisher(torch.nn.Linear(4, 4, device="meta"), server, connect.model)
