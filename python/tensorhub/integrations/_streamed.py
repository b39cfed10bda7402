# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Publishing from a trainer that hands its tensors over one by one, whole, as a generator.

What is there when the first tensor comes says nothing of those behind it. So the first publish
makes memory as it goes, in arenas. Later ones fill the same memory, which stays registered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import torch

import tensorhub
from tensorhub._client import Client
from tensorhub._copies import memory_for, nbytes_of, patterns, published_dtype
from tensorhub._errors import InvalidArgumentError
from tensorhub._modules import check_values
from tensorhub._padding import padded
from tensorhub._taken import Taken, wait_taken
from tensorhub.integrations._names import first_names
from tensorhub.integrations._settings import Settings

__all__ = ["Named", "StreamPublisher", "dtype_of"]

Named = Iterable[tuple[str, torch.Tensor]]


class StreamPublisher:
    """A trainer's copy of its model in host memory. One thread uses it."""

    def __init__(
        self,
        settings: Settings,
        *,
        arena: int = 1 << 28,
        dtype: torch.dtype | None = None,
        keep: Sequence[str] = (),
    ) -> None:
        """``arena``: bytes of each piece of memory. ``dtype``: what floating point is cast to, but
        for float8, what engines have in float32, and what a pattern of ``keep`` names."""
        self._settings = settings
        self._arena = arena
        self._dtype, self._keep_names = dtype, patterns(keep)
        self._client: Client | None = None
        self._copies: dict[str, torch.Tensor] = {}
        self._registered = False
        self._newest = -1
        self._room = torch.empty(0, dtype=torch.uint8)

    @property
    def nbytes(self) -> int:
        """What one version has."""
        return sum(copy.nbytes for copy in self._copies.values())

    def newest(self) -> int:
        """The highest number that this model had at the hub, -1 if it had none."""
        listed = max((one.version for one in self._connected().list()), default=-1)
        self._newest = max(self._newest, listed)
        return self._newest

    def publish_next(self, weights: Named) -> int:
        """Publishes the tensors under the next free number, and returns that."""
        return self._publish(weights, lambda: self.newest() + 1)

    def publish(self, number: int, weights: Named) -> None:
        """Copies the tensors and publishes them as ``number``.

        ``weights`` is always used up, since other ranks of the trainer take part in each of its
        steps. InvalidArgumentError: the names or shapes are not those of the first publish, or a
        tensor has no memory (meta, freed). After an error nothing is published; the next publish
        mends it.
        """
        self._publish(weights, lambda: number)

    def wait_taken(self, version: int, *, share: float = 0.9, timeout: float = 600.0) -> Taken:
        """As ``SlicePublisher.wait_taken``."""
        return wait_taken(self._connected(), version, share, timeout)

    def close(self) -> None:
        """Leaves the hub. A publish after it connects anew."""
        client, self._client = self._client, None
        self._copies, self._registered = {}, False
        self._room = torch.empty(0, dtype=torch.uint8)
        if client is not None:
            client.leave()

    def _publish(self, weights: Named, choose: Callable[[], int]) -> int:
        rest = iter(weights)
        try:
            client = self._connected()
            number = choose()
            client.unpublish()
            self._fill(client, rest)
            client.publish(number)
            self._newest = max(self._newest, number)
            return number
        finally:
            for _ in rest:
                pass

    def _connected(self) -> Client:
        if self._client is None:
            here = self._settings
            self._client = tensorhub.connect(
                here.server,
                here.model,
                here.group,
                location=here.location,
                data_address=here.data_address,
                spot=here.spot,
            )
        return self._client

    def _fill(self, client: Client, weights: Iterator[tuple[str, torch.Tensor]]) -> None:
        if not self._registered:
            self._copies = {}  # of an attempt that failed
        seen: set[str] = set()
        wrong: list[str] = []
        with torch.no_grad():
            for name, tensor in weights:
                if name in seen or not self._keep(client, name, tensor.detach()):
                    wrong.append(name)
                seen.add(name)
        missing = [name for name in self._copies if name not in seen]
        if wrong or missing:
            raise InvalidArgumentError(
                "the trainer's tensors are not those of its first publish: twice, unknown or of "
                f"another shape {first_names(wrong)}; missing {first_names(missing)}; start the "
                "trainer again for another model"
            )
        if not self._registered:
            client.register(self._copies)
            self._registered = True

    def _keep(self, client: Client, name: str, tensor: torch.Tensor) -> bool:
        """Copies one tensor; false if there is no such place for it."""
        check_values(name, tensor)
        dtype = published_dtype(name, tensor, self._dtype, self._keep_names)
        copy = self._copies.get(name)
        if copy is None:
            if self._registered:
                return False
            copy = self._copies[name] = self._make(client, dtype, tensor.shape)
        if copy.shape != tensor.shape or copy.dtype != dtype:
            return False
        copy.copy_(tensor)
        return True

    def _make(self, client: Client, dtype: torch.dtype, shape: torch.Size) -> torch.Tensor:
        nbytes = nbytes_of((dtype, shape))
        if nbytes == 0:
            return torch.empty(shape, dtype=dtype)
        room = padded(nbytes)
        if self._room.numel() < room:
            self._room = memory_for(client, max(room, self._arena))
        piece, self._room = self._room[:nbytes], self._room[room:]
        return piece.view(dtype).view(shape)


def dtype_of(name: str | None) -> torch.dtype | None:
    """Torch's dtype of that name. InvalidArgumentError: there is none."""
    if name is None:
        return None
    found = getattr(torch, name.removeprefix("torch."), None)
    if not isinstance(found, torch.dtype):
        raise InvalidArgumentError(f"dtype is {name!r}; give one of torch's, such as 'bfloat16'")
    return found
