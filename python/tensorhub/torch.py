# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""PyTorch modules: registered, published and fetched as a whole, in place.

A trainer::

    register_module(client, model)
    publish_module(client, model, step)     # looks first whether every parameter is where it was
    client.unpublish()
    optimizer.step()

A rollout worker::

    register_module(client, model)
    fetch_module(client, model, tensorhub.newer_than(client.held()))

What is registered is what ``module.state_dict()`` has: parameters and persistent buffers, under the
same names; what several names share once, under the first, and the version says the others. What
wrappers put into names is left out (``module.`` of DDP, ``_orig_mod.`` of torch.compile,
``_fsdp_wrapped_module.``, ``_checkpoint_wrapped_module.``), so that a wrapped trainer and a plain
rollout worker have the same ones. Of a DTensor (FSDP2, tensor parallel) it is the local part, with
its place in the whole. Of other tensors ``place`` says it (:mod:`tensorhub.placing`).
"""

from __future__ import annotations

import logging
import weakref
from collections import Counter
from collections.abc import Mapping
from typing import Any

import torch

from tensorhub import _layouts, placing
from tensorhub._adapters import AdapterPublisher
from tensorhub._client import Client
from tensorhub._dtypes import BY_NAME
from tensorhub._errors import FailedPreconditionError, InvalidArgumentError
from tensorhub._modules import aliases, walk, where_is
from tensorhub._progress import Progress
from tensorhub._publisher import WholePublisher
from tensorhub._slice_publisher import SlicePublisher
from tensorhub._types import FetchResult, Selector, latest, sliced, version
from tensorhub._watch import moved_error_text
from tensorhub._wrappers import unwrapped

__all__ = [
    "AdapterPublisher",
    "SlicePublisher",
    "WholePublisher",
    "bundle",
    "fetch_module",
    "load_state",
    "publish_module",
    "register_module",
    "tensors_of",
]

_logger = logging.getLogger("tensorhub")
# By safetensors' name, what this torch has.
_NAMES = {short: long for long, short in BY_NAME.items() if hasattr(torch, long)}


class _Registered:
    """Where a module's tensors were when it was registered."""

    def __init__(self, module: torch.nn.Module, place: placing.Place | None) -> None:
        self.module = weakref.ref(module)
        self.place = place
        self.places = _places(module, place)

    def moved(self, module: torch.nn.Module) -> list[str]:
        now = _places(module, self.place)
        return [name for name, place in self.places.items() if now.get(name) != place] + [
            name for name in now if name not in self.places
        ]


_registered: weakref.WeakKeyDictionary[Client, _Registered] = weakref.WeakKeyDictionary()


def register_module(
    client: Client, module: torch.nn.Module, place: placing.Place | None = None
) -> None:
    """Registers a module's parameters and persistent buffers, once per client.

    ``place`` says of tensors that are no DTensors under which names and where in the whole they
    belong, in one piece or as several views: :mod:`tensorhub.placing` has some. Without it they are
    registered as they are; beside DTensors as whole, since every rank has all of them.

    Tied ones are registered once, under their first name. InvalidArgumentError names the tensor: on
    the meta device, freed, not contiguous, partly the same memory as another, sparse, quantised, or
    a wrapper of others. The client keeps the memory alive, not the module.
    """
    client.register(tensors_of(module, place))
    _say_what_is_left_out(module)
    _registered[client] = _Registered(module, place)


def bundle(modules: Mapping[str, torch.nn.Module]) -> torch.nn.Module:
    """Several modules as one, to be published and fetched as one version: all of it or nothing.

    For what has to fit together, such as ``{"target": model, "draft": draft}``. A tensor's name
    begins with its module's: ``draft.layers.0.weight``. The modules stay what they are, and the
    bundle goes wherever a module does. What they share is published once.
    InvalidArgumentError: there is none, or a name that torch does not take for a part of a module.
    """
    if not modules:
        raise InvalidArgumentError("a bundle has at least one module, by its name")
    try:
        return torch.nn.ModuleDict(modules)
    except (KeyError, TypeError) as error:
        raise InvalidArgumentError(
            f"no bundle of {', '.join(map(str, modules))}: {error.args[0]}; give modules under "
            "plain names, such as 'target' and 'draft'"
        ) from None


def publish_module(client: Client, module: torch.nn.Module, number: int, **options: Any) -> None:
    """Publishes a registered module as version ``number``; options as :meth:`Client.publish`.

    FailedPreconditionError names parameters whose memory was replaced since (``param.data = ...``,
    ``module.to(...)``, ``load_state_dict(assign=True)``) or freed: peers would read the old one. On
    a GPU, what the current stream was given so far is waited for.
    """
    _check_places(client, module, "publish")
    if "stream" not in options and "event" not in options:
        options["stream"] = _current_stream(module)
    client.publish(number, **options)


def fetch_module(
    client: Client,
    module: torch.nn.Module,
    selector: Selector | None = None,
    *,
    timeout: float = 600.0,
    progress: Progress | bool | None = None,
    partial: bool = False,
) -> FetchResult:
    """Fetches a version (the latest one without a selector) into a registered module, in place.

    ``partial``: the version may have tensors that the module has not, a head that is tied here and
    not there among them. Autograd notices, as of any change in place. Errors as
    :meth:`Client.fetch`, and as :func:`publish_module` if parameters are elsewhere now.
    """
    _check_places(client, module, "fetch")
    return client.fetch(
        selector or latest(),
        timeout=timeout,
        progress=progress,
        stream=_current_stream(module),
        partial=partial,
    )


def load_state(
    client: Client,
    selector: Selector | None = None,
    *,
    timeout: float = 600.0,
    device: str | torch.device = "cpu",
    progress: Progress | bool | None = None,
    partial: bool = False,
) -> dict[str, torch.Tensor]:
    """A version as a fresh state dict, for ``module.load_state_dict(..., assign=True)``.

    Makes the tensors by the version's own layout and registers them with the client, on which
    nothing may be registered yet; later versions of the same layout are fetched into them by
    ``client.fetch``. Of a version in several ranks it is this client's part; a group of fewer ranks
    says ``partial``. Where that has several pieces of one name, each is under the name and its
    place: ``"w[0:4, 0:8]"``. A tied tensor is there under all of its names.
    """
    chosen = selector or latest()
    if chosen.kind == "newer_than":
        chosen = version(client.wait(chosen, timeout))
    wanted = chosen.number if chosen.kind == "version" else None
    number, specs, tied = _layouts.layout_of(client, wanted)
    keys = _keys_of(specs)
    state = {key: _empty(spec, device) for key, spec in zip(keys, specs, strict=True)}
    client.register(
        placing.given(
            (
                spec.name,
                sliced(state[key], spec.global_shape, spec.offset)
                if spec.global_shape is not None
                else state[key],
            )
            for key, spec in zip(keys, specs, strict=True)
        )
    )
    client.fetch(version(number), timeout=timeout, progress=progress, partial=partial)
    return state | {alias: state[name] for alias, name in tied.items() if name in state}


def tensors_of(module: torch.nn.Module, place: placing.Place | None = None) -> dict[str, Any]:
    """What ``register`` is given for a module: names to tensors, or to pieces of larger ones."""
    if not isinstance(module, torch.nn.Module):
        raise TypeError(f"module must be a torch.nn.Module, not {type(module).__name__}")
    return _layouts.with_aliases(placing.given(walk(module, place)), aliases(module, place))


def _places(
    module: torch.nn.Module, place: placing.Place | None
) -> dict[str, list[tuple[Any, ...] | None]]:
    places: dict[str, list[tuple[Any, ...] | None]] = {}
    for name, local in walk(module, place):
        places.setdefault(name, []).append(where_is(local))
    return places


def _check_places(client: Client, module: torch.nn.Module, what: str) -> None:
    registered = _registered.get(client)
    if registered is None or registered.module() is not module:
        raise FailedPreconditionError(
            f"this module is not registered with this client; call register_module before {what}"
        )
    moved = registered.moved(module)
    if moved:
        raise FailedPreconditionError(moved_error_text(moved))


def _say_what_is_left_out(module: torch.nn.Module) -> None:
    for key in module.state_dict(keep_vars=True):
        if (name := unwrapped(module, key)) != key:
            _logger.info("%s is registered as %s, as without its wrapper", key, name)
            return


def _current_stream(module: torch.nn.Module) -> Any:
    for tensor in module.state_dict(keep_vars=True).values():
        if isinstance(tensor, torch.Tensor) and tensor.device.type == "cuda":
            return torch.cuda.current_stream(tensor.device)
    return None


def _keys_of(specs: list[_layouts.TensorSpec]) -> list[str]:
    """Their names, made distinct by their place where there are several of one name."""
    count = Counter(spec.name for spec in specs)
    return [spec.name + (spec.box() if count[spec.name] > 1 else "") for spec in specs]


def storage_of(spec: _layouts.TensorSpec) -> tuple[torch.dtype, tuple[int, ...]]:
    """The dtype and the shape that torch stores such a tensor in: two float4 are one element."""
    named = _NAMES.get(spec.dtype)
    if named is None:
        raise InvalidArgumentError(f"tensor {spec.name!r} has dtype {spec.dtype}, which this torch "
                                   f"({torch.__version__}) has not")  # fmt: skip
    shape = spec.shape
    if named.endswith("_x2") and shape:
        shape = (*shape[:-1], shape[-1] // 2)
    return getattr(torch, named), shape


def _empty(spec: _layouts.TensorSpec, device: str | torch.device) -> torch.Tensor:
    dtype, shape = storage_of(spec)
    return torch.empty(shape, dtype=dtype, device=device)
