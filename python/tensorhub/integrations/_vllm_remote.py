# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""A vLLM by its routes for updates, which it has with ``VLLM_SERVER_DEV_MODE=1``."""

from __future__ import annotations

import contextlib
import http.client
import json
import urllib.error
import urllib.parse
import urllib.request
from typing import Any

from tensorhub._errors import Error, FailedPreconditionError, UnavailableError, UnknownError

__all__ = ["RemoteEngine"]

_SAID_MAX = 300


class RemoteEngine:
    """One thread uses it. ``host``: what to ask for, where the URL has an address instead."""

    def __init__(self, url: str, timeout: float, host: str = "") -> None:
        self.url, self._timeout, self._host = url.rstrip("/"), timeout, host
        self._is_paused = False  # by somebody else
        self._stands = False  # because of this object

    def call(self, method: str, *args: Any) -> list[Any]:
        said = self._post("/collective_rpc", {"method": method, "args": list(args)})
        found: list[Any] = said["results"]
        return found

    def pause(self, mode: str) -> None:
        self._is_paused = bool(self._get("/is_paused")["is_paused"])
        if not self._is_paused:
            self._stands = True
            self._post(f"/pause?{urllib.parse.urlencode({'mode': mode})}")

    def resume(self) -> None:
        """Also what an earlier call could not."""
        if not self._stands:
            return
        try:
            self._post("/resume")
        except UnavailableError:
            self._post("/resume")
        self._stands = False

    def label(self, version: int) -> None:
        if self._is_paused:
            self._post("/reset_prefix_cache?reset_running_requests=true")
        with contextlib.suppress(FailedPreconditionError):  # older vLLMs have no labels
            self._post("/update_weight_version", {"new_version": str(version)})

    def drop(self) -> None:
        self._post("/pause?mode=abort")

    def _get(self, path: str) -> Any:
        return self._said(urllib.request.Request(self.url + path), path)

    def _post(self, path: str, body: Any = None) -> Any:
        headers = {"content-type": "application/json"}
        given = json.dumps(body or {}).encode()
        return self._said(urllib.request.Request(self.url + path, given, headers), path)

    def _said(self, request: urllib.request.Request, path: str) -> Any:
        """UnavailableError: nobody answers. FailedPreconditionError: not a vLLM with the plug-in,
        or not in the mode for it."""
        if self._host:
            request.add_header("host", self._host)
        try:
            with urllib.request.urlopen(request, timeout=self._timeout) as answer:
                return json.loads(answer.read() or "null")
        except urllib.error.HTTPError as error:
            with error:
                raise _of_status(error.code, path, error.read()) from None
        except json.JSONDecodeError:
            raise _of_others(path) from None
        except (OSError, http.client.HTTPException) as error:
            raise UnavailableError(
                f"{getattr(error, 'reason', error)}; it has ended, hangs, or is not there"
            ) from None


def _of_status(status: int, path: str, body: bytes) -> Error:
    if status in (404, 405):
        return _of_others(path)
    said = " ".join(body.decode(errors="replace").split())[:_SAID_MAX]
    if "tensorhub_" in said and "attribute" in said:
        return FailedPreconditionError(
            "this vLLM does not have TensorHub's plug-in; install the package into its environment"
        )
    return UnknownError(f"{path} answered {status}: {said}; its log has more")


def _of_others(path: str) -> Error:
    return FailedPreconditionError(
        f"it does not have vLLM's route {path.partition('?')[0]}; start vLLM with "
        "VLLM_SERVER_DEV_MODE=1, and give the URL of its server"
    )
