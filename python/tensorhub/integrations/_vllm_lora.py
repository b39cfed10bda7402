# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""LoRA adapters for vLLM, from memory to memory: ``lora_path`` says ``tensorhub:MODEL@VERSION``.

vLLM loads adapters from folders. For such a path its own loading goes on as ever, but what it would
read from two files was fetched before. This is the other place, beside _vllm_model.py, that uses
names which vLLM keeps to itself.
"""

from __future__ import annotations

import dataclasses
import functools
import re
import time
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from tensorhub._adapters import ADAPTER, Adapter
from tensorhub._errors import FailedPreconditionError, InvalidArgumentError
from tensorhub.integrations import _vllm_ranks
from tensorhub.integrations._names import first_names
from tensorhub.integrations._settings import Settings
from tensorhub.integrations._stage import Stage
from tensorhub.integrations.vllm import log

__all__ = ["Address", "hook", "newest", "refuse_bound"]

_ADDRESS = re.compile(r"tensorhub:(.+)@([0-9]+)")


@dataclass(frozen=True)
class Address:
    """Which version of which adapter."""

    model: str
    version: int

    def __str__(self) -> str:
        return f"tensorhub:{self.model}@{self.version}"

    @classmethod
    def of(cls, path: str) -> Address | None:
        """None if it is a path of vLLM's own. InvalidArgumentError: it names no version."""
        if not path.startswith("tensorhub:"):
            return None
        found = _ADDRESS.fullmatch(path)
        if found is None:
            raise InvalidArgumentError(
                f"lora_path is {path!r}; give tensorhub:MODEL@VERSION, such as "
                "tensorhub:actor/math@3"
            )
        return cls(found[1], int(found[2]))


@dataclass(frozen=True)
class _Fetched:
    adapter: Adapter
    tensors: Mapping[str, torch.Tensor]


# By the path that vLLM is given while it loads.
_fetched: dict[str, _Fetched] = {}
# By vLLM's manager, the bases that its adapters are bound to, by their number there.
_bound: weakref.WeakKeyDictionary[Any, dict[int, tuple[Address, int]]] = weakref.WeakKeyDictionary()


def hook() -> None:
    """Teaches vLLM's adapter managers such paths. Once in a process."""
    from vllm.lora.lora_model import LoRAModel
    from vllm.lora.peft_helper import PEFTHelper
    from vllm.lora.worker_manager import WorkerLoRAManager

    _around(WorkerLoRAManager, "_load_adapter", _load)
    _around(PEFTHelper, "from_local_dir", _configuration)
    _around(LoRAModel, "from_local_checkpoint", _matrices)


def newest(model: str) -> int:
    """The number of an adapter's latest version. NotFoundError: there is none."""
    return _stage(model).describe(None)[0]


def refuse_bound(number: int) -> None:
    """FailedPreconditionError: adapters are loaded that belong to another version of the model."""
    for manager, adapters in _bound.items():
        here = manager.list_adapters()
        names = [str(address) for key, (address, base) in adapters.items()
                 if key in here and base != number]  # fmt: skip
        if names:
            raise FailedPreconditionError(
                f"version {number} is not what {first_names(names)} were trained on; remove these "
                "adapters (remove_lora) before the update. The model is unchanged"
            )


def _around(owner: type, name: str, hook: Callable[..., Any]) -> None:
    """Puts ``hook(original, …)`` in place of a method, or of a class method."""
    kept = vars(owner)[name]
    of_class = isinstance(kept, classmethod)
    original = kept.__func__ if of_class else kept

    @functools.wraps(original)
    def method(*args: Any, **kwargs: Any) -> Any:
        return hook(original, *args, **kwargs)

    setattr(owner, name, classmethod(method) if of_class else method)


def _load(original: Callable[..., Any], manager: Any, request: Any) -> Any:
    address = Address.of(request.lora_path)
    if address is None:
        return original(manager, request)
    fetched = _fetch(address)
    base = fetched.adapter.base
    _check_base(address, base)
    # Absolute, as vLLM looks for others in the file system and at Hugging Face.
    given = type(request)(
        lora_name=request.lora_name, lora_int_id=request.lora_int_id, lora_path=f"/{address}",
        is_3d_lora_weight=getattr(request, "is_3d_lora_weight", False),
    )  # fmt: skip
    _fetched[given.lora_path] = fetched
    try:
        loaded = original(manager, given)
    finally:
        del _fetched[given.lora_path]
    bound = _bound.setdefault(manager, {})
    bound.pop(request.lora_int_id, None)
    if base is not None:
        bound[request.lora_int_id] = (address, base)
    return loaded


def _configuration(original: Callable[..., Any], kind: Any, path: str, positions: Any) -> Any:
    fetched = _fetched.get(path)
    if fetched is None:
        return original(kind, path, positions)
    return kind.from_dict({**fetched.adapter.config, "vllm_max_position_embeddings": positions})


def _matrices(
    original: Callable[..., Any],
    kind: Any,
    path: str,
    expected: Any,
    peft_helper: Any,
    **given: Any,
) -> Any:
    fetched = _fetched.get(path)
    if fetched is None:
        return original(kind, path, expected, peft_helper, **given)
    given.pop("moe_ep_spec", None)  # what it leaves out early, vLLM leaves out later as well
    unknown = [name for name in fetched.tensors if not _taken(name, expected)]
    if unknown:
        raise InvalidArgumentError(
            f"{path[1:]} has {first_names(unknown)}, and this model takes adapters of "
            f"{', '.join(sorted(expected))} only"
        )
    return kind.from_lora_tensors(tensors=dict(fetched.tensors), peft_helper=peft_helper, **given)


def _taken(name: str, expected: Any) -> bool:
    """Whether vLLM's model has such a module: model.layers.0.self_attn.q_proj.lora_A.weight."""
    module = re.sub(r"\.lora_[A-Za-z_]+(\.weight)?$", "", name)
    _, experts, behind = module.partition(".experts")
    return (f"experts{behind}" if experts else module.rpartition(".")[2]) in expected


def _check_base(address: Address, base: int | None) -> None:
    held = _vllm_ranks.held()
    if base is None or base == held:
        return
    has = "weights that are not from TensorHub" if held is None else f"version {held}"
    raise FailedPreconditionError(
        f"{address} was trained on version {base} of the model, and this vLLM has {has}; update it "
        f"to version {base}, or publish the adapter for what it has"
    )


def _stage(model: str) -> Stage:
    settings = _vllm_ranks.settings() or Settings.of({})
    return Stage(
        dataclasses.replace(settings, model=model, group=f"{settings.group}-adapter", spot=True)
    )


def _fetch(address: Address) -> _Fetched:
    """Into memory of its own, which is vLLM's from then on. So it is not served to others."""
    begin = time.monotonic()
    stage = _stage(address.model)
    try:
        _, specs = stage.describe(address.version)
        stage.hold(specs)
        arrived = stage.fetch(address.version)
        tensors = dict(stage.tensors)
    finally:
        stage.close()
    described = tensors.pop(ADAPTER, None)
    if described is None:
        raise InvalidArgumentError(
            f"{address} is no adapter; publish it by tensorhub.torch.AdapterPublisher"
        )
    log.info("TensorHub: adapter %s: %s, in %.3f s",
             address, arrived, time.monotonic() - begin)  # fmt: skip
    return _Fetched(Adapter.of(described), tensors)
