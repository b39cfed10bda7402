# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""What vLLM's calls may say to the plug-in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from vllm.distributed.weight_transfer.base import WeightTransferInitInfo, WeightTransferUpdateInfo

from tensorhub._arguments import whole_number
from tensorhub._errors import InvalidArgumentError

__all__ = ["TensorHubInitInfo", "TensorHubUpdateInfo", "asked"]


def asked(name: str, given: Any) -> int | None:
    """A version's number as somebody gave it, or none. InvalidArgumentError names the argument."""
    if given is None:
        return None
    try:
        return whole_number(name, given)
    except (TypeError, ValueError) as error:
        raise InvalidArgumentError(f"{error}; leave it out for the latest version") from None


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
    max_pause: float | None = None
    start_wait: float | None = None


@dataclass
class TensorHubUpdateInfo(WeightTransferUpdateInfo):  # type: ignore[misc]
    """What update_info may say."""

    version: int | None = None
    """Which version to fetch; the latest one by itself."""

    def number(self) -> int | None:
        """InvalidArgumentError: it is no number of a version."""
        return asked("version", self.version)
