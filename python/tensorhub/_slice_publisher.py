# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Publishing what each rank of a trainer has, from a copy of it that may have another dtype."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from tensorhub import placing
from tensorhub._client import Client, connect
from tensorhub._copies import Kind, copies_for, patterns, published_dtype
from tensorhub._ending import Ending
from tensorhub._errors import FailedPreconditionError, InvalidArgumentError
from tensorhub._layouts import with_aliases
from tensorhub._modules import OTHER_TENSORS, aliases, check_values, pieces, rank_and_ranks
from tensorhub._programs import Server
from tensorhub._taken import Taken, taken, wait_taken
from tensorhub._types import Sliced

__all__ = ["SlicePublisher"]


@dataclass(frozen=True)
class _Piece:
    """A tensor of this rank, or a slice of one, and what of it is published."""

    name: str
    given: Any
    dtype: torch.dtype

    @property
    def array(self) -> torch.Tensor:
        array: torch.Tensor = self.given.array if self.is_slice else self.given
        return array.detach()

    @property
    def kind(self) -> Kind:
        return self.dtype, self.array.shape

    @property
    def described(self) -> tuple[Any, ...]:
        place = (self.given.global_shape, self.given.offset) if self.is_slice else ()
        return self.name, *self.kind, place

    @property
    def is_slice(self) -> bool:
        return isinstance(self.given, Sliced)

    def published(self, copy: torch.Tensor) -> Any:
        return replace(self.given, array=copy) if self.is_slice else copy


class SlicePublisher(Ending):
    """Publishes a module's tensors from all ranks, each rank what it has. Nobody gathers anything.

    For readers that cut the model in any way, such as engines that fetch in place. Every rank of
    the process group makes one and makes the same calls::

        publisher = tensorhub.torch.SlicePublisher(model, "hub:7070", "actor", dtype=torch.bfloat16)
        for step in range(1, steps + 1):
            train(model)
            publisher.publish(step)

    Each rank has a copy of what it has, made once, where the tensors are (host memory or a GPU).
    Peers read the copy, so the module may change as soon as ``publish`` has returned.
    """

    def __init__(
        self,
        module: torch.nn.Module,
        server: str | Server,
        model: str,
        group: str = "trainer",
        *,
        dtype: torch.dtype | None = None,
        rename: Callable[[str], str | None] | None = None,
        place: placing.Place | None = None,
        keep: Sequence[str] = (),
        process_group: Any = None,
        **options: Any,
    ) -> None:
        """Connects as ``tensorhub.connect(server, model, group, rank, ranks, **options)``.

        ``dtype``: what parameters of floating point are cast to. What they are stay buffers,
        float8, and what engines have in float32 (biases of routers, scales); and what ``keep``
        names, patterns such as ``"*.lm_head.weight"``.
        ``rename``: from the module's name of a tensor to the published one; None leaves it out.
        ``place``: where tensors belong that are no DTensors, as of :func:`register_module`.
        ``process_group``: the trainer's ranks; all of them by itself.
        InvalidArgumentError names a tensor without memory (meta, freed), or what ``register``
        refuses; of views that are conjugated, negated or not dense, the copy has the values.
        """
        self._module, self._place, self._dtype, self._keep = module, place, dtype, patterns(keep)
        self._rename = rename or (lambda name: name)
        rank, ranks = rank_and_ranks(process_group)
        found = list(self._pieces())
        self._described = [piece.described for piece in found]
        self._client: Client | None = connect(server, model, group, rank, ranks, **options)
        try:
            self._copies = _copies(self._client, found)
            given = zip(found, self._copies, strict=True)
            published = placing.given((p.name, p.published(c)) for p, c in given)
            self._client.register(with_aliases(published, self._aliases()))
        except BaseException:
            self.close()
            raise

    def publish(
        self,
        version: int,
        *,
        supersede: bool = False,
        timeout: float = 60.0,
        drain_timeout: float = 10.0,
    ) -> None:
        """Copies this rank's present values, and returns when all ranks have published them.

        Errors as ``Client.unpublish`` and ``Client.publish``. After one the last version may be
        published no more; call it again. FailedPreconditionError: the module has other tensors now.
        InvalidArgumentError names a tensor whose memory is freed; nothing is touched then.
        """
        client = self._published
        found = list(self._pieces())
        if [piece.described for piece in found] != self._described:
            raise FailedPreconditionError(OTHER_TENSORS)
        client.unpublish(drain_timeout=drain_timeout)
        with torch.no_grad():
            for piece, copy in zip(found, self._copies, strict=True):
                copy.copy_(piece.array)
        client.publish(version, wait_for_group=True, supersede=supersede, timeout=timeout,
                       stream=_stream_of(self._copies))  # fmt: skip

    def taken(self, version: int) -> Taken:
        """Which engines that follow have it in their models, stage it, or are behind. Any rank."""
        return taken(self._published, version)

    def wait_taken(self, version: int, *, share: float = 0.9, timeout: float = 600.0) -> Taken:
        """Returns when that part of the engines that follow have it, or a newer one. Any rank.

        An engine that joins meanwhile counts at once, and one that goes counts no more.
        DeadlineExceededError names those that lack it.
        """
        return wait_taken(self._published, version, share, timeout)

    def close(self) -> None:
        """Leaves the hub. More calls do nothing."""
        client, self._client = self._client, None
        if client is not None:
            client.leave()
        self._copies = []

    def _end(self) -> None:
        self.close()

    @property
    def _published(self) -> Client:
        if self._client is None:
            raise InvalidArgumentError("this publisher is closed; make a new one")
        return self._client

    def _aliases(self) -> Iterator[tuple[str, str]]:
        for pair in aliases(self._module, self._place):
            alias, name = (self._rename(each) for each in pair)
            if alias and name and alias != name:
                yield alias, name

    def _pieces(self) -> Iterator[_Piece]:
        buffers = {id(buffer) for buffer in self._module.buffers()}
        for tensor, key, given in pieces(self._module, self._place):
            name = self._rename(key)
            if name is None:
                continue
            array = given.array if isinstance(given, Sliced) else given
            check_values(key, array)
            dtype = None if id(tensor) in buffers else self._dtype
            yield _Piece(name, given, published_dtype(name, array, dtype, self._keep))


def _copies(client: Client, pieces: list[_Piece]) -> list[torch.Tensor]:
    """Where the tensors are: in one block of host memory, and one by one on a GPU."""
    on_host = [piece.array.device.type == "cpu" for piece in pieces]
    kinds = [piece.kind for piece, here in zip(pieces, on_host, strict=True) if here]
    copies = iter(copies_for(client, kinds))
    return [
        next(copies)
        if here
        else torch.empty(piece.array.shape, dtype=piece.dtype, device=piece.array.device)
        for piece, here in zip(pieces, on_host, strict=True)
    ]


def _stream_of(tensors: list[torch.Tensor]) -> Any:
    for tensor in tensors:
        if tensor.device.type == "cuda":
            return torch.cuda.current_stream(tensor.device)
    return None
