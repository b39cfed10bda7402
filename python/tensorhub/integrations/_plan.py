# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Which box of which published tensor an engine puts where: recorded, not derived.

The engine's own loading code runs over tensors of the meta device, which have shapes and no bytes.
Every copy from such a tensor into a parameter is seen, however many views lie between, and both
ends are noted in place of copying.

Where the parameters are of the meta device as well, and the loading code does nothing but copy,
torch is asked for copies alone. Otherwise a dispatch mode sees all operations, at several times the
cost. With it the parameters may be the live ones: nothing that the loading code writes into them is
carried out.

Not followed are changes of value (casts, arithmetic, copies into a new tensor). The plan names them
with their operation, so that such tensors are fetched whole and loaded by the engine. What can be
fetched into the parameters themselves, _boxes.py says, and what they would lack, _coverage.py.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from tensorhub.integrations._coverage import Lacking, View, is_run, unwritten

__all__ = ["Piece", "Plan", "Region", "record"]

_COPY = torch.ops.aten.copy_.default

_Load: TypeAlias = "Callable[[list[tuple[str, torch.Tensor]]], Any]"
_Missing: TypeAlias = "Callable[[Plan], Sequence[str]]"


@dataclass(frozen=True)
class Region:
    """A view of one tensor: what ``as_strided`` takes, offset counted in elements."""

    offset: int
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    dtype: torch.dtype

    @property
    def view(self) -> View:
        return self.offset, self.shape, self.stride

    @property
    def dense(self) -> bool:
        """Whether its elements lie one behind the other, in order."""
        return is_run(list(zip(self.stride, self.shape, strict=True)))


# A kernel is the whole process's, and two threads that register one wait for each other for ever:
# torch asks for its own lock and for Python's in one order here and in the other there.
_ONE_AT_A_TIME = threading.Lock()


@dataclass(frozen=True)
class Piece:
    """One copy: a region of a published tensor to a region of a parameter."""

    name: str
    source: Region
    parameter: str
    target: Region


@dataclass
class Plan:
    """What a recording found. Names are in the order in which the loading code came to them."""

    pieces: list[Piece] = field(default_factory=list)
    changed: dict[str, str] = field(default_factory=dict)
    """Published names whose values are changed on the way, each with the operation."""
    untaken: list[str] = field(default_factory=list)
    """Published names of which this worker takes nothing."""
    unfilled: list[str] = field(default_factory=list)
    """Parameters of which not every element was written to."""
    partly: dict[str, Lacking] = field(default_factory=dict)
    """Those of them that got something, and what of them did not."""
    kept: list[str] = field(default_factory=list)
    """Parameters that nothing is published for, and that may be so."""
    written: dict[str, str] = field(default_factory=dict)
    """Parameters that are written in another way too, such as padding, each with the operation;
    where copies alone were asked for, none."""


def record(
    published: Iterable[tuple[str, torch.dtype, Sequence[int]]],
    parameters: Mapping[str, torch.Tensor],
    load: _Load,
    missing: _Missing = lambda plan: plan.unfilled,
) -> Plan:
    """Runs ``load`` over stand-ins for the published tensors, and notes what goes where.

    ``load`` takes pairs of a name and a tensor, as an engine's ``load_weights`` does; what it
    raises comes out of here. It must not replace a parameter's memory, and may run twice.
    ``missing`` says which parameters did not get all that they should have.
    """
    given = [(name, torch.empty(tuple(shape), dtype=dtype, device="meta"))
             for name, dtype, shape in published]  # fmt: skip
    with _ONE_AT_A_TIME, torch.no_grad(), _without_collections():
        if all(tensor.is_meta for tensor in parameters.values()):
            plan = _copies_alone(given, parameters, load, missing)
            if plan is not None:
                return plan
        mode = _Recorder(given, parameters)
        with mode:
            load(list(given))
        return mode.plan()


@contextlib.contextmanager
def _without_collections() -> Iterator[None]:
    """Python would look through what is noted, again and again, and nothing of it is garbage."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _copies_alone(
    given: list[tuple[str, torch.Tensor]],
    parameters: Mapping[str, torch.Tensor],
    load: _Load,
    missing: _Missing,
) -> Plan | None:
    """What the mode would find, by a kernel of ours for copies between tensors without bytes.

    None if that does not tell all: something else was copied, so that values were changed before,
    or parameters did not get all by copies. Other threads may use such tensors meanwhile.
    """
    recorder, thread, other = _Recorder(given, parameters), threading.get_ident(), False

    def copy(target: torch.Tensor, value: torch.Tensor, _: bool = False) -> torch.Tensor:
        nonlocal other
        if threading.get_ident() == thread and not recorder.take(target, value):
            other = True
        return target

    with torch.library._scoped_library("aten", "IMPL") as library:
        library.impl("copy_", copy, "Meta")
        load(list(given))
    plan = recorder.plan()
    return None if other or missing(plan) else plan


@dataclass
class _Parameter:
    name: str
    begin: int
    end: int
    tensor: torch.Tensor


class _Recorder(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Tells tensors apart by their storage, which all views of a tensor share.

    Storages are known by address of their C++ object, so whatever is noted is kept alive.
    """

    def __init__(
        self, given: list[tuple[str, torch.Tensor]], parameters: Mapping[str, torch.Tensor]
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._kept: list[torch.Tensor] = [tensor for _, tensor in given]
        self._order = [name for name, _ in given]
        self._sources = {_storage(tensor): name for name, tensor in given}
        self._derived: dict[int, tuple[set[str], str]] = {}
        self._targets: dict[int, list[_Parameter]] = {}
        self._writes: dict[int, list[Region]] = {}  # by storage, counted from its begin
        for name, tensor in parameters.items():
            begin = int(tensor.storage_offset())
            found = _Parameter(name, begin, begin + max(tensor.numel(), 1), tensor)
            self._targets.setdefault(_storage(tensor), []).append(found)
        self._plan = Plan()

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """No: torch would go through its compiler's guard at every call, half of the time."""
        return False

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        if func.is_view:  # most calls
            return func(*args, **(kwargs or {}))
        target = args[0] if args and isinstance(args[0], torch.Tensor) else None
        if target is not None and _writes(func) and _storage(target) in self._targets:
            self._note_write(func, target, args)
            return target
        result = func(*args, **(kwargs or {}))
        self._follow(func, args, result)
        return result

    def take(self, target: torch.Tensor, value: torch.Tensor) -> bool:
        """Notes a copy; false if it is none of a published tensor into a parameter."""
        if _storage(target) not in self._targets or _storage(value) not in self._sources:
            return False
        self._note_write(_COPY, target, (target, value))
        return True

    def _note_write(self, func: Any, target: torch.Tensor, args: tuple[Any, ...]) -> None:
        parameter = self._parameter(target)
        self._writes.setdefault(_storage(target), []).append(_region(target, 0))
        value = args[1] if len(args) > 1 and isinstance(args[1], torch.Tensor) else None
        names, how = self._origin(value)
        if func is not _COPY or not names:
            self._plan.written[parameter.name] = _operation(func)
        elif how:
            self._change(names, parameter, how)
        elif value is not None and value.shape != target.shape:
            if not _fits(value.shape, target.shape):
                raise _misfit(names, value, parameter.name, target)
            self._change(names, parameter, "broadcasting")
        elif value is not None:
            (name,) = names
            there = _region(target, parameter.begin)
            self._plan.pieces.append(Piece(name, _region(value, 0), parameter.name, there))

    def _change(self, names: set[str], parameter: _Parameter, how: str) -> None:
        self._plan.written[parameter.name] = how
        for name in names:
            self._plan.changed[name] = how

    def _origin(self, value: torch.Tensor | None) -> tuple[set[str], str]:
        """The published tensors that a value comes of, and what made another value of them."""
        if value is None:
            return set(), ""
        place = _storage(value)
        if place in self._sources:
            return {self._sources[place]}, ""
        return self._derived.get(place, (set(), ""))

    def _follow(self, func: Any, args: tuple[Any, ...], result: Any) -> None:
        """Notes a new tensor that was computed of published ones."""
        if not isinstance(result, torch.Tensor) or not result.is_meta:
            return
        place = _storage(result)
        if place in self._sources or place in self._targets:
            return
        names: set[str] = set()
        for value in _tensors(args):
            names |= self._origin(value)[0]
        if names:
            self._derived[place] = (names, _operation(func))
            self._kept.append(result)

    def _parameter(self, target: torch.Tensor) -> _Parameter:
        """Of several parameters in one storage, the one that holds the target's first element."""
        found = self._targets[_storage(target)]
        if len(found) == 1:
            return found[0]
        at = target.storage_offset()
        return next((one for one in found if one.begin <= at < one.end), found[0])

    def plan(self) -> Plan:
        plan = self._plan
        taken = {piece.name for piece in plan.pieces} | plan.changed.keys()
        plan.untaken = [name for name in self._order if name not in taken]
        # Tied parameters are one memory under several names.
        for place, parameters in self._targets.items():
            writes = self._writes.get(place, [])
            for one in parameters:
                lacking = _lacking(one, writes)
                if lacking is None:
                    continue
                plan.unfilled.append(one.name)
                if lacking.elements < lacking.of:
                    plan.partly[one.name] = lacking
        return plan


def _fits(shape: Sequence[int], target: Sequence[int]) -> bool:
    """Whether a copy between such shapes repeats the source over the target, as torch does."""
    if len(shape) > len(target):
        return False
    behind = target[len(target) - len(shape) :]
    return all(mine in (1, theirs) for mine, theirs in zip(shape, behind, strict=True))


def _misfit(
    names: set[str], value: torch.Tensor, parameter: str, target: torch.Tensor
) -> ValueError:
    return ValueError(
        f"{', '.join(names)} of shape {list(value.shape)} does not fit into {parameter} of shape "
        f"{list(target.shape)}"
    )


def _lacking(parameter: _Parameter, writes: Sequence[Region]) -> Lacking | None:
    """Which of its elements none of the writes reached."""
    tensor = parameter.tensor
    if any(region.dtype.itemsize != tensor.dtype.itemsize for region in writes):
        return None  # written as another dtype, whose places are not this one's
    views = [(region.offset - parameter.begin, region.shape, region.stride) for region in writes]
    return unwritten(tensor.shape, tensor.stride(), views)


@functools.cache
def _writes(func: Any) -> bool:
    return bool(func._schema.is_mutable)


def _storage(tensor: torch.Tensor) -> int:
    return int(tensor.untyped_storage()._cdata)


def _region(tensor: torch.Tensor, begin: int) -> Region:
    return Region(
        int(tensor.storage_offset()) - begin,
        tuple(tensor.shape),
        tuple(tensor.stride()),
        tensor.dtype,
    )


def _tensors(args: Iterable[Any]) -> Iterable[torch.Tensor]:
    for value in args:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _tensors(value)


def _operation(func: Any) -> str:
    return str(func).removesuffix(".default")
