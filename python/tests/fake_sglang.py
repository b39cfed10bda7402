# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""As much of SGLang's interface as its plug-in uses, recorded from SGLang 0.5.23."""

import asyncio
import enum
import functools
import hashlib
import importlib
import sys
import types

VERSION = "0.5.23"


class HookType(enum.Enum):
    AROUND = "around"


class HookRegistry:
    hooks: dict = {}

    @classmethod
    def register(cls, target, hook, hook_type):
        assert hook_type is HookType.AROUND
        cls.hooks[target] = hook

    @classmethod
    def apply_hooks(cls):
        for target, hook in cls.hooks.items():
            owner, name = _owner(target)
            original = getattr(owner, name)
            setattr(owner, name, functools.wraps(original)(functools.partial(hook, original))
                    if not isinstance(owner, type) else _method(original, hook))  # fmt: skip


class WeightUpdater:
    """Of one scheduler: calls a custom loader, and lets out what that raises."""

    def __init__(self, model, custom_weight_loaders):
        self.model = model
        self.custom_weight_loaders = custom_weight_loaders

    def update_weights_from_tensor(self, named_tensors, load_format=None):
        if load_format not in self.custom_weight_loaders:
            raise NotImplementedError(f"Unknown load_format={load_format}")
        module, _, name = load_format.rpartition(".")
        getattr(importlib.import_module(module), name)(self.model, named_tensors)
        return True, "Success"


class CheckWeightsReqInput(types.SimpleNamespace):
    pass


class WeightChecker:
    """Of one model: what each parameter hashes to."""

    def __init__(self, *, get_model):
        self._get_model = get_model

    def handle(self, action, allow_quant_error=False, skip_tensor_list=None, *, role):
        if action != "checksum":
            raise Exception(f"Unsupported action={action!r}")
        model = self._get_model()
        state = {**dict(model.named_parameters()), **dict(model.named_buffers())}
        return {"checksums": {name: hash_tensor(tensor) for name, tensor in state.items()}}

    def _parallelism_info(self, *, role):
        return types.SimpleNamespace(model_dump=lambda: {"role": role})


def hash_tensor(tensor):
    return hashlib.sha256(tensor.detach().contiguous().numpy().tobytes()).hexdigest()[:16]


class Engine:
    """Of one rank, with the scheduler in this process."""

    def __init__(self, model, checker):
        self.loop = asyncio.new_event_loop()
        self.tokenizer_manager = self
        self._checker = checker(get_model=lambda: model)

    async def check_weights(self, given, request):
        try:
            found = self._checker.handle(given.action, role=given.selector)
        except Exception as error:
            return False, f"{error}", None, None
        return True, "Success.", [found], ""


Engine.__module__ = "sglang.srt.entrypoints.engine"


class DefaultModelLoader:
    def __init__(self, load_config):
        self.load_config = load_config

    def load_model(self, *, model_config, device_config):
        model = model_config.make()
        model.load_weights(self._get_all_weights(model_config, model))
        return model.eval()


def get_model_loader(load_config, model_config=None):
    return f"SGLang's loader for {load_config.load_format}"


def install(monkeypatch):
    """Puts the stand-in where Python finds modules, and forgets the plug-in's own."""
    HookRegistry.hooks = {}
    updater = type("WeightUpdater", (WeightUpdater,), {})
    for name, content in {
        "sglang": {"__version__": VERSION},
        "sglang.srt": {},
        "sglang.srt.plugins": {},
        "sglang.srt.plugins.hook_registry": {"HookRegistry": HookRegistry, "HookType": HookType},
        "sglang.srt.model_executor": {},
        "sglang.srt.model_executor.model_runner_components": {},
        "sglang.srt.model_executor.model_runner_components.weight_updater": {
            "WeightUpdater": updater
        },
        "sglang.srt.managers": {},
        "sglang.srt.managers.io_struct": {"CheckWeightsReqInput": CheckWeightsReqInput},
        "sglang.srt.utils": {},
        "sglang.srt.utils.weight_checker": {
            "WeightChecker": type("WeightChecker", (WeightChecker,), {}),
            "_hash_tensor": hash_tensor,
        },
        "sglang.srt.model_loader": {},
        "sglang.srt.model_loader.loader": {
            "DefaultModelLoader": DefaultModelLoader, "get_model_loader": get_model_loader,
        },
    }.items():  # fmt: skip
        module = types.ModuleType(name)
        module.__dict__.update(content)
        monkeypatch.setitem(sys.modules, name, module)
    for name in ("sglang", "_sglang_loader", "_sglang_ranks", "_sglang_verify"):
        monkeypatch.delitem(sys.modules, f"tensorhub.integrations.{name}", raising=False)
    return updater


def _owner(target):
    path, _, name = target.rpartition(".")
    if path in sys.modules:
        return sys.modules[path], name
    module, _, owner = path.rpartition(".")
    return getattr(sys.modules[module], owner), name


def _method(original, hook):
    def wrapped(self, *args, **kwargs):
        return hook(original, self, *args, **kwargs)

    return wrapped
