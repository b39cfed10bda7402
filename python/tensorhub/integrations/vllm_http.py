# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""A vLLM that serves by HTTP: it follows what is published, or takes no prompts while it is behind.

    vllm serve … --middleware tensorhub.integrations.vllm_http.Follow
    vllm serve … --middleware tensorhub.integrations.vllm_http.FreshOnly

With ``Follow`` nobody tells it of versions. With ``max_lag`` set (docs/engines.md), ``FreshOnly``
answers prompts with 503 and ``Retry-After`` until an update has come. All other routes go on, so
the update can come by HTTP.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import threading
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from tensorhub._errors import FailedPreconditionError
from tensorhub.integrations._follower import Follower
from tensorhub.integrations._lag import Lag
from tensorhub.integrations._rules import Rules
from tensorhub.integrations._settings import Settings
from tensorhub.integrations._vllm_calls import values
from tensorhub.integrations._vllm_served import ServedEngine
from tensorhub.integrations.vllm import NAME, log

__all__ = ["PROMPTS", "Follow", "FreshOnly"]

PROMPTS = (
    "/generate",
    "/inference/v1/generate",
    "/v1/chat/completions",
    "/v1/completions",
    "/v1/messages",
    "/v1/responses",
)
"""The routes that take prompts."""
_ASKED_AGAIN_S = 0.2
_STANDING = "/tensorhub"
_HOLD, _RELEASE = f"{_STANDING}/hold", f"{_STANDING}/release"
_JOIN_S = 10.0  # in which no answer is given yet
_END_S = 5.0

_Message = MutableMapping[str, Any]
_Send = Callable[[_Message], Awaitable[None]]


class FreshOnly:
    """What vLLM puts around its application, once in each of its processes that serve HTTP."""

    def __init__(self, app: Any) -> None:
        self._app = app
        self._lag: Lag | None = None
        self._asked = 0.0

    async def __call__(self, scope: _Message, receive: Any, send: _Send) -> None:
        if _is_prompt(scope):
            lag = await self._now(scope["app"].state.engine_client)
            if lag.stale:
                await _refuse(send, str(lag))
                return
        await self._app(scope, receive, send)

    async def _now(self, engine: Any) -> Lag:
        """Asked for some times a second at most, and each time while the engine is stale."""
        known = self._lag
        if known is None or known.stale or time.monotonic() - self._asked > _ASKED_AGAIN_S:
            self._asked = time.monotonic()
            known = self._lag = Lag(**values(await engine.collective_rpc("tensorhub_lag"))[0])
        return known


class Follow:
    """What vLLM puts around its application: from its start on, a vLLM that takes each version.

    ``GET /tensorhub`` says how it stands. ``POST /tensorhub/hold`` has it keep its version until
    ``POST /tensorhub/release``.
    """

    def __init__(self, app: Any) -> None:
        self._app = app
        self._gate: Any = app
        self._follower: Follower | None = None
        self._thread: threading.Thread | None = None
        self._complaint = ""

    async def __call__(self, scope: _Message, receive: Any, send: _Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(scope, receive, send)
        elif scope["type"] == "http" and f"{scope['path']}/".startswith(f"{_STANDING}/"):
            await self._answer(scope["method"], scope["path"].rstrip("/"), send)
        elif self._is_broken() and _is_prompt(scope):
            await _refuse(send, "an update has left this vLLM with parts of two versions, and it "
                          "waits for another one: see GET /tensorhub")  # fmt: skip
        else:
            await self._gate(scope, receive, send)

    async def _live(self, scope: _Message, receive: Any, send: _Send) -> None:
        """vLLM's own beginning and end, and what goes on between them."""

        async def heard() -> Any:
            message = await receive()
            if message["type"] == "lifespan.startup":
                await self._begin(scope["app"].state.engine_client)
            elif message["type"] == "lifespan.shutdown":
                await self._end()
            return message

        await self._app(scope, heard, send)

    async def _begin(self, engine: Any) -> None:
        try:
            _refuse_to_follow(engine.vllm_config)
            settings, rules = Settings.of({}), Rules.of({})
        except Exception as error:
            self._complaint = str(error)
            log.error("TensorHub: this vLLM follows nothing: %s", error)
            return
        served = ServedEngine(engine, asyncio.get_running_loop())
        follower = self._follower = Follower(served, settings, rules)
        served.at_end(follower.end)
        if settings.max_lag is not None:
            self._gate = FreshOnly(self._app)
        # vLLM ends without waiting for it.
        self._thread = threading.Thread(target=follower.run, name="tensorhub-follow", daemon=True)
        self._thread.start()
        await asyncio.to_thread(follower.has_tried.wait, _JOIN_S)

    async def _end(self) -> None:
        if self._follower is not None and self._thread is not None:
            self._follower.end()
            await asyncio.to_thread(self._thread.join, _END_S)

    def _is_broken(self) -> bool:
        return self._follower is not None and self._follower.standing.broken

    async def _answer(self, method: str, path: str, send: _Send) -> None:
        if self._follower is None:
            why = self._complaint or "this vLLM has not begun to follow"
            await _say(send, 503, {"error": why})
        elif (method, path) == ("GET", _STANDING):
            await _say(send, 200, _described(self._follower))
        elif method == "POST" and path in (_HOLD, _RELEASE):
            await asyncio.to_thread(self._follower.hold, path == _HOLD)
            await _say(send, 200, _described(self._follower))
        else:
            there = f"there are GET {_STANDING}, POST {_HOLD} and POST {_RELEASE}"
            await _say(send, 404, {"error": there})


def _refuse_to_follow(vllm_config: Any) -> None:
    """FailedPreconditionError: nothing here could follow, and what has to be started otherwise."""
    transfer, parallel = vllm_config.weight_transfer_config, vllm_config.parallel_config
    if getattr(transfer, "backend", None) != NAME:
        raise FailedPreconditionError(
            "Follow needs the backend that takes versions; start vLLM with "
            f'--weight-transfer-config \'{{"backend": "{NAME}"}}\''
        )
    if parallel.data_parallel_size > 1:
        raise FailedPreconditionError(
            f"Follow is for engines by themselves, and this vLLM has {parallel.data_parallel_size} "
            "data-parallel ones, which answer as one; start a vLLM for each of them"
        )
    if getattr(parallel, "_api_process_count", 1) > 1:
        raise FailedPreconditionError(
            "Follow needs the only process that serves; start vLLM with --api-server-count 1"
        )


def _described(follower: Follower) -> dict[str, Any]:
    return dataclasses.asdict(follower.standing)


def _is_prompt(scope: _Message) -> bool:
    return scope["type"] == "http" and scope["method"] == "POST" and scope["path"] in PROMPTS


async def _refuse(send: _Send, why: str) -> None:
    said = {"error": {"message": why, "type": "StaleError", "code": 503}}
    await _say(send, 503, said, (b"retry-after", b"1"))


async def _say(send: _Send, status: int, said: Any, *more: tuple[bytes, bytes]) -> None:
    headers = [(b"content-type", b"application/json"), *more]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": json.dumps(said).encode()})
