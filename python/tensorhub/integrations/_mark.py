# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Which version an engine's model has, where everybody sees it: in the hub's own table.

What an engine's workers hold is memory beside the model as well, so that it does not say what the
model has. A worker of its own, whose group ends with ``in-model``, reads the version's smallest
tensor once the model has the version. By what it holds, the hub also knows the term.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

import tensorhub
from tensorhub._client import Client
from tensorhub._errors import Error, NotFoundError
from tensorhub._layouts import TensorSpec, layouts_of, whole_tensors
from tensorhub._taken import MARK
from tensorhub.integrations._lag import Watch
from tensorhub.integrations._settings import Settings
from tensorhub.torch import storage_of

__all__ = ["Mark"]


class Mark:
    """What an engine has, and what is newer. One thread uses it."""

    def __init__(self, settings: Settings, engine: str, behind: int) -> None:
        """``engine``: how its workers' groups begin. ``behind``: how many newer versions do not
        count yet. UnavailableError: nobody answers."""
        self._settings, self._engine, self._behind = settings, engine, behind
        self._client = self._connected()
        self._watch = Watch(self._client, behind)
        self._spec: TensorSpec | None = None

    def have(self, version: int | None) -> None:
        """The model has this one now; none: parts of two, or nothing of the hub's.

        If the hub cannot be told, whatever is published counts as newer. Errors as of
        ``Client.fetch``.
        """
        try:
            if version is None:
                self._client.unpublish(force=True)
            else:
                self._hold(version)
        except Error:
            self._watch.have(None)
            raise
        self._watch.have(version)

    def pass_over(self, version: int) -> None:
        """Only what is newer than this one counts, though the model has another one."""
        self._watch.have(version)

    def newer(self, seconds: float) -> int | None:
        """The newest version, if there is one within that time that the engine should have."""
        return self._watch.too_new(seconds)

    def close(self) -> None:
        self._watch.close()

    def _hold(self, version: int) -> None:
        if self._client.held() == version:
            return
        _, ranks = layouts_of(self._settings.server, self._settings.model, version)
        spec = _smallest(whole_tensors(ranks))
        if spec != self._spec:
            self._register(spec)
        self._client.fetch(
            tensorhub.version(version), timeout=self._settings.timeout, partial=True,
            waits_out_outages=False,
        )  # fmt: skip

    def _register(self, spec: TensorSpec) -> None:
        """A client registers once."""
        if self._spec is not None:
            self._watch.close()
            self._client = self._connected()
            self._watch = Watch(self._client, self._behind)
        self._spec = spec
        dtype, shape = storage_of(spec)
        self._client.register({spec.name: torch.empty(shape, dtype=dtype)})

    def _connected(self) -> Client:
        return self._settings.beside(MARK, self._engine)


def _smallest(specs: Sequence[TensorSpec]) -> TensorSpec:
    """Any of those that have the fewest elements, but not none."""
    found = [spec for spec in specs if 0 not in spec.shape]
    if not found:
        raise NotFoundError("the version has no tensor with a value")
    return min(found, key=lambda spec: (math.prod(spec.shape), spec.name))
