# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""vLLM's load format ``tensorhub``: a worker that starts takes the latest version from peers."""

from __future__ import annotations

import time
from typing import Any

import torch
from vllm.model_executor.model_loader.base_loader import BaseModelLoader

from tensorhub._errors import FailedPreconditionError
from tensorhub._layouts import TensorSpec
from tensorhub.integrations import _vllm_model, _vllm_ranks
from tensorhub.integrations._names import first_names
from tensorhub.integrations._receiver import Received
from tensorhub.integrations._settings import Settings
from tensorhub.integrations.vllm import log, warn_if_untried

__all__ = ["TensorHubModelLoader"]


class TensorHubModelLoader(BaseModelLoader):  # type: ignore[misc]
    """Settings come from ``--model-loader-extra-config``, then from the environment."""

    def __init__(self, load_config: Any) -> None:
        super().__init__(load_config)
        self._settings = Settings.of(load_config.model_loader_extra_config or {})

    def download_model(self, model_config: Any) -> None:
        """Nothing: what is fetched goes from memory to memory."""

    def load_weights(self, model: torch.nn.Module, model_config: Any) -> None:
        """Loads the latest version into a fresh model. NotFoundError: none is published yet, and
        DeadlineExceededError: none came within ``start_wait``.

        FailedPreconditionError: names do not meet, a part lacks, or this model is quantised, and
        what is published is not.
        """
        warn_if_untried()
        receiver = _vllm_ranks.receiver(self._settings)
        quantized = model_config.quantization is not None

        def step(number: int, specs: list[TensorSpec]) -> Received:
            receiver.peers.together(
                lambda: _vllm_model.check_start(model, specs, number, quantized=quantized)
            )
            return receiver.fetch(number, specs, patient=True)

        receiver.await_first(self._settings.start_wait)
        received = receiver.take(None, step)
        begin = time.monotonic()
        loader: Any = model.load_weights
        with torch.no_grad():
            loaded = loader(iter(received.tensors.items()))
        _vllm_model.detach(model, received.memory)
        if loaded is not None and not quantized:
            _refuse_unloaded(model, set(loaded), list(received.tensors), received.arrived.version)
        _vllm_ranks.note_started(received.arrived)
        log.info("TensorHub: %s, loaded in %.3f s", received.arrived, time.monotonic() - begin)


def _refuse_unloaded(
    model: torch.nn.Module, loaded: set[str], published: list[str], number: int
) -> None:
    missing = [name for name, _ in model.named_parameters() if name not in loaded]
    if missing:
        raise FailedPreconditionError(
            f"version {number} has nothing for {first_names(missing)}; it has "
            f"{first_names(published)}; publish under the names of the Hugging Face checkpoint"
        )
