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
    "follow",
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

    from tensorhub.integrations import _vllm_calls, _vllm_lora
    from tensorhub.integrations._vllm_loader import TensorHubModelLoader

    WeightTransferEngineFactory.register_engine(
        NAME, "tensorhub.integrations._vllm_engine", "TensorHubWeightTransferEngine"
    )
    register_model_loader(NAME)(TensorHubModelLoader)
    try:
        _vllm_lora.hook()
    except (ImportError, AttributeError, KeyError) as error:
        log.warning("TensorHub: this vLLM takes no adapters from it: %s", error)
    _vllm_calls.add(NAME)
    try:
        _vllm_calls.read_all_answers()
    except (ImportError, AttributeError) as error:
        log.warning("TensorHub: an update that fails on several ranks leaves answers: %s", error)
    _registered = True


def arrived(engine: Any) -> list[Arrived | None]:
    """What each rank of a vLLM (``LLM``) took in its last update: version, receipt, bytes, sources.

    None before the first update, and after one that left parts of two versions. By HTTP it is the
    call ``tensorhub_arrived`` of vLLM's route ``/collective_rpc``.
    """
    from tensorhub.integrations._stage import Arrived

    found = _asked(engine, "arrived")
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
        version = _asked(engine, "adapter", model)[0]
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
    found: int = _asked(engine, "stage", version)[0]
    return found


def staged(engine: Any) -> Staged | None:
    """How far that is; None if nothing is staged. By HTTP it is the call ``tensorhub_staged``."""
    ranks = _asked(engine, "staged")
    if ranks[0] is None:
        return None
    error = next((one["error"] for one in ranks if one["error"]), "")
    return Staged(ranks[0]["version"], all(one["ready"] for one in ranks), error)


def follow(engine: Any, *, wait: float = 0.0, **given: Any) -> int:
    """Between two calls of ``generate`` of a vLLM (``LLM``): it has what is published, by itself.

    Returns the version that the model has. The first call joins the hub, and waits for the first
    version as long as ``timeout``, unless the vLLM was started with one. Later ones put in what has
    been staged meanwhile, or begin to stage what is newer, and wait for neither; or up to ``wait``
    seconds. ``given``: settings, and ``every`` and ``per_minute`` (docs/engines.md), as the
    environment has them otherwise. Errors of the update leave what the model has. It is tried again
    until ``wait`` is over, and by the next call.
    """
    from tensorhub.integrations._turns import turn

    return turn(engine, wait, given)


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

    return Lag(**_asked(engine, "lag")[0])


def require_fresh(engine: Any) -> None:
    """Before prompts are given to a vLLM: StaleError if it is more than ``max_lag`` behind.

    Asks nobody but the engine, whose first rank hears of new versions by itself.
    """
    found = lag(engine)
    if found.stale:
        raise StaleError(found)


def verify(engine: Any, timeout: float = 600.0) -> list[Receipt]:
    """As :func:`tensorhub.verify`, of a vLLM (``LLM``) that takes no update meanwhile."""
    found = _asked(engine, "verify", timeout)
    return [Receipt(**{**one, "unchecked": tuple(one["unchecked"])}) for one in found]


def _asked(engine: Any, what: str, *args: Any) -> list[Any]:
    """What each rank answers to one of the plug-in's own calls. Raises what one of them raised."""
    from tensorhub.integrations._vllm_calls import values

    return values(engine.collective_rpc(f"tensorhub_{what}", args=args))


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
