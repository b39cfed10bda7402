# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""vLLMs that a trainer drives, where they do not follow by themselves (docs/engines.md).

fleet = tensorhub.vllm.Fleet(["http://a:8000", "http://b:8000"])
for outcome in fleet.update(step):
    print(outcome)
"""

from __future__ import annotations

import socket
import time
import urllib.parse
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from tensorhub._arguments import milliseconds, whole_number
from tensorhub._errors import DeadlineExceededError, Error, InvalidArgumentError, UnavailableError
from tensorhub.integrations import _driving
from tensorhub.integrations._rules import Rules
from tensorhub.integrations._vllm_remote import RemoteEngine

__all__ = ["Fleet", "Outcome"]

_AT_ONCE = 64
_ASKED_S = (0.01, 0.25)


@dataclass(frozen=True)
class Outcome:
    """What became of one engine in an update. It is not paused, whatever became of it, unless it
    was before."""

    url: str
    version: int | None = None
    """What its model has taken; None after an error."""
    receipt: str = ""
    pause: float = 0.0
    """For how many seconds it stood still."""
    error: Error | None = None
    """Why it has not taken the version. If its model has parts of two, the error says so."""

    def __str__(self) -> str:
        if self.error is not None:
            return f"{self.url}: {self.error}"
        return f"{self.url}: version {self.version}, stood still for {self.pause:.3f} s"


class Fleet:
    """Any number of vLLMs that serve by HTTP with ``VLLM_SERVER_DEV_MODE=1``, each by itself."""

    def __init__(
        self, urls: str | Sequence[str], *, mode: str = "keep", timeout: float = 600.0, **given: Any
    ) -> None:
        """``urls``: of each vLLM, or one whose host is a name for all of them, which is looked up
        before each update. ``mode``: what becomes of requests that run, as of vLLM's ``/pause``.
        ``timeout``: seconds that one engine may take. ``given``: settings, as of ``init_info``;
        what they leave out, each engine's own environment has. InvalidArgumentError: no such URL.
        """
        self._name = urls if isinstance(urls, str) else ""
        self._urls = [_checked(url) for url in ([urls] if isinstance(urls, str) else urls)]
        if not self._urls:
            raise InvalidArgumentError("urls is empty; give the URL of each vLLM")
        self._mode = Rules.of({"mode": mode}, {}).mode
        self._timeout = milliseconds("timeout", timeout) / 1000
        self._given = given
        self._known: dict[str, RemoteEngine] = {}

    def update(self, version: int | None = None) -> list[Outcome]:
        """Has all of them take a version, the latest one without a number, at the same time.

        Each one stages it while it generates, and then stands still for a copy. Returns when all
        have, or cannot: an error of one is its outcome, and the others go on. Again: those that
        have it do nothing. UnavailableError: the name of all of them is not known.
        """
        wanted = None if version is None else whole_number("version", version)
        engines = self._engines()
        with ThreadPoolExecutor(min(len(engines), _AT_ONCE)) as pool:
            return list(pool.map(lambda engine: self._outcome(engine, wanted), engines))

    def _engines(self) -> list[RemoteEngine]:
        if not self._name:
            return [self._engine(url) for url in self._urls]
        parts = urllib.parse.urlsplit(self._name)
        port = parts.port or (443 if parts.scheme == "https" else 80)
        try:
            found = socket.getaddrinfo(parts.hostname, port, type=socket.SOCK_STREAM)
        except OSError as error:
            raise UnavailableError(
                f"{parts.hostname}, the name of the vLLMs: {error}; give their URLs, or a name "
                "that resolves to them"
            ) from None
        addresses = sorted({str(one[4][0]) for one in found})
        if len(addresses) == 1 or parts.scheme == "https":
            return [self._engine(self._name)]
        hosts = [f"[{address}]" if ":" in address else address for address in addresses]
        urls = [f"{parts.scheme}://{host}:{port}{parts.path}" for host in hosts]
        return [self._engine(url, parts.netloc) for url in urls]

    def _engine(self, url: str, host: str = "") -> RemoteEngine:
        return self._known.setdefault(url, RemoteEngine(url, self._timeout, host))

    def _outcome(self, engine: RemoteEngine, version: int | None) -> Outcome:
        try:
            return self._updated(engine, version)
        except Error as error:
            return Outcome(engine.url, error=error)

    def _updated(self, engine: RemoteEngine, version: int | None) -> Outcome:
        engine.resume()  # as the last update may not have come so far
        _driving.join(engine, self._given)
        if not self._given.get("in_place"):
            version = self._staged(engine, version)
        arrived = _driving.ask(engine, "arrived")[0]
        pause = 0.0
        if arrived is None or arrived["version"] != version:
            arrived, pause = _driving.put(engine, self._mode, version)
        return Outcome(engine.url, arrived["version"], arrived["receipt"], pause)

    def _staged(self, engine: RemoteEngine, version: int | None) -> int:
        begin = time.monotonic()
        number = _driving.stage(engine, version)
        while not _driving.is_staged(engine):
            took = time.monotonic() - begin
            if took >= self._timeout:
                raise DeadlineExceededError(
                    f"version {number} was not there within {self._timeout:g} s; the engine has "
                    "what it had"
                )
            shortest, longest = _ASKED_S
            time.sleep(min(max(took / 10, shortest), longest))
        return number


def _checked(url: Any) -> str:
    parts = urllib.parse.urlsplit(url) if isinstance(url, str) else None
    if parts is None or parts.scheme not in ("http", "https") or not parts.hostname:
        raise InvalidArgumentError(f"{url!r} is no URL of a vLLM; give http://HOST:PORT")
    return str(url)
