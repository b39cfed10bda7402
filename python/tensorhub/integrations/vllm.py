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
import zlib
from typing import TYPE_CHECKING, Any

from tensorhub._errors import FailedPreconditionError
from tensorhub._verify import Receipt

if TYPE_CHECKING:
    from tensorhub.integrations._lag import Lag
    from tensorhub.integrations._stage import Arrived

__all__ = [
    "OLDEST",
    "TRIED",
    "Staged",
    "StaleError",
    "adapter",
    "arrived",
    "lag",
    "register",
    "require_fresh",
    "stage",
    "staged",
    "verify",
]

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

    from tensorhub.integrations import _vllm_lora
    from tensorhub.integrations._vllm_loader import TensorHubModelLoader

    WeightTransferEngineFactory.register_engine(
        NAME, "tensorhub.integrations._vllm_engine", "TensorHubWeightTransferEngine"
    )
    register_model_loader(NAME)(TensorHubModelLoader)
    try:
        _vllm_lora.hook()
    except (ImportError, AttributeError, KeyError) as error:
        log.warning("TensorHub: this vLLM takes no adapters from it: %s", error)
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


def adapter(engine: Any, model: str, version: int | None = None) -> Any:
    """Loads an adapter's version (the latest one by itself) into a vLLM (``LLM``).

    Returns the ``LoRARequest`` for ``generate``. Each rank reads the adapter from memory. By HTTP
    it is vLLM's route ``/v1/load_lora_adapter``, with ``tensorhub:MODEL@VERSION`` as ``lora_path``.
    FailedPreconditionError: it was trained on another version of the model than this vLLM has.
    """
    from vllm.lora.request import LoRARequest

    from tensorhub.integrations._vllm_lora import Address

    if version is None:
        version = engine.collective_rpc("tensorhub_adapter", args=(model,))[0]
    address = Address(model, int(version))
    # Other numbers are for requests of others.
    number = (1 << 30) | (zlib.crc32(str(address).encode()) >> 2)
    request = LoRARequest(f"{model}@{version}", number, str(address))
    engine.llm_engine.add_lora(request)
    return request


@dataclasses.dataclass(frozen=True)
class Staged:
    """What a vLLM has beside its model, or is about to have."""

    version: int
    ready: bool
    """Whether all ranks have it: an update with it takes a copy only."""
    error: str = ""
    """Why it will not be ready. The model is as it was; stage again."""


def stage(engine: Any, version: int | None = None) -> int:
    """Begins to fetch a version (the latest one by itself) while the vLLM (``LLM``) generates.

    Returns its number at once. ``update_weights`` with that number, or with none, then puts it into
    the model. By HTTP it is the call ``tensorhub_stage`` of vLLM's route ``/collective_rpc``.
    """
    found: int = engine.collective_rpc("tensorhub_stage", args=(version,))[0]
    return found


def staged(engine: Any) -> Staged | None:
    """How far that is; None if nothing is staged. By HTTP it is the call ``tensorhub_staged``."""
    ranks = engine.collective_rpc("tensorhub_staged")
    if ranks[0] is None:
        return None
    error = next((one["error"] for one in ranks if one["error"]), "")
    return Staged(ranks[0]["version"], all(one["ready"] for one in ranks), error)


class StaleError(FailedPreconditionError):
    """An engine is further behind than it may be. ``lag`` says how it stands."""

    def __init__(self, lag: Lag) -> None:
        super().__init__(str(lag))
        self.lag = lag


def lag(engine: Any) -> Lag:
    """What a vLLM (``LLM``) has, and whether that is more than ``max_lag`` versions behind.

    By HTTP it is the call ``tensorhub_lag`` of vLLM's route ``/collective_rpc``.
    """
    from tensorhub.integrations._lag import Lag

    return Lag(**engine.collective_rpc("tensorhub_lag")[0])


def require_fresh(engine: Any) -> None:
    """Before prompts are given to a vLLM: StaleError if it is more than ``max_lag`` behind.

    Asks nobody but the engine, whose first rank hears of new versions by itself.
    """
    found = lag(engine)
    if found.stale:
        raise StaleError(found)


def verify(engine: Any, timeout: float = 600.0) -> list[Receipt]:
    """As :func:`tensorhub.verify`, of a vLLM (``LLM``) that takes no update meanwhile."""
    found = engine.collective_rpc("tensorhub_verify", args=(timeout,))
    return [Receipt(**{**one, "unchecked": tuple(one["unchecked"])}) for one in found]


def _add_calls() -> None:
    """Gives vLLM's workers methods, for ``collective_rpc``, which takes names of methods."""
    from vllm.v1.worker.worker_base import WorkerBase

    WorkerBase.tensorhub_adapter = _adapter_at
    WorkerBase.tensorhub_arrived = _arrived_at
    WorkerBase.tensorhub_lag = _lag_at
    WorkerBase.tensorhub_stage = _stage_at
    WorkerBase.tensorhub_staged = _staged_at
    WorkerBase.tensorhub_verify = _verified_at


def _transfer_engine(worker: Any) -> Any:
    engine = getattr(worker, "weight_transfer_engine", None)
    if not hasattr(engine, "arrived"):
        raise FailedPreconditionError(
            "this vLLM takes no versions from TensorHub; start it with "
            f'--weight-transfer-config \'{{"backend": "{NAME}"}}\''
        )
    return engine


def _adapter_at(worker: Any, model: str) -> int:
    from tensorhub.integrations import _vllm_lora

    return _vllm_lora.newest(model)


def _arrived_at(worker: Any) -> dict[str, Any] | None:
    found = _transfer_engine(worker).arrived
    return None if found is None else dataclasses.asdict(found)


def _lag_at(worker: Any) -> dict[str, Any]:
    return dataclasses.asdict(_transfer_engine(worker).lag())


def _stage_at(worker: Any, version: int | None = None) -> int:
    found: int = _transfer_engine(worker).stage(version)
    return found


def _staged_at(worker: Any) -> dict[str, Any] | None:
    found = _transfer_engine(worker).staged
    if found is None:
        return None
    return {"version": found.number, "ready": found.ready, "error": found.error}


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
