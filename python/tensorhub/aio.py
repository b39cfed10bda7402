# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""The same for asyncio: ``client = await tensorhub.aio.connect(...)``.

Every method of :class:`tensorhub.Client` that waits is awaited here. Cancelling the task ends the
call as Ctrl-C does, and the client goes on. A call takes no thread of the event loop's executor.
"""

from __future__ import annotations

import asyncio
import os
from types import TracebackType
from typing import Any

from tensorhub import _client, _native
from tensorhub._ending import Single
from tensorhub._errors import AlreadyExistsError, FailedPreconditionError, raise_for
from tensorhub._programs import Server, address_of
from tensorhub._progress import Progress, reporter
from tensorhub._types import FetchResult, Selector, VersionInfo
from tensorhub._waiting import in_main_thread, look, report

__all__ = ["Client", "connect"]

_PIECE_S = 0.1  # between two reports of progress, or looks at the main thread


async def _finish(
    call: _native.Call, progress: Progress | None = None, *, in_order: bool = False
) -> Any:
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[None] = loop.create_future()
    descriptor = call.fileno()
    loop.add_reader(descriptor, _set, ended)
    idle = progress is None and (in_order or in_main_thread())
    try:
        while not ended.done():
            await asyncio.wait([ended], timeout=None if idle else _PIECE_S)
            report(call, progress)
            if not (in_order or ended.done()):
                look()
    except BaseException:
        call.cancel()
        raise
    finally:
        loop.remove_reader(descriptor)
    number, message, value = call.result()
    raise_for(number, message)
    return value


def _set(ended: asyncio.Future[None]) -> None:
    if not ended.done():
        ended.set_result(None)


async def connect(
    server: str | Server,
    model: str,
    group: str,
    rank: int = 0,
    world_size: int = 1,
    location: str = "",
    *,
    data_address: str = "",
    spot: bool = False,
    connect_timeout: float = 5.0,
    host_copy_bytes: int | None = None,
    attachment: bytes = b"",
    digests: str = "auto",
    gpu_through_host: bool = False,
    tls_ca: str | os.PathLike[str] = "",
    tls_cert: str | os.PathLike[str] = "",
    tls_key: str | os.PathLike[str] = "",
    token_file: str | os.PathLike[str] = "",
    http: str = "",
    trace: str | os.PathLike[str] = "",
) -> Client:
    """As :func:`tensorhub.connect`."""
    arguments = {**locals(), "server": address_of(server)}
    try:
        native = await _finish(_client.connect_call(**arguments))
    except AlreadyExistsError as error:
        raise _client.taken(error, arguments) from None
    return Client(_client.Client._of(native, arguments))


class Client(Single):
    """As :class:`tensorhub.Client`, whose docstrings say what each method does and raises."""

    _anew = "await tensorhub.aio.connect"

    def __init__(self, client: _client.Client) -> None:
        """Not for users: ``tensorhub.aio.connect`` makes clients."""
        self.sync = client
        """The same client for code that does not await."""

    def register(self, tensors: Any) -> None:
        self.sync.register(tensors)

    async def publish(
        self,
        version: int,
        *,
        wait_for_group: bool = False,
        supersede: bool = False,
        timeout: float = 60.0,
        stream: Any = None,
        event: Any = None,
    ) -> None:
        what = self.sync._to_publish(version, wait_for_group, supersede, timeout, stream, event)
        call = self.sync._native.publish(what)
        await _finish(call)

    async def unpublish(self, *, drain_timeout: float = 10.0, force: bool = False) -> None:
        await _finish(self.sync._unpublish_call(drain_timeout, force), in_order=True)

    async def fetch(
        self,
        selector: Selector,
        *,
        timeout: float = 600.0,
        progress: Progress | bool | None = None,
        stream: Any = None,
        waits_out_outages: bool = True,
        partial: bool = False,
        traceparent: str = "",
    ) -> FetchResult:
        report, close = reporter(progress)
        try:
            call = self.sync._fetch_call(
                selector, timeout, stream, waits_out_outages, partial, traceparent
            )
            value = await _finish(call, report)
        except FailedPreconditionError as error:
            raise self.sync._explained(error, selector) from None
        finally:
            close()
        return self.sync._fetched(value)

    async def wait(self, selector: Selector, timeout: float, *, max_lag: int = 0) -> int:
        value: int = await _finish(self.sync._wait_call(selector, timeout, max_lag))
        return value

    async def list(self) -> tuple[VersionInfo, ...]:
        return self.sync._listed(await _finish(self.sync._list_call()))

    def held(self) -> int | None:
        return self.sync.held()

    def health(self) -> Exception | None:
        return self.sync.health()

    async def leave(self, *, drain_timeout: float = 10.0) -> None:
        await _finish(self.sync._leave_call(drain_timeout), in_order=True)
        self.sync._left()

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.leave(drain_timeout=10.0 if error is None else 1.0)
