# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""The C++ library (python/native), for the Python files beside it and nobody else."""

from collections.abc import Callable, Sequence
from typing import Any

__version__: str

class Call:
    def wait(self, seconds: float) -> bool: ...
    def cancel(self) -> None: ...
    def fileno(self) -> int: ...
    def progress(self) -> tuple[int, int, int, str] | None: ...
    def result(self) -> tuple[int, str, Any]: ...

class ToPublish:
    def __init__(
        self,
        version: int,
        wait_for_group: bool,
        supersede: bool,
        timeout_ms: int,
        stream: int | None,
        event: int,
    ) -> None: ...

class Client:
    def register(self, tensors: Sequence[Any]) -> tuple[int, str]: ...
    def publish(self, what: ToPublish) -> Call: ...
    def publish_here(self, what: ToPublish, look: Callable[[], None]) -> tuple[int, str]: ...
    def unpublish(self, drain_ms: int, force: bool) -> Call: ...
    def fetch(
        self,
        kind: int,
        version: int,
        timeout_ms: int,
        stream: int | None,
        waits_out_outages: bool,
        partial: bool,
        traceparent: str = "",
    ) -> Call: ...
    def wait(self, kind: int, version: int, timeout_ms: int, max_lag: int) -> Call: ...
    def list(self) -> Call: ...
    def leave(self, drain_ms: int) -> Call: ...
    def allocate(self, bytes: int) -> Call: ...
    def held(self) -> int | None: ...
    def health(self) -> tuple[int, str]: ...

def connect(
    server: str,
    model: str,
    group: str,
    rank: int,
    world_size: int,
    location: str,
    data_address: str,
    spot: bool,
    connect_timeout_ms: int,
    host_copy_bytes: int | None,
    attachment: bytes,
    digests: int,
    gpu_through_host: bool,
    security: tuple[str, str, str, str],
    http: str,
    trace: str,
) -> Call: ...
def describe_version(
    server: str,
    model: str,
    version: int | None,
    security: tuple[str, str, str, str] = ("", "", "", ""),
) -> tuple[
    int,
    str,
    int,
    list[list[tuple[str, str, list[int], list[int] | None, list[int] | None]]],
]: ...
def describe_array(array: object) -> dict[str, Any] | None: ...
def words_at(objects: Sequence[object], offset: int) -> list[int]: ...
def array_at(address: int, bytes: int, owner: object) -> memoryview: ...
def use_log_queue(level: int) -> None: ...
def take_log_lines(seconds: float) -> list[tuple[int, str]]: ...
def close_log_queue() -> None: ...
