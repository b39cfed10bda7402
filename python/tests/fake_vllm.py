# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""As much of vLLM's interface as the plug-in uses, of which the contract is tested in seconds.

python/tests_engines runs the plug-in in the real one.
"""

import sys
import types

import torch


class WeightTransferInitInfo:
    pass


class WeightTransferUpdateInfo:
    pass


class WeightTransferEngine:
    def __class_getitem__(cls, items):
        return cls

    def __init__(self, config, vllm_config, device, model):
        self.config = config
        self.vllm_config = vllm_config
        self.model_config = vllm_config.model_config
        self.device = device
        self.model = model

    def update_weights(self, update_info):
        self.receive_weights(self.update_info_cls(**update_info))


class Factory:
    registry: dict = {}

    @classmethod
    def register_engine(cls, name, module, class_name):
        if name in cls.registry:
            raise ValueError(f"Weight transfer engine '{name}' is already registered.")
        cls.registry[name] = (module, class_name)


class BaseModelLoader:
    def __init__(self, load_config):
        self.load_config = load_config


LOADERS: dict = {}


def register_model_loader(name):
    def register(loader):
        assert issubclass(loader, BaseModelLoader)
        LOADERS[name] = loader
        return loader

    return register


def vllm_config(model_config, *, enable_eplb=False):
    parallel = types.SimpleNamespace(enable_eplb=enable_eplb)
    return types.SimpleNamespace(model_config=model_config, parallel_config=parallel)


class Info:
    """Of one layer under a layerwise reload."""

    kernel_tensors = None

    def can_load(self):
        return self.kernel_tensors is not None

    def reset(self):
        self.kernel_tensors = None


LAYERWISE_INFO: dict = {}


def initialize_layerwise_reload(model):
    for layer in model.modules():
        info = LAYERWISE_INFO.setdefault(layer, Info())
        kept = {name: value for name, value in layer._parameters.items() if value is not None}
        info.kernel_tensors = (kept, {})
        for name, parameter in kept.items():
            loading = torch.nn.Parameter(torch.empty_like(parameter, device="meta"), False)
            layer._parameters[name] = loading


def _place_kernel_tensors(layer, info):
    """As vLLM does it, which loses the names of parameters that are None."""
    layer._parameters.clear()
    layer._parameters.update(info.kernel_tensors[0])


def finalize_layerwise_reload(model, model_config):
    """Copies what arrived into the tensors that the layers had, and puts these back."""
    for layer in model.modules():
        info = LAYERWISE_INFO[layer]
        for name, parameter in info.kernel_tensors[0].items():
            loaded = layer._parameters[name]
            if not loaded.is_meta:
                parameter.data.copy_(loaded.data)
        _place_kernel_tensors(layer, info)
        info.reset()


class WorkerBase:
    def __init__(self, weight_transfer_engine):
        self.weight_transfer_engine = weight_transfer_engine

    def init_weight_transfer_engine(self, init_info):
        engine = self.weight_transfer_engine
        engine.init_transfer_engine(engine.init_info_cls(**init_info))

    def shutdown_weight_transfer_engine(self):
        self.weight_transfer_engine.shutdown()

    def start_weight_update(self):
        self.weight_transfer_engine.start_weight_update()

    def update_weights(self, update_info):
        self.weight_transfer_engine.update_weights(update_info)

    def finish_weight_update(self):
        self.weight_transfer_engine.finish_weight_update()


class LoRARequest:
    def __init__(self, lora_name, lora_int_id, lora_path, is_3d_lora_weight=False):
        self.lora_name, self.lora_int_id, self.lora_path = lora_name, lora_int_id, lora_path
        self.is_3d_lora_weight = is_3d_lora_weight


class PEFTHelper(types.SimpleNamespace):
    @classmethod
    def from_local_dir(cls, lora_path, max_position_embeddings):
        raise FileNotFoundError(lora_path)

    @classmethod
    def from_dict(cls, given):
        return cls(**given)


class LoRAModel:
    @classmethod
    def from_local_checkpoint(cls, lora_dir, expected, peft_helper, *, lora_model_id, device):
        raise FileNotFoundError(lora_dir)

    @classmethod
    def from_lora_tensors(cls, lora_model_id, tensors, peft_helper, device):
        made = cls()
        made.tensors, made.helper = tensors, peft_helper
        return made


class WorkerLoRAManager:
    """Of one worker, without vLLM's own order of what goes when there are too many."""

    def __init__(self, expected):
        self.adapters, self._expected = {}, expected

    def _load_adapter(self, request):
        helper = sys.modules["vllm.lora.peft_helper"].PEFTHelper.from_local_dir(
            request.lora_path, 128
        )
        return sys.modules["vllm.lora.lora_model"].LoRAModel.from_local_checkpoint(
            request.lora_path, self._expected, peft_helper=helper,
            lora_model_id=request.lora_int_id, device="cpu",
        )  # fmt: skip

    def add_adapter(self, request):
        self.adapters[request.lora_int_id] = self._load_adapter(request)
        return True

    def list_adapters(self):
        return set(self.adapters)


class LLM:
    """Of one worker; ``collective_rpc`` takes the name of a method, as plain values pass."""

    def __init__(self, *workers, adapters=None):
        self.workers = workers
        self.llm_engine = types.SimpleNamespace(add_lora=getattr(adapters, "add_adapter", None))

    def reset_prefix_cache(self):
        self.resets = getattr(self, "resets", 0) + 1

    def update_weight_version(self, version):
        self.label = version

    def collective_rpc(self, method, args=()):
        return [getattr(worker, method)(*args) for worker in self.workers]


class MultiprocExecutor:
    """As much as reads what its workers answer, from a queue of each."""

    def __init__(self, queues):
        self.response_mqs = queues

    def collective_rpc(self, method):
        responses = []
        for queue in self.response_mqs:
            response = queue.dequeue(timeout=None)
            if isinstance(response, Exception):
                raise RuntimeError(f"Worker failed with error '{response}'")
            responses.append(response)
        return responses


class Group:
    world_size = 1
    rank_in_group = 0
    cpu_group = None


def install(monkeypatch, version):
    """Puts it into sys.modules until the test ends, and takes the plug-in's modules out."""
    Factory.registry.clear()
    LOADERS.clear()
    LAYERWISE_INFO.clear()

    def module(name, **members):
        made = types.ModuleType(name)
        made.__dict__.update(members)
        monkeypatch.setitem(sys.modules, name, made)

    for name in [name for name in sys.modules if name.startswith("tensorhub.integrations.")]:
        monkeypatch.delitem(sys.modules, name)
        package, _, own = name.rpartition(".")  # which has it as well
        monkeypatch.delattr(sys.modules[package], own, raising=False)
    module("vllm", __version__=version)
    module("vllm.distributed")
    module("vllm.distributed.parallel_state", get_tp_group=Group, get_pp_group=Group)
    module("vllm.distributed.weight_transfer")
    module(
        "vllm.distributed.weight_transfer.base",
        WeightTransferEngine=WeightTransferEngine,
        WeightTransferInitInfo=WeightTransferInitInfo,
        WeightTransferUpdateInfo=WeightTransferUpdateInfo,
    )
    module("vllm.distributed.weight_transfer.factory", WeightTransferEngineFactory=Factory)
    # Made anew, since the plug-in changes them.
    adapting = {
        kind.__name__: type(kind.__name__, (kind,), dict(vars(kind)))
        for kind in (PEFTHelper, LoRAModel, WorkerLoRAManager)
    }
    module("vllm.lora")
    module("vllm.lora.request", LoRARequest=LoRARequest)
    module("vllm.lora.peft_helper", PEFTHelper=adapting["PEFTHelper"])
    module("vllm.lora.lora_model", LoRAModel=adapting["LoRAModel"])
    module("vllm.lora.worker_manager", WorkerLoRAManager=adapting["WorkerLoRAManager"])
    module("vllm.v1")
    module("vllm.v1.executor")
    executor = type("MultiprocExecutor", (MultiprocExecutor,), dict(vars(MultiprocExecutor)))
    module("vllm.v1.executor.multiproc_executor", MultiprocExecutor=executor)
    module("vllm.v1.worker")
    module("vllm.v1.worker.worker_base", WorkerBase=WorkerBase)
    module("vllm.model_executor")
    module("vllm.model_executor.model_loader", register_model_loader=register_model_loader)
    module("vllm.model_executor.model_loader.base_loader", BaseModelLoader=BaseModelLoader)
    module(
        "vllm.model_executor.model_loader.reload",
        initialize_layerwise_reload=initialize_layerwise_reload,
        finalize_layerwise_reload=finalize_layerwise_reload,
    )
    module(
        "vllm.model_executor.model_loader.reload.layerwise",
        LAYERWISE_INFO=LAYERWISE_INFO,
        _place_kernel_tensors=_place_kernel_tensors,
    )
