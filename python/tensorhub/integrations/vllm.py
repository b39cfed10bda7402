# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""vLLM: weights from TensorHub, at the start and while it serves.

    vllm serve MODEL --load-format tensorhub --weight-transfer-config '{"backend": "tensorhub"}'

vLLM finds :func:`register` by the entry point ``vllm.general_plugins``, in each of its processes.
An update is vLLM's own sequence: start_weight_update, update_weights with ``{"version": N}`` (or
nothing, for the latest one), finish_weight_update. docs/engines.md says what works and what does
not.
"""

from __future__ import annotations

import dataclasses
import logging
from typing import TYPE_CHECKING, Any

from tensorhub._errors import FailedPreconditionError
from tensorhub._verify import Receipt

if TYPE_CHECKING:
    from tensorhub.integrations._stage import Arrived

__all__ = ["OLDEST", "TRIED", "arrived", "register", "verify"]

# Under vLLM's own logger, which is the one that has a handler there.
log = logging.getLogger("vllm.tensorhub")

NAME = "tensorhub"
OLDEST = (0, 25)
TRIED = ("0.32.0",)

_registered = False


def register() -> None:
    """Makes the transfer backend and the load format known to vLLM. Again: nothing.

    Connects to nobody: vLLM may fork after it. A vLLM that is too old is left alone, with a
    warning.
    """
    global _registered
    if _registered:
        return
    if not _usable(_version()):
        return
    from vllm.distributed.weight_transfer.factory import WeightTransferEngineFactory
    from vllm.model_executor.model_loader import register_model_loader

    from tensorhub.integrations._vllm_loader import TensorHubModelLoader

    WeightTransferEngineFactory.register_engine(
        NAME, "tensorhub.integrations._vllm_engine", "TensorHubWeightTransferEngine"
    )
    register_model_loader(NAME)(TensorHubModelLoader)
    _add_calls()
    _registered = True


def arrived(engine: Any) -> list[Arrived | None]:
    """What each rank of a vLLM (``LLM``) took in its last update: version, receipt, bytes, sources.

    None before the first update, and after one that left parts of two versions. By HTTP it is the
    call ``tensorhub_arrived`` of vLLM's route ``/collective_rpc``.
    """
    from tensorhub.integrations._stage import Arrived

    found = engine.collective_rpc("tensorhub_arrived")
    return [None if one is None else Arrived(**one) for one in found]


def verify(engine: Any, timeout: float = 600.0) -> list[Receipt]:
    """As :func:`tensorhub.verify`, of a vLLM (``LLM``) that takes no update meanwhile."""
    found = engine.collective_rpc("tensorhub_verify", args=(timeout,))
    return [Receipt(**{**one, "unchecked": tuple(one["unchecked"])}) for one in found]


def _add_calls() -> None:
    """Gives vLLM's workers two methods, for ``collective_rpc``, which takes names of methods."""
    from vllm.v1.worker.worker_base import WorkerBase

    WorkerBase.tensorhub_arrived = _arrived_at
    WorkerBase.tensorhub_verify = _verified_at


def _transfer_engine(worker: Any) -> Any:
    engine = getattr(worker, "weight_transfer_engine", None)
    if not hasattr(engine, "arrived"):
        raise FailedPreconditionError(
            "this vLLM takes no versions from TensorHub; start it with "
            f'--weight-transfer-config \'{{"backend": "{NAME}"}}\''
        )
    return engine


def _arrived_at(worker: Any) -> dict[str, Any] | None:
    found = _transfer_engine(worker).arrived
    return None if found is None else dataclasses.asdict(found)


def _verified_at(worker: Any, timeout: float) -> dict[str, Any]:
    return dataclasses.asdict(_transfer_engine(worker).verify(timeout))


def warn_if_untried() -> None:
    """Once the plug-in is used: says it if nobody ran it with this version of vLLM."""
    version = _version()
    if version not in TRIED:
        log.warning(
            "TensorHub was not tried with vLLM %s; it was with %s", version, ", ".join(TRIED)
        )


def _version() -> str:
    import vllm

    return str(vllm.__version__).split("+")[0]


def _usable(version: str) -> bool:
    numbers = tuple(int(part) for part in version.split(".")[:2] if part.isdigit())
    if len(numbers) == 2 and numbers < OLDEST:
        log.warning(
            "TensorHub needs vLLM %d.%d or newer, and this is %s: the backend and the load format "
            "%r are not available", *OLDEST, version, NAME,
        )  # fmt: skip
        return False
    return True
