# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""vLLM's side of a model: what its loading code does with names, and its layerwise reload.

This is the one place that uses names which vLLM keeps to itself. They are the same from vLLM 0.25
to 0.33.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch

from tensorhub._errors import FailedPreconditionError
from tensorhub._layouts import TensorSpec
from tensorhub.integrations._model import check_names, detach, named_tensors, refusal
from tensorhub.integrations._plan import Plan, record
from tensorhub.integrations.vllm import log
from tensorhub.torch import storage_of

__all__ = ["check_names", "detach", "plan_or_none", "record_plan", "refuse_packed_once", "reload"]


def record_plan(model: torch.nn.Module, specs: Sequence[TensorSpec]) -> Plan:
    """What the model's ``load_weights`` does with such tensors. No parameter's bytes change.

    Requires a model that is not being used. Raises what ``load_weights`` raises, of a name that it
    does not know for example.
    """
    from vllm.model_executor.model_loader.reload import initialize_layerwise_reload

    tied = _tied(model)
    loader: Any = model.load_weights
    published = [(spec.name, *storage_of(spec)) for spec in specs]
    initialize_layerwise_reload(model)
    try:
        tensors = named_tensors(model)
        for tensor in tensors.values():
            _unwrap(tensor)
        names = {name for name, _ in model.named_parameters(remove_duplicate=False)}

        def missing(plan: Plan) -> list[str]:
            unfilled = set(plan.unfilled) & names
            return [name for name in plan.unfilled
                    if name in names and tied.get(name, {name}) <= unfilled]  # fmt: skip

        plan = record(published, tensors, loader, missing)
    finally:
        _put_back(model)
    plan.unfilled = missing(plan)
    return plan


def plan_or_none(model: torch.nn.Module, specs: Sequence[TensorSpec]) -> Plan | None:
    """As :func:`record_plan`, and none, with a warning, of a model that needs values to load.

    FailedPreconditionError: the model's loading code refuses the names.
    """
    try:
        return record_plan(model, specs)
    except (NotImplementedError, RuntimeError) as error:
        if "meta" not in str(error):
            raise refusal(error) from error
        log.warning("TensorHub: names are not checked before a load: %s", error)
        return None
    except Exception as error:
        raise refusal(error) from error


def refuse_packed_once(model: torch.nn.Module, model_config: Any) -> None:
    """FailedPreconditionError: vLLM on a CPU would go on with old weights after an update.

    It packs lm_head of a tied embedding, and the experts of a mixture, only when it starts.
    """
    remedy = "use a GPU, or start a new vLLM with --load-format tensorhub for each version"
    config = getattr(model_config, "hf_text_config", None)
    if getattr(config, "tie_word_embeddings", False):
        raise FailedPreconditionError(
            "this model ties lm_head to its embedding, and vLLM on a CPU would go on with the old "
            f"lm_head after an update; use a model without tie_word_embeddings, {remedy}"
        )
    for name, module in model.named_modules():
        if type(getattr(module, "quant_method", None)).__name__ == "UnquantizedFusedMoEMethod":
            raise FailedPreconditionError(
                f"{name} is a mixture of experts, which vLLM on a CPU packs when it starts and not "
                f"after an update: it would answer from wrong weights; {remedy}"
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
    initialize_layerwise_reload(model)
    try:
        with torch.no_grad():
            loader(tensors)
    except BaseException:
        _put_back(model)
        raise
    finalize_layerwise_reload(model, model_config)


def _tied(model: torch.nn.Module) -> Mapping[str, set[str]]:
    """Names of one parameter, by each of these names."""
    groups: dict[int, set[str]] = {}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        groups.setdefault(id(parameter), set()).add(name)
    return {name: group for group in groups.values() for name in group}


def _unwrap(tensor: torch.Tensor) -> None:
    """Takes away what a layerwise reload put around a weight loader: it would begin to process."""
    given: Any = tensor
    loader = getattr(given, "weight_loader", None)
    while getattr(loader, "__name__", "") == "online_process_loader":
        loader = loader.__wrapped__  # type: ignore[union-attr]
        given.weight_loader = loader


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
