# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Host memory for a whole version: one block, carved into tensors.

The ranks of one host may share it: its maker hands out a ticket, by which others of the same user
map it. Nothing of it has a name in the file system, so it goes with its last process.
"""

from __future__ import annotations

import mmap
import os
import secrets
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from tensorhub._client import Client
from tensorhub._copies import carved, memory_for, room_for
from tensorhub._errors import FailedPreconditionError, ResourceExhaustedError
from tensorhub._layouts import TensorSpec
from tensorhub.torch import storage_of

__all__ = ["Block", "Ticket", "carve"]


@dataclass(frozen=True)
class Ticket:
    """Says where a shared block is; means something on its own host only."""

    pid: int
    descriptor: int
    nbytes: int
    name: str


class Block:
    """Bytes that live as long as this object or a tensor made of it."""

    def __init__(
        self, flat: torch.Tensor, descriptor: int = -1, ticket: Ticket | None = None
    ) -> None:
        self.flat = flat
        self.ticket = ticket
        self._descriptor = descriptor

    def __del__(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)

    @classmethod
    def private(cls, client: Client, nbytes: int) -> Block:
        """Memory of this process, which peers on the host read without its help if possible."""
        return cls(memory_for(client, nbytes))

    @classmethod
    def shared(cls, nbytes: int) -> Block:
        """Memory that other processes of this host can map by the block's ticket."""
        name = f"tensorhub-{secrets.token_hex(8)}"
        descriptor = os.memfd_create(name)
        try:
            os.ftruncate(descriptor, max(nbytes, 1))
            flat = _mapped(descriptor, max(nbytes, 1), writable=True)
        except OSError as error:
            os.close(descriptor)
            raise ResourceExhaustedError(f"{nbytes} bytes of host memory: {error}") from None
        return cls(flat, descriptor, Ticket(os.getpid(), descriptor, max(nbytes, 1), name))

    @classmethod
    def of(cls, ticket: Ticket) -> Block:
        """Another process's block, to be read. FailedPreconditionError: it is out of reach."""
        path = f"/proc/{ticket.pid}/fd/{ticket.descriptor}"
        try:
            # Process numbers mean another process in another container, so the name decides.
            if ticket.name not in os.readlink(path):
                raise OSError(f"{path} is not {ticket.name}")
            descriptor = os.open(path, os.O_RDONLY)
        except OSError as error:
            raise FailedPreconditionError(
                f"the host memory of another rank is out of reach ({error}); run the ranks of a "
                "host as one user in one container, or set TENSORHUB_SHARE=0"
            ) from None
        try:
            return cls(_mapped(descriptor, ticket.nbytes, writable=False))
        finally:
            os.close(descriptor)


def _mapped(descriptor: int, nbytes: int, *, writable: bool) -> torch.Tensor:
    protection = mmap.PROT_READ | (mmap.PROT_WRITE if writable else 0)
    view = mmap.mmap(descriptor, nbytes, mmap.MAP_SHARED, protection)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch says that what is read only must not be written
        return torch.frombuffer(view, dtype=torch.uint8)


def carve(specs: Sequence[TensorSpec]) -> tuple[int, Any]:
    """How many bytes the tensors take, and what makes them of a flat tensor of so many."""
    kinds = [storage_of(spec) for spec in specs]

    def make(flat: torch.Tensor) -> dict[str, torch.Tensor]:
        names = (spec.name for spec in specs)
        return dict(zip(names, carved(flat, kinds), strict=True))

    return room_for(kinds), make
