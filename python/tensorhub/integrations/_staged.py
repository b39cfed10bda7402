# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""A version on its way into host memory, or there, that no model has yet."""

from __future__ import annotations

from dataclasses import dataclass

from tensorhub._layouts import TensorSpec
from tensorhub.integrations._stage import Fetching

__all__ = ["Staged"]


@dataclass(frozen=True)
class Staged:
    """One rank's part of it."""

    number: int
    specs: list[TensorSpec]
    fetching: Fetching | None
    """None where another rank fetches for this one."""

    @property
    def ready(self) -> bool:
        return self.fetching is None or (self.fetching.ended and self.fetching.error is None)

    @property
    def error(self) -> str:
        """Why it will not be ready, as far as is known."""
        return "" if self.fetching is None else str(self.fetching.error or "")

    def cancel(self) -> None:
        """Returns when nobody writes into the memory any more."""
        if self.fetching is not None:
            self.fetching.cancel()
