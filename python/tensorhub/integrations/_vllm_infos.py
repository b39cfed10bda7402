# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""What vLLM's calls may say to the plug-in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from vllm.distributed.weight_transfer.base import WeightTransferInitInfo, WeightTransferUpdateInfo

from tensorhub._errors import InvalidArgumentError

__all__ = ["TensorHubInitInfo", "TensorHubUpdateInfo"]


@dataclass
class TensorHubInitInfo(WeightTransferInitInfo):  # type: ignore[misc]
    """What init_info may say; what it leaves out comes from the environment (docs/engines.md)."""

    server: str | None = None
    model: str | None = None
    group: str | None = None
    part: str | None = None
    location: str | None = None
    data_address: str | None = None
    spot: bool | None = None
    timeout: float | None = None
    share: bool | None = None
    in_place: bool | None = None
    stage: bool | None = None
    max_lag: int | None = None


@dataclass
class TensorHubUpdateInfo(WeightTransferUpdateInfo):  # type: ignore[misc]
    """What update_info may say."""

    version: int | None = None
    """Which version to fetch; the latest one by itself."""

    def number(self) -> int | None:
        """InvalidArgumentError: it is no number."""
        given: Any = self.version
        if given is None or (isinstance(given, int) and not isinstance(given, bool)):
            return given
        raise InvalidArgumentError(f"'version' is {given!r}; give a number, or leave it out")
