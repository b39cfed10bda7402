# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""As much of verl's interface as its plug-in uses, recorded from verl 0.9.1.

Where verl itself is installed, the contract is tested with that in place of this.
"""

import abc
import sys
import types

VERSION = "0.9.1"


class CheckpointEngineRegistry:
    _registry: dict = {}

    def register(backend):
        def wrapper(cls):
            CheckpointEngineRegistry._registry[backend] = cls
            return cls

        return wrapper

    @classmethod
    def new(cls, backend, *args, **kwargs):
        return cls._registry[backend](*args, **kwargs)


class CheckpointEngine(abc.ABC):
    wire_format = "named_tensors"

    @abc.abstractmethod
    def prepare(self): ...

    @classmethod
    @abc.abstractmethod
    def build_topology(cls, actor_wg_world_size, rollout_world_size, metadata): ...

    @abc.abstractmethod
    def init_process_group(self, **kwargs): ...

    @abc.abstractmethod
    def finalize(self): ...

    @abc.abstractmethod
    async def send_weights(self, weights, global_steps=None): ...

    @abc.abstractmethod
    async def receive_weights(self, global_steps=None): ...


def install(monkeypatch):
    """Puts the stand-in where Python finds modules, and forgets the plug-in's own."""
    base = types.ModuleType("verl.checkpoint_engine.base")
    base.CheckpointEngine = CheckpointEngine
    base.CheckpointEngineRegistry = CheckpointEngineRegistry
    package = types.ModuleType("verl")
    package.__version__ = VERSION
    for module in (package, types.ModuleType("verl.checkpoint_engine"), base):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.delitem(sys.modules, "tensorhub.integrations.verl", raising=False)
