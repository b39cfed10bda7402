# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""The plug-in's own calls of vLLM's workers, by ``collective_rpc``, which takes names of methods.

An error is a value of theirs: vLLM with several ranks reads what a call answers only up to the
first exception, and gives the next call what is left (vllm#49972). Where vLLM's own calls raise,
the rest is read here.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tensorhub._errors import AbortedError, Error, FailedPreconditionError, UnknownError, with_code

__all__ = ["AllRead", "add", "read_all_answers", "values"]

_READ_S = 30.0


def add(backend: str) -> None:
    """Gives vLLM's workers their methods. ``backend``: of the plug-in, as vLLM is told it."""
    from vllm.v1.worker.worker_base import WorkerBase

    def of_engine(step: Callable[..., Any]) -> Callable[..., Any]:
        return lambda worker, *args: step(_transfer_engine(worker, backend), *args)

    for name, step in (
        ("adapter", _adapter),
        ("arrived", of_engine(_arrived)),
        ("here", of_engine(lambda engine: engine.here())),
        ("join", lambda worker, info: worker.init_weight_transfer_engine(info)),
        ("lag", of_engine(lambda engine: dataclasses.asdict(engine.lag()))),
        ("stage", of_engine(lambda engine, version=None: engine.stage(version))),
        ("staged", of_engine(_staged)),
        ("take", _take),
        ("torn", of_engine(lambda engine: {"torn": engine.torn})),
        ("verify", of_engine(lambda engine, limit: dataclasses.asdict(engine.verify(limit)))),
    ):
        setattr(WorkerBase, f"tensorhub_{name}", _answering(step))


def values(answers: Sequence[Any]) -> list[Any]:
    """What each rank answered. If one answered an error, that is raised: the one which is no
    other's consequence, if there is one."""
    errors = [_error(answer) for answer in answers if _is_error(answer)]
    if errors:
        raise next((one for one in errors if not isinstance(one, AbortedError)), errors[0])
    return list(answers)


def _is_error(answer: Any) -> bool:
    return isinstance(answer, dict) and answer.keys() == {"code", "message"}


def _error(answer: dict[str, str]) -> Error:
    return with_code(answer["code"], answer["message"]) or UnknownError(answer["message"])


def _answering(step: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(step)
    def answer(worker: Any, *args: Any) -> Any:
        try:
            return step(worker, *args)
        except Error as error:
            return {"code": error.code, "message": str(error)}
        except Exception as error:
            return {"code": Error.code, "message": f"{type(error).__name__}: {error}"}

    return answer


def _transfer_engine(worker: Any, backend: str) -> Any:
    engine = getattr(worker, "weight_transfer_engine", None)
    if not hasattr(engine, "arrived"):
        raise FailedPreconditionError(
            "this vLLM takes no versions from TensorHub; start it with "
            f'--weight-transfer-config \'{{"backend": "{backend}"}}\''
        )
    return engine


def _adapter(worker: Any, model: str) -> int:
    from tensorhub.integrations import _vllm_lora

    return _vllm_lora.newest(model)


def _arrived(engine: Any) -> dict[str, Any] | None:
    return None if engine.arrived is None else dataclasses.asdict(engine.arrived)


def _staged(engine: Any) -> dict[str, Any] | None:
    found = engine.staged
    if found is None:
        return None
    return {"version": found.number, "ready": found.ready, "error": found.error}


def _take(worker: Any, version: int | None = None) -> Any:
    """vLLM's sequence of an update in one call, of an engine that stands still."""
    worker.start_weight_update()
    worker.update_weights({"version": version})
    worker.finish_weight_update()
    return _arrived(worker.weight_transfer_engine)


class AllRead(list[Any]):
    """Queues that are read one after the other: who stops at one has the others read for him."""

    def __iter__(self) -> Iterator[Any]:
        rest = super().__iter__()
        for queue in rest:
            try:
                yield queue
            except GeneratorExit:
                for other in rest:
                    with contextlib.suppress(TimeoutError):
                        other.dequeue(timeout=_READ_S)
                raise


def read_all_answers() -> None:
    """Has vLLM's executor of several processes leave no answer of a call unread."""
    from vllm.v1.executor.multiproc_executor import MultiprocExecutor

    call = MultiprocExecutor.collective_rpc

    @functools.wraps(call)
    def collective_rpc(self: Any, *args: Any, **kwargs: Any) -> Any:
        if type(self.response_mqs) is list:
            self.response_mqs = AllRead(self.response_mqs)
        return call(self, *args, **kwargs)

    MultiprocExecutor.collective_rpc = collective_rpc
