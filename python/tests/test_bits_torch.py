# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tensors of torch, by every way in: they arrive bit for bit, or are refused by name."""

import random

import pytest
import tensorhub

torch = pytest.importorskip("torch", reason="torch is not installed in this environment")

from tensorhub._dtypes import BY_NAME  # noqa: E402
from tensorhub.torch import (  # noqa: E402
    AdapterPublisher,
    SlicePublisher,
    WholePublisher,
    fetch_module,
    load_state,
    publish_module,
    register_module,
)


class Wrapper(torch.Tensor):
    """A tensor whose values its class knows how to make, of two others: as quantised ones are."""

    @staticmethod
    def __new__(cls, inner):
        return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)

    def __init__(self, inner):
        self.inner = inner

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        plain = torch.utils._pytree.tree_map_only(Wrapper, lambda wrapper: wrapper.inner, args)
        found = function(*plain, **(kwargs or {}))
        return cls(found) if isinstance(found, torch.Tensor) else found


class WithMemory(Wrapper):
    """The same with memory of its own, in which something else is."""

    @staticmethod
    def __new__(cls, inner):
        return torch.Tensor._make_subclass(cls, torch.zeros_like(inner))


class Named(torch.Tensor):
    """A type with a name and nothing else, as frameworks have for parameters."""


def fake():
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        return torch.ones(6)


def freed(tensor):
    tensor.untyped_storage().resize_(0)
    return tensor


def halved():
    tensor = torch.arange(8.0)
    tensor.untyped_storage().resize_(16)
    return tensor


def complexes():
    return torch.complex(torch.arange(6.0), -torch.arange(6.0))


DENSE = {
    "plain": lambda: torch.arange(12.0).view(3, 4),
    "one number": lambda: torch.tensor(2.5),
    "nothing": lambda: torch.zeros(0, 3),
    "a row of a block": lambda: torch.arange(12.0).view(3, 4)[1],
    "a row that repeats once": lambda: torch.arange(4.0).expand(1, 4),
    "with a history": lambda: torch.nn.Parameter(torch.arange(6.0)) * 2,
    "made for inference": lambda: torch.inference_mode()(lambda: torch.arange(6.0))(),
    "a parameter": lambda: torch.nn.Parameter(torch.arange(6.0)),
    "a type with a name": lambda: torch.arange(6.0).as_subclass(Named),
    "of NumPy's": lambda: torch.from_numpy(__import__("numpy").arange(6.0)),
    "lent by DLPack": lambda: torch.from_dlpack(__import__("numpy").arange(6.0)),
    "conjugated for good": lambda: complexes().conj().resolve_conj(),
}
# Views whose values are not what lies in their memory, one behind the other. A copy has them.
SPARSE_VIEWS = {
    "every other": (lambda: torch.arange(12.0)[::2], "not contiguous"),
    "turned": (lambda: torch.arange(12.0).view(3, 4).t(), "not contiguous"),
    "repeated": (lambda: torch.arange(4.0).expand(3, 4), "not contiguous"),
    "conjugated": (lambda: complexes().conj(), "conjugated"),
    "negated": (lambda: torch._neg_view(torch.arange(6.0)), "negated"),
    "what conjugating negates": (lambda: complexes().conj().imag, "negated"),
    "real parts": (lambda: complexes().real, "not contiguous"),
}  # fmt: skip
NO_VALUES = {
    "a wrapper": (lambda: Wrapper(torch.arange(6.0)), "is a Wrapper"),
    "a wrapper as a parameter": (lambda: torch.nn.Parameter(Wrapper(torch.ones(6))), "a Wrapper"),
    "a wrapper with memory": (lambda: WithMemory(torch.arange(6.0)), "is a WithMemory"),
    "a fake": (fake, "is a FakeTensor"),
    "meta": (lambda: torch.ones(6, device="meta"), "meta device"),
    "freed": (lambda: freed(torch.arange(6.0)), "no memory"),
    "a part of what is freed": (lambda: freed(torch.arange(12.0)[6:]), "no memory"),
    "half freed": (halved, "no memory"),
    "sparse": (lambda: torch.eye(3).to_sparse(), "sparse_coo"),
    "sparse by rows": (lambda: torch.eye(3).to_sparse_csr(), "sparse_csr"),
    "of mkldnn": (lambda: torch.ones(3, 4).to_mkldnn(), "mkldnn"),
    "nested": (lambda: torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]), "nested"),
    "nested, jagged": (lambda: torch.nested.nested_tensor(
        [torch.ones(2), torch.ones(3)], layout=torch.jagged), "is a NestedTensor"),
    "zeros of no memory": (lambda: torch._efficientzerotensor((6,)), "no memory"),
    "quantised": (lambda: torch.quantize_per_tensor(torch.ones(6), 0.1, 0, torch.qint8), "dtype"),
    "double complex": (lambda: torch.zeros(6, dtype=torch.complex128), "dtype"),
    "not initialised": (lambda: torch.nn.LazyLinear(3).weight, "not initialised"),
}  # fmt: skip
NAME = "some.lora_A.default.weight"


def module_of(tensor):
    """A module with the tensor under NAME, and another one before it."""
    module = torch.nn.Module()
    module.first = torch.nn.Parameter(torch.ones(5))
    module.some, module.some.lora_A = torch.nn.Module(), torch.nn.Module()
    module.some.lora_A.default = torch.nn.Module()
    holder = module.some.lora_A.default
    if isinstance(tensor, torch.nn.Parameter):
        holder.register_parameter("weight", tensor)
    else:
        holder.register_buffer("weight", tensor)
    return module


def bytes_of(tensor):
    flat = tensor.detach().resolve_conj().resolve_neg().contiguous().view(-1)
    return bytes(flat.view(torch.uint8).numpy()) if flat.numel() else b""


# --- ways in: each publishes the tensor as version 1, or raises -----------------------------------


def by_register(connect, server, tensor):
    client = connect("trainer")
    client.register({"first": torch.ones(5), NAME: tensor})
    client.publish(1)


def by_module(connect, server, tensor):
    client, module = connect("trainer"), module_of(tensor)
    register_module(client, module)
    publish_module(client, module, 1)


def by_slices(connect, server, tensor):
    made = SlicePublisher(module_of(tensor), server, connect.model)
    connect.closing.append(made)
    made.publish(1)


def by_whole(connect, server, tensor):
    made = WholePublisher(module_of(tensor), server, connect.model)
    connect.closing.append(made)
    made.publish(1)


def by_adapter(connect, server, tensor):
    made = AdapterPublisher(module_of(tensor), {"r": 1}, server, connect.model)
    connect.closing.append(made)
    made.publish(1, base=None)


IN_PLACE, COPIES = (by_register, by_module), (by_slices, by_whole, by_adapter)


@pytest.fixture(autouse=True)
def closing(connect):
    connect.closing = []
    yield
    for publisher in connect.closing:
        publisher.close()


def arrived(connect, tensor):
    """By load_state, into fresh memory, and into a module."""
    state = load_state(connect("fresh"))
    (key,) = [key for key in state if key.startswith("some.")]
    assert bytes_of(state[key]) == bytes_of(tensor)
    assert (state[key].shape, state[key].dtype) == (tensor.shape, tensor.dtype)
    if key != NAME or isinstance(tensor, torch.nn.Parameter):
        return
    module, client = module_of(torch.zeros_like(state[key])), connect("module")
    register_module(client, module)
    fetch_module(client, module)
    assert bytes_of(module.get_buffer(NAME)) == bytes_of(tensor)


@pytest.mark.parametrize("way", IN_PLACE + COPIES)
@pytest.mark.parametrize("kind", DENSE)
def test_what_is_dense_arrives(connect, server, kind, way):
    tensor = DENSE[kind]()
    way(connect, server, tensor)
    arrived(connect, tensor)


@pytest.mark.parametrize("way", IN_PLACE + COPIES)
@pytest.mark.parametrize("kind", SPARSE_VIEWS)
def test_views_are_refused_where_they_are_and_resolved_where_they_are_copied(
    connect, server, kind, way
):
    make, said = SPARSE_VIEWS[kind]
    tensor = make()
    if way in COPIES:
        way(connect, server, tensor)
        arrived(connect, tensor)
    else:
        refused(connect, server, way, tensor, said)


@pytest.mark.parametrize("way", IN_PLACE + COPIES)
@pytest.mark.parametrize("kind", NO_VALUES)
def test_what_has_no_values_is_refused(connect, server, kind, way):
    make, said = NO_VALUES[kind]
    refused(connect, server, way, make(), said)


def refused(connect, server, way, tensor, said):
    watcher = connect("watcher")
    with pytest.raises(tensorhub.InvalidArgumentError, match=said) as caught:
        way(connect, server, tensor)
    assert NAME in str(caught.value) or "some.lora_A.weight" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert watcher.list() == ()


def test_what_is_batched_is_refused(connect):
    client = connect("g")

    def register(inner):
        with pytest.raises(tensorhub.InvalidArgumentError, match="'inner' has no memory"):
            client.register({"inner": inner})
        return inner

    torch.func.vmap(register)(torch.ones(3, 2))


@pytest.mark.parametrize("way", IN_PLACE + COPIES)
@pytest.mark.parametrize("name", sorted(BY_NAME))
def test_each_dtype_arrives(connect, server, name, way):
    dtype = getattr(torch, name, None)
    if dtype is None:
        pytest.skip(f"this torch has no {name}")
    memory = bytearray(random.Random(name).randbytes(6 * dtype.itemsize))
    memory = bytearray(byte % 2 for byte in memory) if name == "bool" else memory
    tensor = torch.frombuffer(memory, dtype=torch.uint8).view(dtype).view(2, 3)
    way(connect, server, tensor)
    arrived(connect, tensor)


def test_parameters_that_are_views_of_one_block_arrive(connect, server):
    block = torch.arange(24.0)
    module = torch.nn.Module()
    module.a = torch.nn.Parameter(block[:8])
    module.b = torch.nn.Parameter(block[8:20].view(3, 4))
    module.register_buffer("c", block[20:])
    client = connect("trainer")
    register_module(client, module)
    publish_module(client, module, 1)
    state = load_state(connect("fresh"))
    assert torch.equal(torch.cat([state[name].view(-1) for name in "abc"]), block)


def test_nothing_is_made_where_there_is_no_memory(connect):
    trainer = connect("trainer")
    trainer.register({NAME: torch.ones(3)})
    trainer.publish(1)
    with pytest.raises(tensorhub.InvalidArgumentError, match=f"{NAME}.* meta device"):
        load_state(connect("fresh"), device="meta")
