# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Names of tensors: what wrappers put before them, and how messages have them."""

from __future__ import annotations

import dataclasses
import logging
from collections import Counter
from collections.abc import Iterable, Sequence

from tensorhub._layouts import TensorSpec

__all__ = ["apart", "bare", "first_names", "without"]

_LISTED_MAX = 10
# DistributedDataParallel's and others'; PEFT's.
_WRAPPERS = ("module.", "base_model.model.")

log = logging.getLogger("tensorhub")

_said: set[str] = set()


def first_names(names: Iterable[str]) -> str:
    """The first ten in order, and how many more there are."""
    found = sorted(names)
    rest = len(found) - _LISTED_MAX
    more = f" and {rest} more" if rest > 0 else ""
    return (", ".join(found[:_LISTED_MAX]) or "none") + more


def without(before: str, specs: Sequence[TensorSpec]) -> list[TensorSpec]:
    """All names begin with this, which is taken away."""
    return [
        dataclasses.replace(spec, name=spec.name[len(before) :], before=spec.before + before)
        for spec in specs
    ]


def bare(specs: Sequence[TensorSpec]) -> list[TensorSpec]:
    """Without what a wrapper has put before all names."""
    found = list(specs)
    while before := next((one for one in _WRAPPERS if _all_begin(found, one)), ""):
        if before not in _said:
            _said.add(before)
            log.warning("names are taken without the %r that a wrapper has put before them", before)
        found = without(before, found)
    return found


def _all_begin(specs: Sequence[TensorSpec], before: str) -> bool:
    return bool(specs) and all(spec.name.startswith(before) for spec in specs)


def apart(published: Iterable[str], there: Iterable[str]) -> str:
    """How names differ that should meet: by what stands before them. Empty if not by that.

    Engines fuse some of their parameters, so that not all names meet in any way.
    """
    more: Counter[str] = Counter()
    less: Counter[str] = Counter()
    theirs = set(there)
    given = set(published)
    if given & theirs:
        return ""
    for name in given:
        more.update(one for one in _beginnings(name) if name[len(one) :] in theirs)
    for name in theirs:
        less.update(one for one in _beginnings(name) if name[len(one) :] in given)
    for found, remedy in ((more, "without"), (less, "with")):
        for before, _ in found.most_common(1):
            return f"they would meet {remedy} {before!r} before the published names"
    return ""


def _beginnings(name: str) -> Iterable[str]:
    """``a.`` and ``a.b.`` of ``a.b.c``."""
    return (name[: at + 1] for at, letter in enumerate(name) if letter == ".")
