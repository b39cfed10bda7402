# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Publishing LoRA adapters: the small matrices, how they apply, and what they apply to.

An adapter is a model of its own at the hub. Each version says in one more tensor which version of
the model it was trained on, and how PEFT was configured. So that is covered by the digests.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch

from tensorhub._ending import Ending
from tensorhub._errors import InvalidArgumentError
from tensorhub._programs import Server
from tensorhub._publisher import WholePublisher
from tensorhub._wrappers import unwrapped

__all__ = ["ADAPTER", "Adapter", "AdapterPublisher"]

ADAPTER = "tensorhub_adapter"
"""The name of the tensor that says what the others are: JSON, with spaces behind it."""

_ROOM = 4096  # bytes that the JSON is filled up to, so that later versions have the same layout
_MODULE = "module"
# What PEFT calls the matrices of the adapter "default": lora_A.default.weight.
_MATRIX = r"(.*\.lora_(?:A|B|embedding_A|embedding_B|magnitude_vector))\.{}(\..*)?"


@dataclass(frozen=True)
class Adapter:
    """How an adapter's matrices apply, and to what."""

    base: int | None
    """The version of the model that it was trained on; None: that is not published."""
    config: Mapping[str, Any]
    """What PEFT's adapter_config.json has, such as ``r`` and ``lora_alpha``."""

    def to_tensor(self, room: int = 0) -> torch.Tensor:
        """In ``room`` bytes, or in as many as it takes and some more."""
        said = json.dumps({"base": self.base, "config": self.config}, default=_plain).encode()
        room = room or -(-(len(said) + _ROOM // 2) // _ROOM) * _ROOM
        if len(said) > room:
            raise InvalidArgumentError(
                f"the adapter's configuration takes {len(said)} bytes, and its first version had "
                f"room for {room}; make a new publisher"
            )
        return torch.frombuffer(bytearray(said.ljust(room)), dtype=torch.uint8)

    @classmethod
    def of(cls, tensor: torch.Tensor) -> Adapter:
        """InvalidArgumentError: it was not made by :meth:`to_tensor`."""
        try:
            found = json.loads(bytes(tensor.cpu().numpy()))
            return cls(found["base"], found["config"])
        except (ValueError, TypeError, KeyError) as error:
            raise InvalidArgumentError(f"{ADAPTER} describes no adapter: {error!r}") from None


class AdapterPublisher(Ending):
    """Publishes a LoRA adapter of a module, bound to the version that it was trained on::

        publisher = AdapterPublisher(peft_model, config, "hub:7070", "actor/math")
        for step in range(1, steps + 1):
            train(peft_model)
            publisher.publish(step, base=7)      # of the model that rollouts have, such as "actor"

    Every rank of the process group makes one and makes the same calls, as of ``WholePublisher``.
    vLLMs load it from memory: docs/engines.md, "Adapters".
    """

    def __init__(
        self,
        module: torch.nn.Module,
        config: Any,
        server: str | Server,
        model: str,
        group: str = "trainer",
        *,
        adapter: str = "default",
        dtype: torch.dtype | None = None,
        process_group: Any = None,
        **options: Any,
    ) -> None:
        """Collective. ``config``: PEFT's ``LoraConfig``, or a mapping of what it has.

        ``adapter``: PEFT's name of the adapter, of which a module may have several. Others as
        ``WholePublisher``. InvalidArgumentError: the module has no such adapter, or PEFT saves
        whole modules with it.
        """
        said = config.to_dict() if hasattr(config, "to_dict") else dict(config)
        if said.get("modules_to_save"):
            raise InvalidArgumentError(
                f"modules_to_save is {said['modules_to_save']}, which is more than an adapter; "
                "publish these modules with the model"
            )
        self._config = said
        self._matrix = re.compile(_MATRIX.format(re.escape(adapter)))
        keys = (unwrapped(module, key) for key in module.state_dict(keep_vars=True))
        if not any(map(self._matrix.fullmatch, keys)):
            raise InvalidArgumentError(
                f"the module has no LoRA matrices of an adapter {adapter!r}; give the module that "
                "PEFT made, and its adapter's name"
            )
        self._all = torch.nn.Module()
        self._all.add_module(_MODULE, module)
        self._all.register_buffer(ADAPTER, Adapter(None, said).to_tensor())
        self._publisher = WholePublisher(
            self._all, server, model, group,
            dtype=dtype, rename=self._published_name, process_group=process_group, **options,
        )  # fmt: skip

    def publish(self, version: int, base: int | None, **options: Any) -> None:
        """Collective: publishes the adapter's present values as ``version``.

        ``base``: the version of the model that they apply to; engines that have another one refuse
        the adapter. None: engines take it for whatever they have. Options as
        ``WholePublisher.publish``.
        """
        described = self._all.get_buffer(ADAPTER)
        described.copy_(Adapter(base, self._config).to_tensor(described.numel()))
        self._publisher.publish(version, **options)

    def close(self) -> None:
        """Leaves the hub. More calls do nothing. Not collective."""
        self._publisher.close()

    def _end(self) -> None:
        self.close()

    def _published_name(self, key: str) -> str | None:
        """PEFT's name in a file of the adapter alone; None for what is no part of it."""
        if key == ADAPTER:
            return ADAPTER
        found = self._matrix.fullmatch(key.removeprefix(f"{_MODULE}."))
        return None if found is None else found[1] + (found[2] or "")


def _plain(value: Any) -> Any:
    """What PEFT's configuration has beside JSON's own: sets of names, and choices."""
    return sorted(value) if isinstance(value, (set, frozenset)) else str(value)
