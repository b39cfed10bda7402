# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Where an engine's worker finds its weights: what the caller gave, then the environment."""

from __future__ import annotations

import itertools
import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from tensorhub._arguments import plain
from tensorhub._client import Client, connect
from tensorhub._errors import InvalidArgumentError
from tensorhub._programs import Server

__all__ = ["Settings"]

_FLAGS = ("spot", "share", "in_place", "stage")
_COUNTS = ("max_lag",)
_SECONDS = ("timeout", "max_pause", "start_wait")
_TRUE, _FALSE = ("1", "true", "yes", "on"), ("0", "false", "no", "off", "")

_serials = itertools.count()


@dataclass(frozen=True)
class Settings:
    """What it takes to join as a rollout worker."""

    server: str
    """HOST:PORT of the server."""
    model: str
    """The model's name at the server, such as ``qwen3-8b/actor``."""
    group: str = "vllm"
    """How this worker's group begins; host and process follow, so that every worker has its own."""
    part: str = ""
    """Which module of a ``tensorhub.torch.bundle`` the engine has; empty where one is published."""
    location: str = ""
    data_address: str = ""
    spot: bool = False
    timeout: float = 600.0
    """Seconds that one fetch may take."""
    share: bool = True
    """One copy of a version for all ranks of a host, where these can open each other's memory."""
    in_place: bool = False
    """Fetch into the engine's parameters where that is possible, without a copy of the model."""
    stage: bool = False
    """Keep host memory for what this worker takes of the next version, and copy it from there."""
    max_lag: int | None = None
    """How many versions a worker may be behind before it says that it is stale; None: any."""
    max_pause: float | None = None
    """Seconds that an update may wait for bytes while the engine stands still; None: any."""
    start_wait: float = 0.0
    """Seconds that an engine which starts waits for the first version."""

    @classmethod
    def of(cls, given: Mapping[str, Any], environment: Mapping[str, str] = os.environ) -> Settings:
        """InvalidArgumentError names a setting that is missing, unknown or of another type."""
        known = {field.name for field in fields(cls)}
        unknown = sorted(set(given) - known)
        if unknown:
            raise InvalidArgumentError(
                f"{unknown[0]!r} is no setting of TensorHub; there are {', '.join(sorted(known))}"
            )
        values = {name: _value(name, given.get(name), environment) for name in known}
        for name in ("server", "model"):
            if not values[name]:
                raise InvalidArgumentError(
                    f"no {name} is given; put {name!r} into init_info (or "
                    f"--model-loader-extra-config), or set {_variable(name)}"
                )
        if values["in_place"] and values["stage"]:
            raise InvalidArgumentError(
                "'in_place' and 'stage' are both set; a version is fetched into the model, or "
                "beside it: give one of them"
            )
        return cls(**{name: value for name, value in values.items() if value is not None})

    def here(self) -> str:
        """How the groups of this process begin, and of no other."""
        return f"{self.group}-{socket.gethostname()}-{os.getpid()}"

    def group_here(self) -> str:
        """A group that nobody has, nor had in this process."""
        return f"{self.here()}-{next(_serials)}"

    def beside(self, what: str, group: str = "") -> Client:
        """A client beside an engine's own ones, which is entrusted with nothing."""
        return connect(
            self.server, self.model, f"{group or self.group_here()}-{what}", spot=True,
            location=self.location, data_address=self.data_address, host_copy_bytes=0,
        )  # fmt: skip


def _variable(name: str) -> str:
    return {"timeout": "TENSORHUB_FETCH_TIMEOUT"}.get(name, f"TENSORHUB_{name.upper()}")


def _value(name: str, given: Any, environment: Mapping[str, str]) -> Any:
    if given is None:
        given = environment.get(_variable(name)) or None
        if given is None:
            return None
        return _parsed(name, given)
    given = given.address if isinstance(given, Server) else plain(given)
    if not isinstance(given, _type_of(name)) or (isinstance(given, bool) and name not in _FLAGS):
        raise InvalidArgumentError(f"{name!r} is a {type(given).__name__}: {given!r}")
    if name in _COUNTS + _SECONDS and not given >= 0:
        raise InvalidArgumentError(f"{name!r} is {given}; give 0 or more")
    return given


def _type_of(name: str) -> Any:
    if name in _SECONDS:
        return (int, float)
    return bool if name in _FLAGS else int if name in _COUNTS else str


def _parsed(name: str, said: str) -> Any:
    """A variable's text as the setting's type; seconds may have an `s` behind them."""
    if name in _SECONDS:
        try:
            seconds = float(said.removesuffix("s"))
        except ValueError:
            seconds = -1.0
        if not seconds >= 0:
            raise InvalidArgumentError(f"{_variable(name)} is {said!r}; give seconds, such as 600")
        return seconds
    if name in _COUNTS:
        if not said.isdecimal():
            raise InvalidArgumentError(f"{_variable(name)} is {said!r}; give a number, such as 2")
        return int(said)
    if name in _FLAGS:
        if said.lower() not in _TRUE + _FALSE:
            raise InvalidArgumentError(f"{_variable(name)} is {said!r}; give 1 or 0")
        return said.lower() in _TRUE
    return said
