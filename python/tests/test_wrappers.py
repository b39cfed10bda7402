# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Names without what wrappers of modules put into them."""

import logging

import pytest
import tensorhub

torch = pytest.importorskip("torch", reason="torch is not installed in this environment")

from tensorhub._wrappers import unwrapped  # noqa: E402
from tensorhub.torch import (  # noqa: E402
    SlicePublisher,
    WholePublisher,
    bundle,
    fetch_module,
    publish_module,
    register_module,
    tensors_of,
)
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import (  # noqa: E402
    checkpoint_wrapper,
)


class Wrapped(torch.nn.Module):
    """As DDP, Megatron's Float16Module and others."""

    def __init__(self, module):
        super().__init__()
        self.module = module


class WithAModuleOfItsOwn(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.module = torch.nn.Linear(2, 2)
        self.head = torch.nn.Linear(2, 2)


class Fsdp(torch.nn.Module):
    """The name of FSDP's part, which torch makes on several ranks only."""

    def __init__(self, module):
        super().__init__()
        self._fsdp_wrapped_module = module


def model():
    return torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Linear(3, 3))


_WRAPPERS = [
    torch.nn.DataParallel,
    Wrapped,
    lambda module: Wrapped(Wrapped(module)),
    torch.compile,
    lambda module: torch.compile(torch.nn.DataParallel(module)),
    Fsdp,
    lambda module: torch.nn.Sequential(*(checkpoint_wrapper(part) for part in module)),
    lambda module: torch.nn.Sequential(*(Fsdp(Wrapped(part)) for part in module)),
]


@pytest.mark.parametrize("wrap", _WRAPPERS)
def test_a_wrapped_module_has_the_names_of_the_plain_one(wrap):
    plain = model()
    assert list(tensors_of(wrap(plain))) == list(tensors_of(plain))
    both = bundle({"a": wrap(plain), "b": torch.nn.Linear(1, 1)})
    assert [name for name in tensors_of(both) if name[0] == "a"] == [
        f"a.{name}" for name in tensors_of(plain)
    ]


@pytest.mark.parametrize("wrap", _WRAPPERS[:4])
def test_a_plain_rollout_follows_a_wrapped_trainer(server, connect, wrap, caplog):
    theirs, ours = model(), model()
    wrapped = wrap(theirs)
    trainer, rollout = connect("trainer"), connect("rollout")
    with caplog.at_level(logging.INFO, "tensorhub"):
        register_module(trainer, wrapped)
        assert " is registered as 0.weight" in caplog.text
        caplog.clear()
        register_module(rollout, ours)
        assert "is registered as" not in caplog.text
    publish_module(trainer, wrapped, 1)
    fetch_module(rollout, ours)
    assert torch.equal(theirs[1].bias, ours[1].bias)
    trainer.unpublish()
    for version, publisher in enumerate((WholePublisher, SlicePublisher), 2):
        with torch.no_grad():
            theirs[1].bias.add_(1)
        with publisher(wrapped, server, connect.model, f"group-{version}") as published:
            published.publish(version)
            fetch_module(rollout, ours, tensorhub.version(version))
        assert torch.equal(theirs[1].bias, ours[1].bias)


def test_names_that_only_look_so_stay():
    own = WithAModuleOfItsOwn()
    assert set(tensors_of(own)) == {"module.weight", "module.bias", "head.weight", "head.bias"}
    assert set(tensors_of(bundle({"module": torch.nn.Linear(1, 1)}))) == {
        "module.weight",
        "module.bias",
    }
    submodule = torch.nn.ModuleDict({"submodule": torch.nn.Linear(1, 1)})
    assert "submodule.weight" in tensors_of(submodule)
    assert unwrapped(own, "extra.module.weight") == "extra.module.weight"
