# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""The snippets of docs/python.md run as they are written, with what they leave to the reader."""

import asyncio
import contextlib
import os
import pathlib
import re
import types

import pytest
import tensorhub

torch = pytest.importorskip("torch", reason="torch is not installed in this environment")

from tensorhub import _native  # noqa: E402
from tensorhub.torch import publish_module, register_module  # noqa: E402

PAGE = pathlib.Path(__file__).parents[2] / "docs/python.md"
SNIPPETS = re.findall(r"^```python\n(.*?)^```", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE)


class Page:
    """A hub called hub:7070, and what a reader has before the snippet begins."""

    def __init__(self, address):
        self.address = address
        self.model = torch.nn.Linear(4, 4)
        self.names = {
            "tensorhub": tensorhub, "torch": torch, "os": os, "server": address,
            "model": self.model, "module": self.model, "draft": torch.nn.Linear(4, 2),
            "steps": 2, "step": 1,
            "optimizer": torch.optim.SGD(self.model.parameters(), lr=0.1),
            "loss": lambda model: model(torch.ones(4)).square().sum(),
            "ray": types.SimpleNamespace(remote=lambda actor: actor),
            "register_module": register_module, "publish_module": publish_module,
        }  # fmt: skip

    def connect(self, group="trainer"):
        """A client as ``client`` of the snippet, or another one."""
        client = tensorhub.connect(self.address, "actor", group)
        self.names.setdefault("client", client)
        return client

    def run(self, snippet):
        exec(compile(snippet, str(PAGE), "exec"), self.names)

    def published(self):
        """What a version has: the latest one, whole."""
        with self.connect("looks") as client:
            return tensorhub.torch.load_state(client)


@pytest.fixture
def page(monkeypatch):
    with tensorhub.serve() as server:
        for name in ("connect", "describe_version"):
            call = getattr(_native, name)
            monkeypatch.setattr(_native, name, lambda at, *rest, call=call: call(
                server.address if at == "hub:7070" else at, *rest))  # fmt: skip
        monkeypatch.setattr(tensorhub, "serve", lambda: server)
        made = Page(server.address)
        yield made
        for value in made.names.values():
            if isinstance(value, tensorhub.Client):
                value.leave(drain_timeout=0)


@pytest.fixture
def sharded(page, tmp_path):
    """A process group of this process alone, and a module that it shards."""
    from torch import distributed
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    distributed.init_process_group("gloo", init_method=f"file://{tmp_path}/store", rank=0,
                                   world_size=1)  # fmt: skip
    module = fully_shard(torch.nn.Linear(4, 4), mesh=init_device_mesh("cpu", (1,)))
    page.names |= {"dist": distributed, "fsdp_module": module, "train": lambda module: None}
    yield module
    distributed.destroy_process_group()


def of_memory(page, snippet):
    client = page.connect()
    register_module(client, page.model)
    client.publish(0)
    page.names["loss"](page.model).backward()
    page.run(snippet)
    assert torch.equal(page.published()["weight"], page.model.weight)


def of_a_module(page, snippet):
    reader, seen = page.connect("rollout"), []
    before = page.model.weight.detach().clone()
    fetched = torch.nn.Linear(4, 4)
    register_module(reader, fetched)

    def loss(model):
        """Between two steps a rollout fetches, so that the trainer's leaving loses nothing."""
        with contextlib.suppress(tensorhub.NotFoundError):
            seen.append(tensorhub.torch.fetch_module(reader, fetched).version)
        return model(torch.ones(4)).square().sum()

    page.names["loss"] = loss
    page.run(snippet)
    assert seen == [1]
    assert not torch.equal(page.model.weight, before)
    reader.leave()


def of_fsdp(page, snippet):
    page.run(snippet)
    assert torch.equal(page.published()["weight"], page.names["fsdp_module"].weight.full_tensor())


def of_slices(page, snippet):
    page.run(snippet)
    whole = page.names["fsdp_module"].weight.full_tensor()
    assert torch.equal(page.published()["weight"], whole.bfloat16())
    page.names["publisher"].close()


def of_a_bundle(page, snippet):
    page.connect()
    page.run(snippet)
    assert torch.equal(page.published()["draft.weight"], page.names["draft"].weight)


def of_megatron(page, snippet):
    page.connect()
    page.names |= {"tp_rank": 0, "tp_size": 1, "pp_rank": 0, "pp_size": 1, "ep_rank": 0,
                   "ep_size": 1}  # fmt: skip
    page.run(snippet)
    page.names["client"].publish(1)
    assert torch.equal(page.published()["weight"], page.model.weight)


def of_views(page, snippet):
    page.names["tp"] = 1
    page.run(snippet)
    fused = torch.zeros(3072, 4096)
    for name, piece in page.names["place"]("layers.0.qkv_proj.weight", fused):
        assert re.fullmatch(r"layers\.0\.[qkv]_proj\.weight", name)
        rows, columns = piece.array.shape
        assert (piece.offset, columns) == ((rows, 0), 4096)
        assert piece.global_shape == (2 * rows, 4096)
    ((name, norm),) = page.names["place"]("norm", torch.zeros(5))
    assert (name, norm.global_shape) == ("norm", (5,))


def of_asyncio(page, snippet):
    page.run(snippet)
    trainer, tensors, paused = page.connect(), {"w": torch.zeros(3)}, []
    trainer.register({"w": torch.ones(3)})

    @contextlib.asynccontextmanager
    async def pause():
        yield
        paused.append(float(tensors["w"][0]))

    async def run():
        engine = types.SimpleNamespace(tensors=lambda: tensors, paused=pause)
        following = asyncio.create_task(page.names["follow"]("hub:7070", engine))
        for number in (1, 2):
            trainer.publish(number)
            while len(paused) < number and not following.done():
                await asyncio.sleep(0.01)
            trainer.unpublish()
        following.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await following

    asyncio.run(run())
    assert paused == [1.0, 1.0]


def of_ray(page, snippet):
    page.names["make_model"] = lambda: torch.nn.Linear(4, 4)
    page.run(snippet)
    trainer = page.connect()
    register_module(trainer, page.model)
    trainer.publish(1)
    actor = page.names["Rollout"]("hub:7070", "rollout")
    assert actor.sync() == 1
    assert torch.equal(actor.model.weight, page.model.weight)
    actor.client.leave()


def of_a_notebook(page, snippet):
    trainer = tensorhub.connect(page.address, "actor", "trainer")
    register_module(trainer, page.model)
    trainer.publish(1)
    page.run(snippet)
    assert torch.equal(page.names["state"]["weight"], page.model.weight)
    trainer.leave(drain_timeout=0)


# By what is in a snippet and in no other.
CHECKS = {
    "optimizer.step()          # in place": of_memory,
    "with tensorhub.connect(": of_a_module,
    "register_module(client, fsdp_module)": of_fsdp,
    "SlicePublisher(fsdp_module": of_slices,
    "bundle(": of_a_bundle,
    "placing.megatron(": of_megatron,
    "def place(name, tensor)": of_views,
    "async def follow(": of_asyncio,
    "@ray.remote": of_ray,
    "tensorhub.serve()": of_a_notebook,
}


def test_each_snippet_is_run():
    for phrase in CHECKS:
        assert sum(phrase in snippet for snippet in SNIPPETS) == 1, phrase
    assert len(SNIPPETS) == len(CHECKS)


@pytest.mark.parametrize("phrase", CHECKS)
def test_a_snippet_runs_as_it_is_written(page, phrase, request):
    check = CHECKS[phrase]
    if check in (of_fsdp, of_slices):
        request.getfixturevalue("sharded")
    (snippet,) = (one for one in SNIPPETS if phrase in one)
    check(page, snippet)
