# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Publishing what each rank of a trainer has, from a copy of it that may have another dtype."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch

from tensorhub import placing
from tensorhub._client import Client, connect
from tensorhub._copies import Kind, copies_for
from tensorhub._ending import Ending
from tensorhub._errors import FailedPreconditionError, InvalidArgumentError
from tensorhub._modules import check_values, rank_and_ranks, walk
from tensorhub._programs import Server
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
        array: torch.Tensor = self.given.array if isinstance(self.given, Sliced) else self.given
        return array.detach()

    @property
    def kind(self) -> Kind:
        return self.dtype, self.array.shape

    def published(self, copy: torch.Tensor) -> Any:
        return replace(self.given, array=copy) if isinstance(self.given, Sliced) else copy


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
        process_group: Any = None,
        **options: Any,
    ) -> None:
        """Connects as ``tensorhub.connect(server, model, group, rank, ranks, **options)``.

        ``dtype``: what parameters of floating point are cast to; buffers stay what they are.
        ``rename``: from the module's name of a tensor to the published one; None leaves it out.
        ``place``: where tensors belong that are no DTensors, as of :func:`register_module`.
        ``process_group``: the trainer's ranks; all of them by itself.
        InvalidArgumentError names a tensor on the meta device, or what ``register`` refuses.
        """
        self._module, self._place, self._dtype = module, place, dtype
        self._rename = rename or (lambda name: name)
        rank, ranks = rank_and_ranks(process_group)
        pieces = list(self._pieces())
        self._client: Client | None = connect(server, model, group, rank, ranks, **options)
        try:
            self._copies = _copies(self._client, pieces)
            given = zip(pieces, self._copies, strict=True)
            self._client.register(placing.given((p.name, p.published(c)) for p, c in given))
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
        """
        if self._client is None:
            raise InvalidArgumentError("this publisher is closed; make a new one")
        pieces = list(self._pieces())
        if [piece.array.shape for piece in pieces] != [copy.shape for copy in self._copies]:
            raise FailedPreconditionError(
                "the module has other tensors than when this publisher was made; make a new one"
            )
        self._client.unpublish(drain_timeout=drain_timeout)
        with torch.no_grad():
            for piece, copy in zip(pieces, self._copies, strict=True):
                copy.copy_(piece.array)
        self._client.publish(version, wait_for_group=True, supersede=supersede, timeout=timeout,
                             stream=_stream_of(self._copies))  # fmt: skip

    def close(self) -> None:
        """Leaves the hub. More calls do nothing."""
        client, self._client = self._client, None
        if client is not None:
            client.leave()
        self._copies = []

    def _end(self) -> None:
        self.close()

    def _pieces(self) -> Iterator[_Piece]:
        buffers = {_storage(buffer) for buffer in self._module.buffers()}
        for key, given in walk(self._module, self._place):
            name = self._rename(key)
            if name is None:
                continue
            array = given.array if isinstance(given, Sliced) else given
            check_values(key, array)
            cast = array.is_floating_point() and _storage(array) not in buffers
            wanted = self._dtype if cast and self._dtype is not None else array.dtype
            yield _Piece(name, given, wanted)


def _storage(tensor: torch.Tensor) -> int:
    local = tensor.to_local() if hasattr(tensor, "to_local") else tensor
    return int(local.untyped_storage().data_ptr())


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
