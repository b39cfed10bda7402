# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""SGLang: weights from TensorHub, at the start and while it serves.

    export TENSORHUB_SERVER=hub:7070 TENSORHUB_MODEL=actor
    python -m sglang.launch_server --model-path MODEL --load-format dummy \\
        --custom-weight-loader tensorhub.integrations.sglang.load

An update is SGLang's own sequence: begin_weight_update, update_weights_from_tensor with
``named_tensors=version(7)`` and ``load_format=LOADER``, end_weight_update. SGLang finds
:func:`register` by the entry point ``sglang.srt.plugins``. docs/engines.md says what works and what
does not.
"""

from __future__ import annotations

import logging
import os
import time
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from tensorhub._errors import Error, FailedPreconditionError, InvalidArgumentError
from tensorhub._layouts import TensorSpec
from tensorhub._verify import Receipt, verify_client
from tensorhub.integrations import _sglang_ranks, _sglang_verify
from tensorhub.integrations._model import check_names, detach, named_tensors, refusal
from tensorhub.integrations._plan import Plan, record
from tensorhub.integrations._receiver import Received, Receiver
from tensorhub.integrations._settings import Settings
from tensorhub.torch import storage_of

__all__ = ["LOADER", "TRIED", "load", "register", "verify", "version"]

log = logging.getLogger("sglang.tensorhub")

LOADER = "tensorhub.integrations.sglang.load"
"""What ``load_format`` says, and ``--custom-weight-loader``."""
TRIED = ("0.5.23",)

_PREFIX = "tensorhub:"
_UPDATER = "sglang.srt.model_executor.model_runner_components.weight_updater.WeightUpdater"
_CHECKER = "sglang.srt.utils.weight_checker.WeightChecker"

_warned = False


@dataclass
class _Known:
    """What is known of a model."""

    specs: list[TensorSpec] = field(default_factory=list)
    """The layout whose names were checked last."""
    plan: Plan | None = None
    held: Received | None = None
    """What it was loaded from, while that is there."""


_models: weakref.WeakKeyDictionary[torch.nn.Module, _Known] = weakref.WeakKeyDictionary()


def version(number: int | None = None) -> list[tuple[str, torch.Tensor]]:
    """What stands for the weights in an update: which version to fetch, the latest by itself.

    The tensor is empty, so that it is the same by HTTP as between processes of one host.
    """
    return [(f"{_PREFIX}{'latest' if number is None else int(number)}", torch.empty(0))]


def load(model: torch.nn.Module, given: Sequence[tuple[str, torch.Tensor]]) -> None:
    """Fetches a version and puts it into the model. SGLang calls it in each scheduler.

    FailedPreconditionError: names do not meet. Errors of the fetch as ``tensorhub.Client.fetch``.
    After each of these the model is as it was, on all ranks. An error of the model's own loading
    code says that the model has parts of both versions; another update mends it.
    """
    warn_if_untried()
    number = _number(given)
    receiver = _sglang_ranks.receiver(_settings())
    received = _receive(model, receiver, number)
    begin, found = time.monotonic(), received.arrived.version
    receiver.peers.together(lambda: _put(model, received.tensors, found))
    detach(model, received.memory)
    _models[model].held = received
    log.info("TensorHub: %s, loaded in %.3f s", received.arrived, time.monotonic() - begin)


def verify(engine: Any, timeout: float = 600.0) -> list[Receipt]:
    """As :func:`tensorhub.verify`, of an SGLang (``Engine``), which stands still meanwhile.

    By HTTP it is the action ``tensorhub`` of SGLang's route ``/weights_checker``.
    """
    from sglang.srt.managers.io_struct import CheckWeightsReqInput

    request = CheckWeightsReqInput(action=_sglang_verify.action_for(timeout), selector="target")
    call = engine.tokenizer_manager.check_weights(request, None)
    done, message, ranks, _ = engine.loop.run_until_complete(call)
    return _sglang_verify.answered(done, message, ranks)


def register() -> None:
    """Tells SGLang of what it has no setting for. Connects to nobody.

    SGLang ends when a custom loader raises, so an update that fails becomes its answer instead.
    With ``TENSORHUB_START=1`` the load format ``dummy`` means the latest version from peers.
    """
    from sglang.srt.plugins.hook_registry import HookRegistry, HookType

    HookRegistry.register(f"{_UPDATER}.update_weights_from_tensor", answer, HookType.AROUND)
    HookRegistry.register(
        "sglang.srt.model_loader.loader.get_model_loader", choose_loader, HookType.AROUND
    )
    HookRegistry.register(f"{_CHECKER}.handle", check, HookType.AROUND)


def answer(original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """An update's own error as SGLang's answer; what others load is left alone."""
    try:
        return original(*args, **kwargs)
    except Error as error:
        log.error("TensorHub: %s", error)
        return False, f"TensorHub: {error}"


def check(
    original: Callable[..., Any], checker: Any, action: str, *args: Any, **kwargs: Any
) -> Any:
    """The weight checker's action ``tensorhub``; its own ones are left alone."""
    timeout = _sglang_verify.asked(action)
    if timeout is None:
        return original(checker, action, *args, **kwargs)
    role = kwargs.get("role", "target")
    peers = _sglang_ranks.receiver(_settings()).peers
    try:
        receipts = peers.together(
            lambda: _verify(
                checker._get_model(), timeout, original(checker, "checksum", role=role)["checksums"]
            )
        )
    except Error as error:
        raise RuntimeError(f"TensorHub: {error.code}: {error}") from error
    found = _sglang_verify.said(receipts[peers.rank])
    return {"checksums": found, "per_gpu_checksum": "",
            "parallelism_info": checker._parallelism_info(role=role).model_dump()}  # fmt: skip


def choose_loader(original: Callable[..., Any], load_config: Any, *args: Any, **kwargs: Any) -> Any:
    """The loader that takes the latest version from peers, where that is asked for."""
    said = getattr(load_config.load_format, "value", load_config.load_format)
    if said != "dummy" or os.environ.get("TENSORHUB_START", "0") in ("", "0"):
        return original(load_config, *args, **kwargs)
    from tensorhub.integrations._sglang_loader import TensorHubModelLoader

    return TensorHubModelLoader(load_config)


def latest(model: torch.nn.Module) -> Any:
    """The latest version's tensors for a model that starts. NotFoundError: none is published."""
    warn_if_untried()
    receiver = _sglang_ranks.receiver(_settings())
    received = _receive(model, receiver, None)
    _models[model].held = received
    log.info("TensorHub: %s, for a start", received.arrived)
    return received


def warn_if_untried() -> None:
    """Once the plug-in is used: says it if nobody ran it with this version of SGLang."""
    global _warned
    if _warned:
        return
    _warned = True
    import sglang

    if sglang.__version__ not in TRIED:
        log.warning("TensorHub was not tried with SGLang %s; it was with %s",
                    sglang.__version__, ", ".join(TRIED))  # fmt: skip


def _settings() -> Settings:
    return Settings.of({}, {"TENSORHUB_GROUP": "sglang", **os.environ})


def _number(given: Sequence[tuple[str, torch.Tensor]]) -> int | None:
    names = [name for name, _ in given]
    said = names[0].removeprefix(_PREFIX) if len(names) == 1 else ""
    if said == "latest":
        return None
    if not said.isdigit() or not names[0].startswith(_PREFIX):
        raise InvalidArgumentError(
            f"the update has {len(names)} tensors, and names no version; give "
            "tensorhub.integrations.sglang.version(N) as its tensors"
        )
    return int(said)


def _receive(model: torch.nn.Module, receiver: Receiver, number: int | None) -> Received:
    """A version whose names this model takes; without a number the latest one."""

    def step(found: int, specs: list[TensorSpec]) -> Received:
        receiver.peers.together(lambda: _check(model, found, specs))
        _models[model].held = None  # the same memory is filled now
        return receiver.fetch(found, specs)

    return receiver.take(number, step)


def _check(model: torch.nn.Module, number: int, specs: list[TensorSpec]) -> None:
    """Once for each layout: whether the model's own loading code takes these names.

    Not of a quantised model, whose parameters have another form than what it loads.
    """
    known = _models.setdefault(model, _Known())
    if specs == known.specs:
        return
    plan = None if getattr(model, "quant_config", None) is not None else _plan(model, specs)
    if plan is not None:
        parameters = {name for name, _ in model.named_parameters(remove_duplicate=False)}
        plan.unfilled = [name for name in plan.unfilled if name in parameters]
        check_names(plan, number)
    known.specs, known.plan = specs, plan


def _plan(model: torch.nn.Module, specs: list[TensorSpec]) -> Plan | None:
    """What the loading code does with such tensors; none of a model that needs values to load."""
    loader: Any = model.load_weights
    published = [(spec.name, *storage_of(spec)) for spec in specs]
    try:
        return record(published, named_tensors(model), loader)
    except Exception as error:
        if not isinstance(error, RuntimeError) or "meta" not in str(error):
            raise refusal(error, model, [spec.name for spec in specs]) from error
        log.warning("TensorHub: names are not checked before a load: %s", error)
        return None


def _put(model: torch.nn.Module, tensors: Any, number: int) -> None:
    loader: Any = model.load_weights
    try:
        with torch.no_grad():
            loader(iter(tensors.items()))
    except Exception as error:
        raise Error(
            f"SGLang could not load version {number}: {type(error).__name__}: {error}; the model "
            "has parts of it and of what it had before, so update again before it serves"
        ) from error


def _verify(model: torch.nn.Module, timeout: float, checksums: dict[str, str]) -> Receipt:
    """Of this rank. What the model is compared with is compared with what was published first."""
    from sglang.srt.utils.weight_checker import _hash_tensor

    known = _models.get(model)
    if known is None or known.held is None:
        raise FailedPreconditionError(
            "no update has brought this model a version, or the last one failed; update first"
        )
    stage = _sglang_ranks.receiver(_settings()).stage
    staged = verify_client(stage.client, timeout) if stage.block is not None else None
    arrived = known.held.arrived
    found = _sglang_verify.compared(
        model, known.plan, known.held.tensors, arrived.version, checksums, _hash_tensor
    )
    return Receipt(arrived.version, staged.receipt if staged else arrived.receipt, *found)
