# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Publishing whole tensors from a trainer that holds pieces of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import distributed

from tensorhub._client import Client, connect
from tensorhub._copies import Kind, copies_for, patterns, published_dtype
from tensorhub._ending import Ending
from tensorhub._errors import Error, FailedPreconditionError, InvalidArgumentError, with_code
from tensorhub._layouts import with_aliases
from tensorhub._modules import OTHER_TENSORS, check_values, rank_and_ranks
from tensorhub._programs import Server
from tensorhub._taken import Taken, taken, wait_taken
from tensorhub._wrappers import unwrapped

__all__ = ["WholePublisher"]


@dataclass(frozen=True)
class _Entry:
    name: str
    key: str
    dtype: torch.dtype
    shape: tuple[int, ...]

    @property
    def kind(self) -> Kind:
        return self.dtype, self.shape


class WholePublisher(Ending):
    """Publishes a module's tensors whole, from one rank, whatever pieces the ranks hold.

    For readers that take a Hugging Face checkpoint's tensors, such as the engines of
    ``tensorhub.integrations``. Every rank of the process group makes one and makes the same calls::

        publisher = tensorhub.torch.WholePublisher(model, "hub:7070", "actor", dtype=torch.bfloat16)
        for step in range(1, steps + 1):
            train(model)
            publisher.publish(step)

    Rank 0 has a copy of the model in host memory, made once, which peers read. A DTensor is
    gathered by itself, so beside the copy each rank needs memory for one whole tensor. The module
    may change as soon as ``publish`` has returned.
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
        keep: Sequence[str] = (),
        process_group: Any = None,
        **options: Any,
    ) -> None:
        """Collective. Rank 0 connects as ``tensorhub.connect(server, model, group, **options)``.

        ``dtype``: what parameters of floating point are cast to. What they are stay buffers,
        float8, and what engines have in float32 (biases of routers, scales); and what ``keep``
        names, patterns such as ``"*.lm_head.weight"``.
        ``rename``: from the module's name of a tensor to the published one; None leaves it out.
        ``process_group``: the trainer's ranks; all of them by itself.
        InvalidArgumentError names a tensor without memory (meta, freed), or one name for two
        tensors, on all ranks where it is so on one.
        """
        self._module, self._dtype, self._keep = module, dtype, patterns(keep)
        self._rename = rename or (lambda name: name)
        self._process_group = process_group
        rank, self._ranks = rank_and_ranks(process_group)
        self._first = rank == 0
        self._entries: list[_Entry] = []
        self._everywhere(self._find, on_all=True)
        self._client: Client | None = None
        self._copies: dict[str, torch.Tensor] = {}
        self._everywhere(lambda: self._join(server, model, group, options))

    def publish(
        self,
        version: int,
        *,
        supersede: bool = False,
        timeout: float = 60.0,
        drain_timeout: float = 10.0,
    ) -> None:
        """Collective: copies the module's present values and publishes them as ``version``.

        Errors as ``Client.unpublish`` and ``Client.publish``, the same on all ranks. After one the
        last version may be published no more; call it again. FailedPreconditionError: the module
        has other tensors now. InvalidArgumentError names a tensor whose memory is freed; nothing is
        touched then.
        """
        self._everywhere(self._check, on_all=True)
        self._everywhere(lambda: self._published.unpublish(drain_timeout=drain_timeout))
        self._gather()
        self._everywhere(
            lambda: self._published.publish(version, supersede=supersede, timeout=timeout)
        )

    def taken(self, version: int) -> Taken:
        """Which engines that follow have it in their models, stage it, or are behind. Of the first
        rank; not collective."""
        return taken(self._published, version)

    def wait_taken(self, version: int, *, share: float = 0.9, timeout: float = 600.0) -> None:
        """Collective: returns when that part of the engines that follow have it, or a newer one.

        An engine that joins meanwhile counts at once, and one that goes counts no more.
        DeadlineExceededError names those that lack it.
        """
        self._everywhere(lambda: wait_taken(self._published, version, share, timeout))

    def close(self) -> None:
        """Leaves the hub. More calls do nothing. Not collective."""
        client, self._client = self._client, None
        if client is not None:
            client.leave()
        self._copies = {}

    def _end(self) -> None:
        self.close()

    @property
    def _published(self) -> Client:
        if self._client is None:
            raise InvalidArgumentError("this publisher is closed; make a new one")
        return self._client

    def _find(self) -> None:
        self._entries = _entries(self._module, self._dtype, self._rename, self._keep)

    def _check(self) -> None:
        """Every rank does so before one of them changes anything."""
        if _entries(self._module, self._dtype, self._rename, self._keep) != self._entries:
            raise FailedPreconditionError(OTHER_TENSORS)

    def _join(self, server: str | Server, model: str, group: str, options: dict[str, Any]) -> None:
        self._client = connect(server, model, group, **options)
        try:
            copies = copies_for(self._client, [entry.kind for entry in self._entries])
            names = (entry.name for entry in self._entries)
            self._copies = dict(zip(names, copies, strict=True))
            self._client.register(with_aliases(self._copies, _aliases(self._module, self._rename)))
        except BaseException:
            self.close()
            raise

    def _gather(self) -> None:
        """Of one tensor after the other: all ranks take part, the first one keeps it."""
        state = self._module.state_dict(keep_vars=True)
        with torch.no_grad():
            for entry in self._entries:
                tensor = state[entry.key].detach().to(entry.dtype)
                whole = tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor
                if self._first:
                    self._copies[entry.name].copy_(whole)

    def _everywhere(self, step: Callable[[], object], on_all: bool = False) -> None:
        """The first rank does it, or all; if it fails, every rank raises; else ranks would wait."""
        problem: Exception | None = None
        if self._first or on_all:
            try:
                step()
            except Exception as error:
                problem = error
        elsewhere = self._first_of(problem, on_all) if self._ranks > 1 else None
        if problem is not None:
            raise problem
        if elsewhere is not None:
            raise with_code(*elsewhere) or Error(elsewhere[1])

    def _first_of(self, problem: Exception | None, on_all: bool) -> tuple[str, str] | None:
        """Collective: the first rank's problem, or the first one that any rank has."""
        mine = (getattr(problem, "code", "UNKNOWN"), str(problem)) if problem else None
        said: list[tuple[str, str] | None] = [mine]
        if on_all:
            said *= self._ranks
            distributed.all_gather_object(said, mine, group=self._process_group)
        else:
            distributed.broadcast_object_list(said, group=self._process_group, group_src=0)
        return next((one for one in said if one is not None), None)


def _entries(
    module: torch.nn.Module,
    dtype: torch.dtype | None,
    rename: Callable[[str], str | None],
    keep: Sequence[str],
) -> list[_Entry]:
    found: dict[str, _Entry] = {}
    buffers = {id(buffer) for buffer in module.buffers()}
    for key, tensor in _tensors(module):
        name = rename(unwrapped(module, key))
        if name is None:
            continue
        if name in found:
            raise InvalidArgumentError(f"{found[name].key} and {key} both become {name!r}")
        check_values(key, tensor)
        wanted = published_dtype(name, tensor, None if id(tensor) in buffers else dtype, keep)
        found[name] = _Entry(name, key, wanted, tuple(tensor.shape))
    return list(found.values())


def _aliases(
    module: torch.nn.Module, rename: Callable[[str], str | None]
) -> Iterator[tuple[str, str]]:
    """The other names of what several names share, and the first of them, as published."""
    first: dict[int, str] = {}
    for key, tensor in module.state_dict(keep_vars=True).items():
        if not isinstance(tensor, torch.Tensor):
            continue
        shared = first.setdefault(id(tensor), key)
        name, alias = rename(unwrapped(module, shared)), rename(unwrapped(module, key))
        if name and alias and name != alias:
            yield alias, name


def _tensors(module: torch.nn.Module) -> Iterator[tuple[str, torch.Tensor]]:
    """What the module's state has; what several names share, under the first of them."""
    seen: set[int] = set()
    for key, tensor in module.state_dict(keep_vars=True).items():
        if not isinstance(tensor, torch.Tensor) or id(tensor) in seen:
            continue
        seen.add(id(tensor))
        yield key, tensor
