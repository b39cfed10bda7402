# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""What is one of its kind: no copy of it is made. And what may stand in a ``with``, and ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Ending", "Single"]


class Single:
    """Neither ``copy`` nor ``pickle`` make a second one: the first to go would end both."""

    _anew = "make another one"

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        kind = f"{type(self).__module__}.{type(self).__qualname__}"
        raise TypeError(
            f"a {kind} cannot be copied or pickled: it belongs to this process and has an end; "
            f"hand on the object itself, or {self._anew} where it is wanted"
        )


class Ending(Single):
    """As a context it is itself, and ends with it, whether or not the body raised."""

    def _end(self) -> None:
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self._end()
