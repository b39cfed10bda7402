# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""The library's status codes as exceptions: one class per code, all under :class:`Error`."""

from __future__ import annotations

__all__ = [
    "AbortedError",
    "AlreadyExistsError",
    "CancelledError",
    "DataLossError",
    "DeadlineExceededError",
    "Error",
    "FailedPreconditionError",
    "InternalError",
    "InvalidArgumentError",
    "NotFoundError",
    "PermissionDeniedError",
    "ResourceExhaustedError",
    "UnauthenticatedError",
    "UnavailableError",
    "UnimplementedError",
    "UnknownError",
    "raise_for",
    "to_error",
    "with_code",
]


class Error(Exception):
    """Whatever goes wrong in a call. ``str(error)`` is one line: what is wrong and what to do."""

    code: str = "UNKNOWN"
    """The status code's name, such as ``"NOT_FOUND"``; the same as in C++ and in the logs."""


class CancelledError(Error):
    """``leave`` was called in another thread while this call ran, or the call was cancelled."""

    code = "CANCELLED"


class UnknownError(Error):
    """The session was lost after the outcome was decided; fetch again to learn it."""

    code = "UNKNOWN"


class InvalidArgumentError(Error, ValueError):
    """The call is wrong: names, sizes, ranks, tensors, selectors that differ within a group."""

    code = "INVALID_ARGUMENT"


class DeadlineExceededError(Error, TimeoutError):
    """The timeout passed; ``held()`` says what the buffers hold now."""

    code = "DEADLINE_EXCEEDED"


class NotFoundError(Error, LookupError):
    """No such model or version, or nobody holds it any more."""

    code = "NOT_FOUND"


class AlreadyExistsError(Error):
    """The rank is taken, or the version exists with another content."""

    code = "ALREADY_EXISTS"


class PermissionDeniedError(Error):
    """The server does not allow it."""

    code = "PERMISSION_DENIED"


class UnauthenticatedError(Error):
    """The server wants a certificate or a token, or does not know this one, or it has ended."""

    code = "UNAUTHENTICATED"


class ResourceExhaustedError(Error):
    """Memory, or a limit of the server or of this process (open files)."""

    code = "RESOURCE_EXHAUSTED"


class FailedPreconditionError(Error):
    """Not registered, still published, left, forked, or another layout than the version's."""

    code = "FAILED_PRECONDITION"


class AbortedError(Error):
    """Another rank of the group failed, or this worker was replaced."""

    code = "ABORTED"


class OutOfRangeError(Error):
    """Of ``health``: a later term supersedes what is held; fetch the latest."""

    code = "OUT_OF_RANGE"


class UnimplementedError(Error):
    """The server is too old for this call, or is no TensorHub server."""

    code = "UNIMPLEMENTED"


class InternalError(Error):
    """A mistake of TensorHub itself."""

    code = "INTERNAL"


class UnavailableError(Error, ConnectionError):
    """The server cannot be reached, or every source failed."""

    code = "UNAVAILABLE"


class DataLossError(Error):
    """No copy agrees with the digests of what was published, or these buffers changed."""

    code = "DATA_LOSS"


# By the numbers that gRPC and abseil share.
_BY_NUMBER: dict[int, type[Error]] = {
    1: CancelledError,
    2: UnknownError,
    3: InvalidArgumentError,
    4: DeadlineExceededError,
    5: NotFoundError,
    6: AlreadyExistsError,
    7: PermissionDeniedError,
    8: ResourceExhaustedError,
    9: FailedPreconditionError,
    10: AbortedError,
    11: OutOfRangeError,
    12: UnimplementedError,
    13: InternalError,
    14: UnavailableError,
    15: DataLossError,
    16: UnauthenticatedError,
}


def to_error(number: int, message: str) -> Error:
    """The exception for a status that is not OK."""
    return _BY_NUMBER.get(number, UnknownError)(message)


def with_code(code: str, message: str) -> Error | None:
    """The exception for a code by its name, if there is such a code."""
    for kind in _BY_NUMBER.values():
        if kind.code == code:
            return kind(message)
    return None


def raise_for(number: int, message: str) -> None:
    """Raises the exception for a status, unless it is OK."""
    if number != 0:
        raise to_error(number, message)
