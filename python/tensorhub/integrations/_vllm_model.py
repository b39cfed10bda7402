# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""vLLM's side of a model: what its loading code does with names, and its layerwise reload.

This is the one place that uses names which vLLM keeps to itself. They are the same from vLLM 0.25
to 0.33.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch.nn.parameter import is_lazy

from tensorhub._errors import FailedPreconditionError
from tensorhub._layouts import TensorSpec
from tensorhub.integrations._model import check_names, detach, named_tensors, refusal
from tensorhub.integrations._plan import Plan, record
from tensorhub.integrations.vllm import log
from tensorhub.torch import storage_of

__all__ = [
    "check_names", "check_start", "detach", "plan_or_none", "record_plan", "refuse_moved_experts",
    "refuse_packed_once", "reload",
]  # fmt: skip


def record_plan(
    model: torch.nn.Module, specs: Sequence[TensorSpec], *, quantized: bool = False
) -> Plan:
    """What the model's ``load_weights`` does with such tensors. No parameter's bytes change.

    Requires a model that is not being used. Raises what ``load_weights`` raises, of a name that it
    does not know for example. A quantised model has parameters that it may compute itself, such as
    scales; ``unfilled`` leaves them out.
    """
    from vllm.model_executor.model_loader.reload import initialize_layerwise_reload

    tied = _tied(model)
    with _empty_ones_kept(model):
        initialize_layerwise_reload(model)
        try:
            for tensor in named_tensors(model).values():
                _unwrap(tensor)
            return _recorded(model, specs, tied, quantized)
        finally:
            _put_back(model)


def check_start(
    model: torch.nn.Module, specs: Sequence[TensorSpec], number: int, *, quantized: bool
) -> None:
    """FailedPreconditionError: a model that starts would keep elements that nobody has written, or
    a quantised one would load something else than what its checkpoint has. A model that quantises
    what it loads takes what other models take, which is not looked at."""
    tensors = named_tensors(model).values()
    if any(map(_is_wrapped, tensors)) or any(map(is_lazy, tensors)):
        return
    plan = _unless_values_are_needed(
        model, specs, lambda: _recorded(model, specs, _tied(model), quantized)
    )
    if plan is not None:
        check_names(plan, number)


def _recorded(
    model: torch.nn.Module, specs: Sequence[TensorSpec], tied: Mapping[str, set[str]],
    quantized: bool,
) -> Plan:  # fmt: skip
    tensors = named_tensors(model)
    names = {name for name, _ in model.named_parameters(remove_duplicate=False)}

    def among(unfilled: set[str]) -> list[str]:
        return sorted(name for name in unfilled if tied.get(name, {name}) <= unfilled)

    def missing(plan: Plan) -> list[str]:
        unfilled = set(plan.unfilled) & names
        return among(unfilled - _computed(plan, tensors) if quantized else unfilled)

    published = [(spec.name, *storage_of(spec)) for spec in specs]
    loader: Any = model.load_weights
    plan = record(published, tensors, loader, missing)
    lacking = missing(plan)
    plan.kept = [name for name in among(set(plan.unfilled) & names) if name not in lacking]
    plan.unfilled = lacking
    return plan


def plan_or_none(
    model: torch.nn.Module, specs: Sequence[TensorSpec], *, quantized: bool = False
) -> Plan | None:
    """As :func:`record_plan`, and none, with a warning, of a model that needs values to load.

    FailedPreconditionError: the model's loading code refuses the names.
    """
    return _unless_values_are_needed(
        model, specs, lambda: record_plan(model, specs, quantized=quantized)
    )


def _unless_values_are_needed(
    model: torch.nn.Module, specs: Sequence[TensorSpec], recorded: Callable[[], Plan]
) -> Plan | None:
    published = [spec.name for spec in specs]
    try:
        return recorded()
    except (NotImplementedError, RuntimeError) as error:
        if "meta" not in str(error):
            raise refusal(error, model, published) from error
        log.warning("TensorHub: names are not checked before a load: %s", error)
        return None
    except Exception as error:
        raise refusal(error, model, published) from error


def refuse_packed_once(model: torch.nn.Module, model_config: Any) -> None:
    """FailedPreconditionError: vLLM on a CPU would go on with old weights after an update.

    It packs lm_head of a tied embedding only when it starts, and the experts of a mixture only when
    it makes their kernel, which :func:`reload` has it do again. With quantised layers, vLLM 0.32.0
    answered wrongly after a reload; their kernels were given the addresses of scales.
    """
    remedy = "use a GPU, or start a new vLLM with --load-format tensorhub for each version"
    config = getattr(model_config, "hf_text_config", None)
    if getattr(config, "tie_word_embeddings", False):
        raise FailedPreconditionError(
            "this model ties lm_head to its embedding, and vLLM on a CPU would go on with the old "
            f"lm_head after an update; use a model without tie_word_embeddings, {remedy}"
        )
    for name, method in _methods(model):
        kind = type(method).__name__
        if kind.endswith(("LinearMethod", "MoEMethod")) and not kind.startswith("Unquantized"):
            raise FailedPreconditionError(
                f"{name} is quantised ({kind}), and vLLM on a CPU does not reload quantised layers "
                f"rightly: it would answer from wrong weights after an update; {remedy}"
            )
        if _is_experts(method) and getattr(method, "moe_kernel", None) is None:
            raise FailedPreconditionError(
                f"{name} is a mixture of experts, which this vLLM on a CPU packs when it starts "
                f"alone: after an update it would answer from wrong weights; {remedy}"
            )


def refuse_moved_experts(vllm_config: Any) -> None:
    """FailedPreconditionError: vLLM moves experts between ranks while it runs."""
    if vllm_config.parallel_config.enable_eplb:
        raise FailedPreconditionError(
            "this vLLM moves experts between its ranks (enable_eplb), and its loader puts experts "
            "where they were at the start: start it without enable_eplb, or start a new vLLM with "
            "--load-format tensorhub for each version"
        )


def reload(
    model: torch.nn.Module, model_config: Any, tensors: Iterable[tuple[str, torch.Tensor]]
) -> None:
    """Puts the tensors through the model's own loader, layer by layer, into its present memory.

    After an exception the model serves, but some layers have the new weights and some the old.
    """
    from vllm.model_executor.model_loader.reload import (
        finalize_layerwise_reload,
        initialize_layerwise_reload,
    )

    loader: Any = model.load_weights
    with _kernels_made_again(model), _empty_ones_kept(model):
        initialize_layerwise_reload(model)
        try:
            with torch.no_grad():
                loader(tensors)
        except BaseException:
            _put_back(model)
            raise
        finalize_layerwise_reload(model, model_config)


def _methods(model: torch.nn.Module) -> Iterator[tuple[str, Any]]:
    """How each layer is loaded that has a way of its own, by its name."""
    for name, module in model.named_modules():
        method = getattr(module, "quant_method", None)
        if method is not None:
            yield name, method


def _is_experts(method: Any) -> bool:
    return type(method).__name__ == "UnquantizedFusedMoEMethod"


@contextlib.contextmanager
def _kernels_made_again(model: torch.nn.Module) -> Iterator[None]:
    """On a CPU, vLLM packs experts when it makes their kernel, and with a kernel it packs none.

    A layer that is not loaded keeps the kernel that it had.
    """
    kernels: list[tuple[Any, Any]] = []
    if next(model.parameters()).device.type == "cpu":
        kernels = [(method, method.moe_kernel) for _, method in _methods(model)
                   if _is_experts(method)]  # fmt: skip
    for method, _ in kernels:
        method.moe_kernel = None
    try:
        yield
    finally:
        for method, kernel in kernels:
            method.moe_kernel = method.moe_kernel or kernel


@contextlib.contextmanager
def _empty_ones_kept(model: torch.nn.Module) -> Iterator[None]:
    """A layerwise reload forgets names of parameters that a kernel has taken the bytes of, and the
    kernel asks for them."""
    empty = [(layer, name) for layer in model.modules()
             for name, value in layer._parameters.items() if value is None]  # fmt: skip
    try:
        yield
    finally:
        for layer, name in empty:
            if name not in layer._parameters:
                layer.register_parameter(name, None)


def _computed(plan: Plan, tensors: Mapping[str, torch.Tensor]) -> set[str]:
    """What a quantised model may do without: parameters of modules that get one and those of one
    dimension, as scales of the KV cache are, if they get no value; and padding of those that do."""
    filled = {piece.parameter for piece in plan.pieces} | plan.written.keys()
    modules = {name.rpartition(".")[0] for name in filled}
    padded = {name for name, lacking in plan.partly.items() if lacking.is_behind}
    return padded | {
        name
        for name in plan.unfilled
        if name not in plan.partly
        and (name.rpartition(".")[0] in modules or tensors[name].dim() < 2)
    }


def _tied(model: torch.nn.Module) -> Mapping[str, set[str]]:
    """Names of one parameter, by each of these names."""
    groups: dict[int, set[str]] = {}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        groups.setdefault(id(parameter), set()).add(name)
    return {name: group for group in groups.values() for name in group}


def _unwrap(tensor: torch.Tensor) -> None:
    """Takes away what a layerwise reload put around a weight loader: it would begin to process."""
    given: Any = tensor
    while _is_wrapped(tensor):
        given.weight_loader = given.weight_loader.__wrapped__


def _is_wrapped(tensor: torch.Tensor) -> bool:
    loader = getattr(tensor, "weight_loader", None)
    return getattr(loader, "__name__", "") == "online_process_loader"


def _put_back(model: torch.nn.Module) -> None:
    """Ends a layerwise reload without loading: the model has its own tensors again."""
    from vllm.model_executor.model_loader.reload.layerwise import (
        LAYERWISE_INFO,
        _place_kernel_tensors,
    )

    if hasattr(model, "_original_do_torchao_reload"):
        model._do_torchao_reload = model._original_do_torchao_reload
    for layer in model.modules():
        info = LAYERWISE_INFO.get(layer)
        if info is not None and info.can_load():
            if info.kernel_tensors is not None:
                _place_kernel_tensors(layer, info)
            info.reset()
