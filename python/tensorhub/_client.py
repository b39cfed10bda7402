# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""The client: a worker's place in the hub, and the memory that it gives to peers and fills."""

from __future__ import annotations

import atexit
import linecache
import os
import sys
import weakref
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any

from tensorhub import _logging, _native
from tensorhub._arguments import flag, milliseconds, text, whole_number
from tensorhub._ending import Single
from tensorhub._errors import (
    AlreadyExistsError,
    Error,
    FailedPreconditionError,
    InvalidArgumentError,
    raise_for,
    to_error,
)
from tensorhub._layouts import names_in
from tensorhub._programs import Server, address_of
from tensorhub._progress import Progress, reporter
from tensorhub._tensors import Registration, read_tensors
from tensorhub._types import FetchResult, Replica, Selector, VersionInfo
from tensorhub._waiting import finish, look

__all__ = ["Client", "check_process", "connect", "connect_call", "finish", "taken"]

_RANKS_MAX = 2**32 - 1
_DIGESTS = ("auto", "on", "off")
_open: weakref.WeakSet[Client] = weakref.WeakSet()
_first_process: int | None = None


def check_process() -> None:
    """FailedPreconditionError in a process that was forked after the first connect."""
    if _first_process is not None and _first_process != os.getpid():
        raise FailedPreconditionError(
            "a TensorHub client was connected in the process that this one was forked from, and no "
            "client works in a fork; start workers by multiprocessing's 'spawn' (DataLoader: "
            "multiprocessing_context='spawn'), or fork before the first connect"
        )


def connect(
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
    """Joins a model's workers: one rank of a group that together holds one copy of the model.

    ``server`` is HOST:PORT, or several with commas, where the hub has several, or what
    ``tensorhub.serve()`` returned. IPv6 stands in brackets: ``[::1]:7070``. ``location`` is
    region/datacenter/rack/host/device, of which trailing parts may be left out; sources are chosen
    nearest first. Where it names no host, this one is known by its kernel's boot id.
    ``data_address``: by which of this host's networks bytes travel, a device ("eth0"), an address
    or a subnet ("10.0.0.0/8"); by itself all that lead out of the host.
    ``spot``: this worker may vanish at any time, versions are not entrusted to it alone.
    ``connect_timeout``: how many seconds an unreachable server, or a rank that is still taken, is
    tried for. ``host_copy_bytes`` bounds copies in host memory of what this worker is the last to
    hold (0: none; None: what the host has). ``attachment`` travels with what is published.
    ``digests``: 'auto', 'on' or 'off'. ``gpu_through_host``: take tensors on a GPU also where UCX
    cannot read them.
    ``tls_ca``, ``tls_cert``, ``tls_key``: files in PEM, the server's authorities and this client's
    own certificate with its key; any of them makes the connection TLS. ``token_file``: a file with
    a token, by which the server knows this client. By themselves as ``TENSORHUB_TLS_CA`` and so on
    say. They are read again when they change.
    ``http``: HOST:PORT, or HOST:PORT-PORT for the first of those that is free, where this process
    shows its metrics (``/metrics``) and whether its workers answer (``/livez``), in plain HTTP and
    to whoever asks; all clients that name the same share it. ``trace``: a folder that is there,
    into which this process writes a file of what its clients fetch and serve, for Perfetto and
    ``tensorhubctl trace --workers``. By themselves as ``TENSORHUB_WORKER_HTTP`` and
    ``TENSORHUB_TRACE`` say; where those cannot be had, a warning is logged and there is none.

    UnauthenticatedError: the server wants a certificate or a token, or does not know this one.
    PermissionDeniedError: it may not read the model.
    UnavailableError: nobody answered, or TLS failed, and why; or no port of ``http`` can be had.
    InvalidArgumentError: what is given is wrong, as an ``http`` without a port.
    AlreadyExistsError: another live worker has the rank; where that is this process's own client,
    it says where that was connected.
    NotFoundError: this host has no such ``data_address``.
    FailedPreconditionError: in a process that was forked after a connect; or ``trace`` cannot be
    written into.
    """
    arguments = {**locals(), "server": address_of(server)}
    try:
        return Client._of(finish(connect_call(**arguments)), arguments)
    except AlreadyExistsError as error:
        raise taken(error, arguments) from None


def connect_call(
    *,
    server: str,
    model: str,
    group: str,
    rank: int,
    world_size: int,
    location: str,
    data_address: str,
    spot: bool,
    connect_timeout: float,
    host_copy_bytes: int | None,
    attachment: bytes,
    digests: str,
    gpu_through_host: bool,
    tls_ca: str | os.PathLike[str],
    tls_cert: str | os.PathLike[str],
    tls_key: str | os.PathLike[str],
    token_file: str | os.PathLike[str],
    http: str,
    trace: str | os.PathLike[str],
) -> _native.Call:
    """The call that connects, checked and begun."""
    global _first_process
    if not isinstance(attachment, bytes):
        raise TypeError(f"attachment must be bytes, not {type(attachment).__name__}")
    if digests not in _DIGESTS:
        raise ValueError(f"digests is {digests!r}: give 'auto', 'on' or 'off'")
    checked = (
        text("server", server),
        text("model", model),
        text("group", group),
        whole_number("rank", rank, _RANKS_MAX),
        whole_number("world_size", world_size, _RANKS_MAX),
        text("location", location),
        text("data_address", data_address),
        flag("spot", spot),
        milliseconds("connect_timeout", connect_timeout),
        None if host_copy_bytes is None else whole_number("host_copy_bytes", host_copy_bytes),
        attachment,
        _DIGESTS.index(digests),
        flag("gpu_through_host", gpu_through_host),
        _security(locals()),
        text("http", http),
        text("trace", os.fspath(trace)),
    )
    check_process()
    first = _first_of(model, group, rank)
    if first is not None and first.server == server and first._native.health()[0] == 0:
        raise _second(first)
    _first_process = os.getpid()
    _logging.start()
    return _native.connect(*checked)


def taken(error: Error, arguments: Mapping[str, Any]) -> Error:
    """The error of a rank that is taken, also where this process itself is who has it."""
    first = _first_of(arguments["model"], arguments["group"], arguments["rank"])
    return error if first is None else _second(first)


def _first_of(model: str, group: str, rank: int) -> Client | None:
    """This process's client that has the rank."""
    for client in list(_open):
        place = client.model, client._joined.get("group"), client.rank
        if client._process == os.getpid() and place == (model, group, rank):
            return client
    return None


def _second(first: Client) -> Error:
    return AlreadyExistsError(
        f"this process has rank {first.rank} of {first.model}/{first._joined['group']} already, by "
        f"a client that was connected at {first._where}; use that one, or call its leave() first"
    )


def _caller() -> str:
    """Where the package was called, with the line itself: a notebook's has no other name."""
    frame = sys._getframe()
    own = f"{__package__}."
    while frame.f_back is not None and f"{frame.f_globals.get('__name__')}.".startswith(own):
        frame = frame.f_back
    file, line = frame.f_code.co_filename, frame.f_lineno
    source = linecache.getline(file, line).strip()
    return f"{file}:{line}" + (f" ({source[:60]})" if source else "")


def _security(arguments: Mapping[str, Any]) -> tuple[str, str, str, str]:
    """The files of TLS and of the token, as the native part takes them."""
    names = ("tls_ca", "tls_cert", "tls_key", "token_file")
    ca, cert, key, token = (text(name, os.fspath(arguments[name])) for name in names)
    return ca, cert, key, token


class Client(Single):
    """One rank of one group. Made by :func:`tensorhub.connect`; ends with :meth:`leave`.

    Between ``publish`` (or a ``fetch``) and the return of ``unpublish`` the registered bytes must
    not change: peers read them. Whatever an earlier call returned, call ``unpublish`` before you
    write into them; it returns at once if nothing is held.

    Any thread may call; calls that change something take turns. What waits lets other threads run
    and hears signals: Ctrl-C ends it, and the client goes on. All errors are
    :class:`tensorhub.Error`; timeouts are seconds. When the main thread ends, waits of other
    threads end by CancelledError. A client is neither copied nor pickled.
    """

    _anew = "call tensorhub.connect"

    def __init__(self, native: _native.Client, server: str, model: str, rank: int) -> None:
        """Not for users: ``tensorhub.connect`` makes clients."""
        self._native = native
        self.rank = rank
        self._process = os.getpid()
        self._registration: Registration | None = None
        self.server = server
        self.model = model
        self._security = ("", "", "", "")
        self._joined: Mapping[str, Any] = {}
        self._where = _caller()
        _open.add(self)

    @classmethod
    def _of(cls, native: _native.Client, arguments: Mapping[str, Any]) -> Client:
        client = cls(native, arguments["server"], arguments["model"], int(arguments["rank"]))
        client._security = _security(arguments)
        client._joined = dict(arguments)
        return client

    def register(self, tensors: Any) -> None:
        """Names this rank's memory, once; addresses stay fixed afterwards.

        ``tensors`` is a dict of names to tensors (or pairs): of torch (host or CUDA), NumPy, or
        whatever has DLPack, the buffer protocol or ``__cuda_array_interface__``; or
        ``tensorhub.sliced(...)`` of one, or a list of those: several pieces of one tensor, as fused
        weights are held. All must be contiguous and not overlap. They are kept alive as long as
        peers may read them.

        InvalidArgumentError and TypeError name the tensor and what is wrong with it; docs/python.md
        lists what is refused. FailedPreconditionError: the second time.
        """
        self._check()
        registration = read_tensors(tensors)
        raise_for(*self._native.register(registration.described))
        self._registration = registration

    def publish(
        self,
        version: int,
        *,
        wait_for_group: bool = False,
        supersede: bool = False,
        timeout: float = 60.0,
        stream: Any = None,
        event: Any = None,
    ) -> None:
        """Makes the registered bytes readable as ``version``. No byte moves.

        Returns when this rank is recorded; with ``wait_for_group`` when all ranks of the group are.
        ``supersede`` is for a trainer that went back to a checkpoint: with this version a new term
        of the model begins, once all ranks have published it. What was published before under this
        number or above is superseded then, though others hold it; their
        ``newer_than(client.held())`` means this term.
        ``stream`` (a torch or CuPy stream, or its handle): what it was given so far is waited for,
        within ``timeout`` seconds; ``event`` likewise. FailedPreconditionError: nothing is
        registered, or what is has been replaced or freed since; another version is still
        published; the version is below the latest, or
        somebody else has begun a new term, and ``supersede`` is not set. AlreadyExistsError: the
        version exists with another content.
        """
        what = self._to_publish(version, wait_for_group, supersede, timeout, stream, event)
        if stream is None and event is None:
            raise_for(*self._native.publish_here(what, look))
        else:
            finish(self._native.publish(what))

    def unpublish(self, *, drain_timeout: float = 10.0, force: bool = False) -> None:
        """Returns when the registered bytes may change, at once if nothing is held.

        Readers without another source may go on for ``drain_timeout`` seconds.
        ResourceExhaustedError: the version must not be lost, nobody else keeps it, and no copy
        could be made in time: the bytes are still held. ``force`` gives it up even so. After an
        interrupt the bytes may still be held: call it again.
        """
        finish(self._unpublish_call(drain_timeout, force), in_order=True)

    def fetch(
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
        """Reads a version into the registered memory, in place, and serves it to others then.

        All ranks of a group call it with equal selectors and get the same version or the same
        error. What the memory held before is unpublished. ``progress`` is called with a
        :class:`FetchProgress` some times a second in this thread, or True shows a bar; if it
        raises, the fetch ends and the exception comes out of here. Where the only source of a rank,
        the last holder of the version, or a rank itself falls silent, the group waits for it until
        ``timeout``, but with ``waits_out_outages=False``; what has arrived is not read again.
        ``traceparent``, as Trace Context writes it, goes into what ``TENSORHUB_TRACE`` writes.
        FailedPreconditionError: the version has tensors, or parts of some, that no rank of the
        group has registered, and it names them; with ``partial`` they are left out. Or the group
        has registered what the version has not.
        UnavailableError: every source failed. NotFoundError: there is no such version, or nobody
        holds it.
        InvalidArgumentError: a registered array is read-only. After an error ``held()`` says what
        the memory holds.
        """
        report, close = reporter(progress)
        try:
            call = self._fetch_call(
                selector, timeout, stream, waits_out_outages, partial, traceparent
            )
            return self._finish_fetch(call, selector, report)
        finally:
            close()

    def wait(self, selector: Selector, timeout: float, *, max_lag: int = 0) -> int:
        """Blocks until a version matches, and returns the newest one there is.

        ``max_lag``: by how many versions the caller may lag behind. DeadlineExceededError: none
        came within ``timeout`` seconds.
        """
        value: int = finish(self._wait_call(selector, timeout, max_lag))
        return value

    def list(self) -> tuple[VersionInfo, ...]:
        """What the server lists for this model, oldest first. Takes 20 seconds at most."""
        return self._listed(finish(self._list_call()))

    def held(self) -> int | None:
        """The version that the memory holds whole and peers may read. Does not ask the server."""
        return None if self._process != os.getpid() else self._native.held()

    def health(self) -> Exception | None:
        """None if the server counts this worker in, else the error. Does not ask the server.

        UnavailableError: it cannot be reached, connecting goes on. AbortedError: another worker
        took this rank's place, or what was held is listed no more. OutOfRangeError: what is held is
        superseded, fetch the latest. DataLossError: the memory no longer holds what was published.
        """
        self._check()
        number, message = self._native.health()
        return None if number == 0 else to_error(number, message)

    def leave(self, *, drain_timeout: float = 10.0) -> None:
        """Says goodbye: unpublishes, tells the server, stops serving. More calls do nothing.

        Calls that run in other threads end with CancelledError. Takes ``drain_timeout`` and six
        seconds at most.
        """
        finish(self._leave_call(drain_timeout), in_order=True)
        self._left()

    def allocate(self, nbytes: int) -> memoryview:
        """Zeroed host memory that peers on this host read without this process's help.

        For ``numpy.frombuffer`` or ``torch.frombuffer``; lives as long as what was made of it.
        ResourceExhaustedError: the host gives no more.
        """
        self._check()
        size = whole_number("nbytes", nbytes)
        address = finish(self._native.allocate(size))
        return _native.array_at(address, size, self._native)

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.leave(drain_timeout=10.0 if error is None else 1.0)

    def __repr__(self) -> str:
        return f"<tensorhub.Client of {self.model} at {self.server}>"

    # What `aio` begins as well, checked; it waits for the calls in its own way.

    def _left(self) -> None:
        _open.discard(self)
        self._registration = None  # nobody reads the memory any more

    def __del__(self) -> None:
        # Before the memory goes, which is what this object keeps.
        if getattr(self, "_registration", None) and self._process == os.getpid():
            self._native.leave(5000).wait(12.0)

    def _check(self) -> None:
        if self._process != os.getpid():
            check_process()

    def _to_publish(
        self,
        version: int,
        wait_for_group: bool,
        supersede: bool,
        timeout: float,
        stream: Any,
        event: Any,
    ) -> _native.ToPublish:
        self._check()
        self._check_memory()
        return _native.ToPublish(
            whole_number("version", version),
            flag("wait_for_group", wait_for_group),
            flag("supersede", supersede),
            milliseconds("timeout", timeout),
            _handle("stream", stream, "cuda_stream"),
            _handle("event", event, "cuda_event") or 0,
        )

    def _unpublish_call(self, drain_timeout: float, force: bool) -> _native.Call:
        self._check()
        return self._native.unpublish(
            milliseconds("drain_timeout", drain_timeout), flag("force", force)
        )

    def _fetch_call(
        self,
        selector: Selector,
        timeout: float,
        stream: Any,
        waits_out_outages: bool,
        partial: bool,
        traceparent: str = "",
    ) -> _native.Call:
        self._check()
        _check_selector(selector)
        self._check_memory()
        self._check_writable()
        return self._native.fetch(
            *selector.native,
            milliseconds("timeout", timeout),
            _handle("stream", stream, "cuda_stream"),
            flag("waits_out_outages", waits_out_outages),
            flag("partial", partial),
            text("traceparent", traceparent),
        )

    def _wait_call(self, selector: Selector, timeout: float, max_lag: int) -> _native.Call:
        self._check()
        _check_selector(selector)
        return self._native.wait(
            *selector.native,
            milliseconds("timeout", timeout),
            whole_number("max_lag", max_lag),
        )

    def _list_call(self) -> _native.Call:
        self._check()
        return self._native.list()

    def _leave_call(self, drain_timeout: float) -> _native.Call:
        self._check()
        return self._native.leave(milliseconds("drain_timeout", drain_timeout))

    def _finish_fetch(
        self, call: _native.Call, selector: Selector, report: Progress | None = None
    ) -> FetchResult:
        try:
            return self._fetched(finish(call, report))
        except FailedPreconditionError as error:
            raise self._explained(error, selector) from None

    def _check_memory(self) -> None:
        if self._registration is not None:
            self._registration.check_there()

    def _check_writable(self) -> None:
        names = self._registration.read_only if self._registration else []
        if names:
            raise InvalidArgumentError(
                f"tensor {names[0]!r} is read-only"
                + (f", as are {len(names) - 1} others" if len(names) > 1 else "")
                + "; it can be published, but a fetch would write to it: register a writable array"
            )

    def _explained(
        self, error: FailedPreconditionError, selector: Selector
    ) -> FailedPreconditionError:
        """What the version has, or has instead, where it has not what is registered here."""
        if self._registration is None:
            return error
        wanted = selector.number if selector.kind == "version" else None
        if "has not registered" in str(error):
            names = names_in(self, wanted)
            return FailedPreconditionError(f"{error}; it has {names}") if names else error
        if "held by nobody" not in str(error):
            return error
        names = names_in(self, wanted, (one[0] for one in self._registration.described))
        if not names:
            return error
        return FailedPreconditionError(f"{error}; not registered here is what it has: {names}")

    def _fetched(self, value: dict[str, Any]) -> FetchResult:
        if self._registration and self._registration.torch_tensors and value["bytes_read"]:
            _bump_versions(self._registration.torch_tensors)
        return FetchResult(**value)

    @staticmethod
    def _listed(value: Sequence[tuple[Any, ...]]) -> tuple[VersionInfo, ...]:
        return tuple(
            VersionInfo(
                number,
                state,
                size,
                tuple(Replica(*replica) for replica in replicas),
                identity,
                term,
            )
            for number, state, size, replicas, identity, term in value
        )


def _check_selector(selector: Any) -> None:
    if not isinstance(selector, Selector):
        raise TypeError(
            "selector must be tensorhub.latest(), version(n) or newer_than(n), not "
            f"{type(selector).__name__}"
        )


def _handle(name: str, given: Any, attribute: str) -> int | None:
    """The number behind a stream or an event of torch, CuPy or CUDA Python."""
    if given is None:
        return None
    for found in (attribute, "ptr", "handle"):
        number = getattr(given, found, None)
        if isinstance(number, int):
            return number
    if isinstance(given, int) and not isinstance(given, bool):
        return given
    raise TypeError(f"{name} must be a CUDA {name} or its handle, not {type(given).__name__}")


def _bump_versions(tensors: list[Any]) -> None:
    """Autograd notices that the tensors were written to."""
    graph = sys.modules["torch"].autograd.graph
    bump: Callable[[Any], None] = graph.increment_version
    for tensor in tensors:
        if not tensor.is_inference():
            bump(tensor)


@atexit.register
def _leave_all() -> None:
    """At the interpreter's end; the registered memory goes with it."""
    if _first_process != os.getpid():
        return
    calls = [client._native.leave(5000) for client in list(_open)]
    for call in calls:
        call.wait(12.0)
