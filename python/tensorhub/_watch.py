# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Whether what was registered is where it was: memory can be replaced or freed under its owner."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tensorhub import _native

__all__ = ["Watch", "array_address", "moved_error_text"]

_LISTED_MAX = 10
# Where an array of NumPy says where its memory is: the first field behind the head of an object,
# which all that is compiled for NumPy goes by.
_DATA_AT = object.__basicsize__
_nbytes = operator.attrgetter("nbytes")


class _Looks:
    """Something that is looked up of many objects at once, and what it was at first."""

    def __init__(self, look: Callable[[Sequence[Any]], Iterable[Any]]) -> None:
        self._look = look
        self._names: list[str] = []
        self._objects: list[Any] = []
        self._found: list[Any] = []

    def add(self, name: str, watched: Any, found: Any) -> None:
        self._names.append(name)
        self._objects.append(watched)
        self._found.append(found)

    def changed(self) -> list[str]:
        """The names of those of which it is something else now."""
        if not self._objects:
            return []
        try:
            now = list(self._look(self._objects))
        except Exception:  # of whatever an object has become; one by one it is seen which
            now = [self._one(watched) for watched in self._objects]
        if now == self._found:
            return []
        return [name for name, was, found in zip(self._names, self._found, now, strict=True)
                if was != found]  # fmt: skip

    def _one(self, watched: Any) -> Any:
        try:
            (found,) = self._look([watched])
            return found
        except Exception:
            return None


class Watch:
    """Looks at what was registered: at tensors and arrays as they were given, and their owners.

    That takes a tenth of a microsecond for each, since every publish and fetch does it.
    """

    def __init__(self) -> None:
        self._arrays = _Looks(lambda arrays: _native.words_at(arrays, _DATA_AT))
        self._array_sizes = _Looks(lambda arrays: map(_nbytes, arrays))
        self._interfaces = _Looks(lambda arrays: map(_data_of, arrays))
        self._tensors = _Looks(lambda tensors: map(_torch().Tensor.data_ptr, tensors))
        self._storages = _Looks(lambda storages: map(len, storages))  # in bytes
        self._seen: set[int] = set()

    def array(self, name: str, array: Any, address: int) -> None:
        """An array of NumPy, and the one whose memory it is a view of."""
        self._array(name, array, address)
        owner = array
        while isinstance(owner.base, type_of_arrays()):
            owner = owner.base
        if owner is not array:
            self._array(name, owner, array_address(owner))

    def interface(self, name: str, array: Any, data: Any) -> None:
        """An object that says by an attribute where its memory is."""
        self._interfaces.add(name, array, data)

    def tensor(self, name: str, tensor: Any, address: int, storage: Any) -> None:
        """A tensor of torch, and what it is a view of."""
        self._tensors.add(name, tensor, address)
        if id(storage) not in self._seen:
            self._seen.add(id(storage))
            self._storages.add(name, storage, storage.nbytes())

    def moved(self) -> list[str]:
        """Names whose memory is not where it was, or of another size."""
        groups = (
            self._tensors, self._storages, self._arrays, self._array_sizes, self._interfaces,
        )  # fmt: skip
        return list(dict.fromkeys(name for group in groups for name in group.changed()))

    def _array(self, name: str, array: Any, address: int) -> None:
        if id(array) in self._seen:
            return
        self._seen.add(id(array))
        self._arrays.add(name, array, address)
        self._array_sizes.add(name, array, array.nbytes)


def type_of_arrays() -> Any:
    """NumPy's type of arrays, or nothing's type if nobody has imported NumPy."""
    numpy = sys.modules.get("numpy")
    return () if numpy is None else numpy.ndarray


def array_address(array: Any) -> int:
    """Where an array of NumPy has its memory."""
    return int(_native.words_at([array], _DATA_AT)[0])


def moved_error_text(names: Sequence[str]) -> str:
    """What is wrong, and the remedy, once memory of these names has been replaced."""
    more = f" and {len(names) - _LISTED_MAX} more" if len(names) > _LISTED_MAX else ""
    return (
        f"the memory of {', '.join(names[:_LISTED_MAX])}{more} was replaced or freed after it was "
        "registered; change tensors in place (copy_), or connect a new client and register again"
    )


def _torch() -> Any:
    return sys.modules["torch"]


def _data_of(array: Any) -> Any:
    """What an interface says of the memory's place."""
    interface = getattr(array, "__cuda_array_interface__", None)
    return (array.__array_interface__ if interface is None else interface)["data"]
