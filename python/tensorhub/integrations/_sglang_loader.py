# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""SGLang's loader for a start: the latest version comes from peers, and no file is read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from sglang.srt.model_loader.loader import DefaultModelLoader

from tensorhub.integrations import sglang
from tensorhub.integrations._model import detach

__all__ = ["TensorHubModelLoader"]


class TensorHubModelLoader(DefaultModelLoader):  # type: ignore[misc,unused-ignore]
    """SGLang makes the model, and quantises it after the load, as it does from files."""

    def download_model(self, model_config: Any) -> None:
        """Nothing: what is fetched goes from memory to memory."""

    def _get_all_weights(
        self, model_config: Any, model: torch.nn.Module
    ) -> Iterator[tuple[str, torch.Tensor]]:
        received = sglang.latest(model)
        yield from received.tensors.items()
        detach(model, received.memory)
