# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""A vLLM that serves by HTTP takes no prompts while it is too far behind what is published.

    vllm serve … --middleware tensorhub.integrations.vllm_http.FreshOnly

With ``max_lag`` set (docs/engines.md), prompts are answered with 503 and ``Retry-After`` until an
update has come. All other routes go on, so the update can come by HTTP.
"""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from tensorhub.integrations._lag import Lag
from tensorhub.integrations._vllm_calls import values

__all__ = ["PROMPTS", "FreshOnly"]

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

_Message = MutableMapping[str, Any]
_Send = Callable[[_Message], Awaitable[None]]


class FreshOnly:
    """What vLLM puts around its application, once in each of its processes that serve HTTP."""

    def __init__(self, app: Any) -> None:
        self._app = app
        self._lag: Lag | None = None
        self._asked = 0.0

    async def __call__(self, scope: _Message, receive: Any, send: _Send) -> None:
        if scope["type"] == "http" and scope["method"] == "POST" and scope["path"] in PROMPTS:
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


async def _refuse(send: _Send, why: str) -> None:
    said = {"error": {"message": why, "type": "StaleError", "code": 503}}
    headers = [(b"content-type", b"application/json"), (b"retry-after", b"1")]
    await send({"type": "http.response.start", "status": 503, "headers": headers})
    await send({"type": "http.response.body", "body": json.dumps(said).encode()})
