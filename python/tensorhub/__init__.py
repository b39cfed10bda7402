# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Weight transfer for reinforcement learning: publish a model's weights, fetch them in place.

A trainer::

    with tensorhub.connect("hub:7070", "actor", "trainer") as client:
        client.register(dict(model.named_parameters()))
        client.publish(1)      # peers read from now on; no byte moves
        client.unpublish()     # the optimizer may write again

A rollout worker::

    with tensorhub.connect("hub:7070", "actor", "rollout-3") as client:
        client.register(dict(model.named_parameters()))
        client.fetch(tensorhub.newer_than(client.held()))

``tensorhub.torch`` takes whole modules, ``tensorhub.aio`` is for asyncio, ``tensorhub.safetensors``
for files; ``tensorhub.serve()`` starts a server for a notebook or a test. docs/python.md says more.
"""

from __future__ import annotations

import importlib as _importlib
import sys as _sys
from dataclasses import dataclass as _dataclass
from types import ModuleType as _ModuleType
from typing import TYPE_CHECKING as _TYPE_CHECKING

from tensorhub import _ucx

_ucx_in_use = _ucx.load()  # before the library that needs it

from tensorhub._client import Client, connect  # noqa: E402
from tensorhub._errors import (  # noqa: E402
    AbortedError,
    AlreadyExistsError,
    CancelledError,
    DataLossError,
    DeadlineExceededError,
    Error,
    FailedPreconditionError,
    InternalError,
    InvalidArgumentError,
    NotFoundError,
    OutOfRangeError,
    PermissionDeniedError,
    ResourceExhaustedError,
    UnauthenticatedError,
    UnavailableError,
    UnimplementedError,
    UnknownError,
)
from tensorhub._native import __version__  # noqa: E402
from tensorhub._programs import Server, serve  # noqa: E402
from tensorhub._types import (  # noqa: E402
    FetchProgress,
    FetchResult,
    Replica,
    Selector,
    Sliced,
    VersionInfo,
    latest,
    newer_than,
    sliced,
    version,
)
from tensorhub._verify import Receipt, verify  # noqa: E402

if _TYPE_CHECKING:
    from tensorhub import aio as aio
    from tensorhub import placing as placing
    from tensorhub import safetensors as safetensors
    from tensorhub import torch as torch
    from tensorhub import vllm as vllm

__all__ = [
    "AbortedError",
    "AlreadyExistsError",
    "CancelledError",
    "Client",
    "DataLossError",
    "DeadlineExceededError",
    "Error",
    "FailedPreconditionError",
    "FetchProgress",
    "FetchResult",
    "Info",
    "InternalError",
    "InvalidArgumentError",
    "NotFoundError",
    "OutOfRangeError",
    "PermissionDeniedError",
    "Receipt",
    "Replica",
    "ResourceExhaustedError",
    "Selector",
    "Server",
    "Sliced",
    "UnauthenticatedError",
    "UnavailableError",
    "UnimplementedError",
    "UnknownError",
    "VersionInfo",
    "__version__",
    "connect",
    "info",
    "latest",
    "newer_than",
    "serve",
    "sliced",
    "verify",
    "version",
]


def __getattr__(name: str) -> _ModuleType:
    # What not everybody uses, and takes time to import.
    if name in ("aio", "placing", "safetensors", "torch", "vllm"):
        return _importlib.import_module(f"tensorhub.{name}")
    raise AttributeError(f"module 'tensorhub' has no attribute {name!r}")


@_dataclass(frozen=True)
class Info:
    """What this installation consists of; for reports of problems."""

    version: str
    python: str
    ucx_version: str
    ucx_path: str
    """The folder of UCX's libraries; empty: the system's."""
    ucx_reason: str
    """Why this one was taken."""


def info() -> Info:
    """The package's version, and which UCX is used and why."""
    python = ".".join(str(part) for part in _sys.version_info[:3])
    return Info(__version__, python, _ucx_in_use.version, _ucx_in_use.path, _ucx_in_use.reason)
