# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Whether what is held is what was published: read once more, and compared byte by byte."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

from tensorhub import _client
from tensorhub._arguments import milliseconds
from tensorhub._errors import DataLossError, FailedPreconditionError, raise_for
from tensorhub._layouts import is_alias, layouts_of
from tensorhub._padding import padded
from tensorhub._tensors import HOST, Described
from tensorhub._types import version

if TYPE_CHECKING:
    from tensorhub._client import Client

__all__ = ["Receipt", "verify", "verify_client"]

_LISTED_MAX = 10


@dataclass(frozen=True)
class Receipt:
    """What a client, or one rank of an engine, was found to hold."""

    version: int
    receipt: str
    """16 bytes in hexadecimal over what was published, its layouts and its bytes: equal wherever
    the version is held, however it is cut there. Empty where the publisher makes no digests."""
    tensors: int
    """How many tensors, or slices of some, were compared."""
    bytes: int
    unchecked: tuple[str, ...] = ()
    """Published names that the engine keeps in another form, so that bytes say nothing; and what
    it has that nothing is published for."""


@overload
def verify(held: Client, timeout: float = ...) -> Receipt: ...
@overload
def verify(held: Any, timeout: float = ...) -> list[Receipt]: ...
def verify(held: Any, timeout: float = 600.0) -> Receipt | list[Receipt]:
    """Compares what is held with what was published; DataLossError names tensors that differ.

    ``held`` is a client or verl's checkpoint engine in a rollout rank, of which it returns a
    :class:`Receipt`, or an engine with a plug-in of ``tensorhub.integrations`` (vLLM's ``LLM``,
    SGLang's ``Engine``), of which it returns a list of them, one for each rank. The version is
    fetched once more, into host memory beside what is held, with all digests checked. Where the
    publisher cut it in another way, it comes from who holds what was published. So it takes a
    fetch's time, and memory for one copy of what is held. All ranks of a group call it together.
    Nothing of what is held may change meanwhile.

    DataLossError: what is held is something else than was published. Unpublish, and fetch again.
    FailedPreconditionError: nothing is held. Errors of the fetch as :meth:`Client.fetch`.
    """
    if isinstance(held, _client.Client):
        return verify_client(held, timeout)
    # SGLang's engine has calls of vLLM's name too, which mean something else.
    of_sglang = type(held).__module__.startswith("sglang.")
    if of_sglang and hasattr(held, "tokenizer_manager"):
        from tensorhub.integrations import sglang

        return sglang.verify(held, timeout)
    if type(held).__module__ == "tensorhub.integrations.verl":
        receipt: Receipt = held.verify(timeout)
        return receipt
    if callable(getattr(held, "collective_rpc", None)) and not of_sglang:
        from tensorhub.integrations import vllm

        return vllm.verify(held, timeout)
    raise TypeError(
        "verify takes a client, or an engine of vLLM, SGLang or verl with TensorHub's plug-in, not "
        f"{type(held).__name__}"
    )


def verify_client(client: Client, timeout: float) -> Receipt:
    """Of what the client has registered and holds."""
    number, registration = client.held(), client._registration
    if number is None or registration is None:
        raise FailedPreconditionError(
            "this client holds no whole version to verify; fetch or publish one first"
        )
    registration.check_there()
    options = {**client._joined, "spot": True, "digests": "on", "attachment": b""}
    options["group"] = f"{options['group']}-verify"
    with _client.connect(**options) as reader:
        memory = reader.allocate(_room(registration.described))
        begin = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        copies = list(_copies(registration.described, begin))
        wanted = copies if _as_published(client, number) else _cut_otherwise(copies)
        raise_for(*reader._native.register(wanted))
        call = reader._native.fetch(
            *version(number).native, milliseconds("timeout", timeout), None, True, True
        )
        identity = _client.finish(call)["identity"]
        different = [
            mine[0]
            for mine, copy, kept in zip(
                registration.described, copies, registration.kept, strict=True
            )
            if not _equal(mine, copy, kept)
        ]
    if different:
        rest = len(different) - _LISTED_MAX
        more = f" and {rest} more" if rest > 0 else ""
        raise DataLossError(
            f"rank {client.rank} does not hold what was published as version {number}: "
            f"{', '.join(different[:_LISTED_MAX])}{more} differ; somebody wrote into the "
            "registered memory: unpublish, and fetch the version again"
        )
    size = sum(one[2] for one in registration.described)
    count = sum(not is_alias(one[0], one[4]) for one in registration.described)
    return Receipt(number, identity.hex() if identity else "", count, size)


def _as_published(client: Client, number: int) -> bool:
    """Whether this rank has what the publisher's rank of its number has.

    Then digests are the publisher's, whoever the bytes come from.
    """
    described = client._registration.described if client._registration is not None else []
    _, ranks = layouts_of(client.server, client.model, number, client._security)
    mine = {(name, dtype, tuple(shape), whole and tuple(whole), tuple(offset))
            for name, _, _, dtype, shape, _, whole, offset in described
            if not is_alias(name, shape)}  # fmt: skip
    theirs = ranks[client.rank] if client.rank < len(ranks) else []
    return len(ranks) == client._joined["world_size"] and mine == {
        (one.name, one.dtype, one.shape, one.global_shape, one.offset) for one in theirs
    }


def _cut_otherwise(described: list[Described]) -> list[Described]:
    """The same bytes, with one tensor in two slices.

    So they come from who holds what was published, and not from somebody whose cut is this one: its
    digests would be of what it has, and it may be the one that is verified.
    """
    for at, (name, begin, nbytes, dtype, shape, device, whole, offset) in enumerate(described):
        if not shape or shape[0] < 2 or nbytes % shape[0]:
            continue
        rows, size = shape[0] // 2, nbytes // shape[0]
        start = offset or (0,) * len(shape)
        both = [
            (name, begin + first * size, count * size, dtype, (count, *shape[1:]), device,
             whole or shape, (start[0] + first, *start[1:]))
            for first, count in ((0, rows), (rows, shape[0] - rows))
        ]  # fmt: skip
        return [*described[:at], *both, *described[at + 1 :]]
    return described


def _room(described: list[Described]) -> int:
    return max(sum(padded(one[2]) for one in described), 1)


def _copies(described: list[Described], begin: int) -> Iterator[Described]:
    """The same tensors, one behind the other in host memory from this address on."""
    for name, _, nbytes, dtype, shape, _, whole, offset in described:
        yield name, begin, nbytes, dtype, shape, HOST, whole, offset
        begin += padded(nbytes)


def _equal(mine: Described, copy: Described, kept: Any) -> bool:
    if mine[5] != HOST:
        kept = kept.cpu()  # a tensor of torch
        mine = (*mine[:1], kept.data_ptr(), *mine[2:])
    compare = ctypes.CDLL(None).memcmp
    compare.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
    return bool(compare(mine[1], copy[1], mine[2]) == 0)
