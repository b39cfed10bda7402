# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Which engines that follow have taken a version: the hub knows, and no engine is asked."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tensorhub import _programs
from tensorhub._arguments import milliseconds, whole_number
from tensorhub._child import Child, start
from tensorhub._client import Client
from tensorhub._errors import DeadlineExceededError, InvalidArgumentError
from tensorhub._types import VersionInfo

__all__ = ["MARK", "Taken", "taken", "wait_taken"]

MARK = "in-model"
"""How the group ends of the worker by which an engine says what its model has."""

_CTL = "tensorhubctl"
_LEAVE_S = 5.0
_TLS = ("--tls-ca", "--tls-cert", "--tls-key", "--token-file")
_LOOKED_S = (0.02, 0.5)
_LISTED_MAX = 10


@dataclass(frozen=True)
class Taken:
    """How the engines that follow a model stand to one version of it. Each is in one of three."""

    version: int
    has: tuple[str, ...]
    """Whose model has it, or a newer one."""
    stages: tuple[str, ...]
    """Those that have it beside the model, or read it."""
    behind: tuple[str, ...]
    """All others."""

    @property
    def share(self) -> float:
        """How many of them have it; 0 where none follows."""
        engines = len(self.has) + len(self.stages) + len(self.behind)
        return len(self.has) / engines if engines else 0.0

    def __str__(self) -> str:
        if not self.has + self.stages + self.behind:
            return "no engine follows the model"
        rest = [("stages it", self.stages), ("is behind", self.behind)]
        named = [f"{_first(engines)} {what}" for what, engines in rest if engines]
        return f"{self.share:.0%} have version {self.version}" + "".join(f"; {n}" for n in named)


def taken(client: Client, version: int) -> Taken:
    """As of ``publisher.taken``."""
    number = whole_number("version", version)
    engines = _engines(client)
    newer = list(_newer(client.list(), number))
    groups = {replica.group for one in newer for replica in one.replicas
              if replica.state in ("complete", "draining")}  # fmt: skip
    reading = {replica.group for one in newer for replica in one.replicas}
    has = [engine for engine in engines if f"{engine}-{MARK}" in groups]
    stages = [engine for engine in engines if engine not in has
              and any(group.startswith(f"{engine}-") for group in reading)]  # fmt: skip
    behind = [engine for engine in engines if engine not in has + stages]
    return Taken(number, tuple(has), tuple(stages), tuple(behind))


def wait_taken(client: Client, version: int, share: float, timeout: float) -> Taken:
    """As of ``publisher.wait_taken``."""
    if not 0 < share <= 1:
        raise InvalidArgumentError(f"share is {share!r}; give a part of the engines, such as 0.9")
    begin = time.monotonic()
    end = begin + milliseconds("timeout", timeout) / 1000
    while True:
        found = taken(client, version)
        if found.share >= share:
            return found
        now = time.monotonic()
        if now >= end:
            raise DeadlineExceededError(
                f"{found} after {timeout:g} s, and {share:.0%} were waited for; their logs say why"
            )
        shortest, longest = _LOOKED_S
        time.sleep(min(max((now - begin) / 10, shortest), longest, end - now))


def _engines(client: Client) -> list[str]:
    """Those that follow, with or without a version, in order."""
    command = [_programs.program(_CTL), "--server", client.server]
    command += [word for pair in zip(_TLS, client._security, strict=True) if pair[1]
                for word in pair]  # fmt: skip
    workers = json.loads(_said([*command, "workers", "--output", "json"]))["workers"]
    ending = f"-{MARK}"
    return sorted(
        worker["group"].removesuffix(ending)
        for worker in workers
        if worker["model"] == client.model and worker["group"].endswith(ending)
    )


def _said(command: list[str]) -> bytes:
    with Child(start(command, _programs.environment()), _CTL, _LEAVE_S) as child:
        assert child._process.stdout is not None
        said = child._process.stdout.read()
        if (error := child._failure()) is not None:
            raise error
        return said


def _newer(listed: Sequence[VersionInfo], number: int) -> Iterable[VersionInfo]:
    """This version and what was published after it; of numbers that a later term took, the last."""
    term = max((one.term for one in listed if one.version == number), default=0)
    for one in listed:
        if one.state != "superseded" and (one.term, one.version) >= (term, number):
            yield one


def _first(names: Sequence[str]) -> str:
    rest = len(names) - _LISTED_MAX
    return ", ".join(names[:_LISTED_MAX]) + (f" and {rest} more" if rest > 0 else "")
