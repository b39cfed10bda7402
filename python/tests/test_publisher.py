# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Whole tensors from a trainer, in one process; test_torch.py has a sharded one."""

import pytest
import tensorhub

torch = pytest.importorskip("torch", reason="torch is not installed in this environment")

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
        assert state.keys() == {"embedding.weight", "bias", "nothing"}
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
        assert state.keys() == {"embedding.weight", "bias", "nothing"}
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
