# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Memory that was freed or replaced after it was registered: nothing is read, nothing written."""

import asyncio

import numpy as np
import pytest
import tensorhub

torch = pytest.importorskip("torch", reason="torch is not installed in this environment")

from tensorhub.torch import (  # noqa: E402
    AdapterPublisher,
    SlicePublisher,
    WholePublisher,
    fetch_module,
    publish_module,
    register_module,
)

SIZES = (16, 1 << 20)  # a few bytes, which the next tensor gets, and pages that go back


def resized(array):
    array.resize(array.size * 3, refcheck=False)


def shrunk(array):
    array.resize(array.size // 2, refcheck=False)


def reassigned(tensor):
    tensor.data = torch.ones_like(tensor.data)


def freed(tensor):
    tensor.untyped_storage().resize_(0)


def halved(tensor):
    tensor.untyped_storage().resize_(tensor.untyped_storage().nbytes() // 2)


def freed_and_smaller(tensor):
    size = tensor.untyped_storage().nbytes()
    freed(tensor)
    tensor.untyped_storage().resize_(size // 2)


def set_elsewhere(tensor):
    with torch.no_grad():
        tensor.set_(torch.zeros(tensor.shape))


def whole_array(size):
    return (array := np.arange(size, dtype=np.float32)), array


def view_of_array(size):
    owner = np.arange(size, dtype=np.float32)
    return owner, owner[size // 4 :]


def whole_tensor(size):
    return (tensor := torch.arange(float(size))), tensor


def parameter(size):
    return (made := torch.nn.Parameter(torch.arange(float(size)))), made


def view_of_tensor(size):
    owner = torch.arange(float(size))
    return owner, owner[size // 4 :]


CASES = [
    *((whole_array, way) for way in (resized, shrunk)),
    *((view_of_array, way) for way in (resized, shrunk)),
    *((whole_tensor, way) for way in (freed, halved, freed_and_smaller, set_elsewhere)),
    *((parameter, way) for way in (reassigned, freed)),
    *((view_of_tensor, way) for way in (freed, freed_and_smaller)),
]


def refused(call, name="some.w"):
    with pytest.raises(tensorhub.FailedPreconditionError, match="register again") as caught:
        call()
    assert name in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("make", "change"), CASES)
def test_neither_published_nor_fetched_into(connect, make, change, size):
    owner, value = make(size)
    other, target = np.ones(5), np.zeros(5)
    client, rollout = connect("g"), connect("rollout")
    client.register({"other": other, "some.w": value})
    client.publish(1)
    rollout.register({"other": target, "some.w": np.zeros(value.shape, np.float32)})
    rollout.fetch(tensorhub.version(1))
    client.unpublish(force=True)
    change(owner)
    refused(lambda: client.publish(2))
    refused(lambda: client.fetch(tensorhub.version(1)))
    assert client.held() is None
    assert [version.version for version in rollout.list()] == [1]
    rollout.leave()


def test_by_asyncio_too(server, connect):
    async def run():
        async with await tensorhub.aio.connect(server, connect.model, "g") as client:
            tensor = torch.zeros(100)
            client.register({"some.w": tensor})
            freed(tensor)
            for call in (lambda: client.publish(1), lambda: client.fetch(tensorhub.latest())):
                with pytest.raises(tensorhub.FailedPreconditionError, match=r"some\.w"):
                    await call()

    asyncio.run(run())


def test_the_first_ten_are_named(connect):
    tensors = {f"w{i}": torch.zeros(3) for i in range(12)}
    client = connect("g")
    client.register(tensors)
    for tensor in tensors.values():
        freed(tensor)
    refused(lambda: client.publish(1), "w0, w1, w2, w3, w4, w5, w6, w7, w8, w9 and 2 more")


def test_what_is_verified_is_there(connect):
    client, tensor = connect("g"), torch.zeros(1 << 20)
    client.register({"some.w": tensor})
    client.publish(1)
    freed(tensor)
    refused(lambda: tensorhub.verify(client))


class Model(torch.nn.Module):
    """With an adapter's matrix, so that all publishers take it."""

    def __init__(self, size):
        super().__init__()
        matrix = torch.nn.ModuleDict({"default": torch.nn.Linear(size, 1, bias=False)})
        self.up = torch.nn.ModuleDict({"lora_A": matrix})

    @property
    def matrix(self):
        return self.up.lora_A.default.weight


NAME, ADAPTERS_NAME = "up.lora_A.default.weight", "up.lora_A.weight"
CONFIG = {"r": 1, "lora_alpha": 1}


@pytest.mark.parametrize("change", [reassigned, freed, halved, freed_and_smaller])
def test_modules_are_looked_at_before_both(connect, change):
    module, client = Model(1000), connect("g")
    register_module(client, module)
    change(module.matrix)
    refused(lambda: publish_module(client, module, 1), NAME)
    refused(lambda: fetch_module(client, module), NAME)
    assert client.list() == ()


def turned(weight):
    weight.data = weight.data.t()


def of_another_dtype(weight):
    weight.data = weight.data.double()


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("change", [freed, halved, freed_and_smaller, turned, of_another_dtype])
@pytest.mark.parametrize("kind", [SlicePublisher, WholePublisher, AdapterPublisher])
def test_publishers_touch_nothing(server, connect, kind, change, size):
    module, watcher = Model(size), connect("watcher")
    more = (CONFIG,) if kind is AdapterPublisher else ()
    also = {"base": None} if kind is AdapterPublisher else {}
    with kind(module, *more, server, connect.model) as publisher:
        publisher.publish(1, **also)
        change(module.matrix)
        with pytest.raises((tensorhub.InvalidArgumentError, tensorhub.FailedPreconditionError),
                           match=r"lora_A\.default\.weight|other tensors than when"):  # fmt: skip
            publisher.publish(2, **also)
        # The version from before is published still.
        (listed,) = watcher.list()
        assert (listed.version, listed.state) == (1, "visible")


@pytest.mark.parametrize("kind", [SlicePublisher, WholePublisher, AdapterPublisher])
def test_publishers_follow_what_was_replaced(server, connect, kind):
    """They copy what a parameter has now, so that is no mistake."""
    module = Model(100)
    more = (CONFIG,) if kind is AdapterPublisher else ()
    also = {"base": None} if kind is AdapterPublisher else {}
    with kind(module, *more, server, connect.model) as publisher:
        publisher.publish(1, **also)
        module.matrix.data = torch.full((1, 100), 7.0)
        publisher.publish(2, **also)
        reader, found = connect("reader"), torch.zeros(1, 100)
        if kind is AdapterPublisher:
            room = torch.zeros(4096, dtype=torch.uint8)
            reader.register({ADAPTERS_NAME: found, "tensorhub_adapter": room})
        else:
            reader.register({NAME: found})
        reader.fetch(tensorhub.version(2))
    assert torch.equal(found, torch.full((1, 100), 7.0))
