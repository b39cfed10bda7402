# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""What Megatron's names say: which layer and which expert of the whole model a parameter is of.

A rank counts what it has from 0. So a name that is not understood would be taken for another one of
the same name on another rank, and one of the two would be lost. Such a name is refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from tensorhub._errors import InvalidArgumentError

__all__ = ["Count", "Names"]

# What stands before the layers that the stages share out. Other stacks count in their own way, such
# as those of a vision model beside the language model.
_BEFORE = (
    r"(?:(?:module|model|language_model|transformer|decoder|_orig_mod|_fsdp_wrapped_module)\.)*"
)
_LAYER = re.compile(rf"(^{_BEFORE}layers\.)(\d+)(?=\.)")
# The layers of multi-token prediction are all on one stage.
_PREDICTION = re.compile(rf"^{_BEFORE}mtp\.layers\.\d+\.")
_NUMBER = re.compile(r"(?:^|\.)\d+(?:\.|$)")
# Experts one by one, and grouped ones: linear_fc1.weight0, linear_fc1.weight1 and so on.
_EXPERT = re.compile(r"((?:^|\.)(?:local_)?experts\.)(\d+)(?=\.)")
_GROUPED = re.compile(r"((?:^|\.)experts\.linear_fc[12]\.(?:weight|bias))(\d+)$")
# What has to do with experts, but is no part of one: all ranks have it.
_BESIDE_EXPERTS = re.compile(r"shared_experts?(?:_gate)?\b|\bexpert_bias$")

_REMEDY = "give a place of your own, which says so of this name and leaves the others to megatron"


@dataclass(frozen=True)
class Count:
    """What ranks share out, and count from 0 each: the first one here, and how many are here."""

    what: str
    degree: str
    size: int
    first: int
    here: int | None

    def renumbered(self, name: str, found: re.Match[str]) -> str:
        """The name with its number in the whole model."""
        number = int(found[2])
        if self.size > 1 and self.here is not None and number >= self.here:
            raise InvalidArgumentError(
                f"tensor {name!r} is of number {number}, and a rank has {self.here} {self.what}, "
                f"counted from 0, where {self.degree} has size {self.size}; {_REMEDY}"
            )
        return f"{name[: found.start()]}{found[1]}{number + self.first}{name[found.end() :]}"

    def refuse(self, name: str) -> None:
        raise InvalidArgumentError(
            f"tensor {name!r} does not say which of the model's {self.what} it is of, and "
            f"{self.degree} has size {self.size}; {_REMEDY}"
        )


@dataclass(frozen=True)
class Names:
    """How a rank's names become the whole model's."""

    layers: Count
    experts: Count

    def published(self, name: str, array: Any, experts_differ: bool) -> tuple[str, bool]:
        """The name in the whole model, and whether it is of an expert.

        InvalidArgumentError: it does not say of which one. ``experts_differ``: they are cut
        in another way than the rest, so that it counts whether it is of one.
        """
        published = self._with_layer(name)
        found = _EXPERT.search(published) or _GROUPED.search(published)
        if found is not None:
            return self.experts.renumbered(published, found), True
        if (self.experts.size > 1 or experts_differ) and _may_be_of_an_expert(name, array):
            self.experts.refuse(name)
        return published, False

    def _with_layer(self, name: str) -> str:
        found = _LAYER.search(name)
        if found is not None:
            return self.layers.renumbered(name, found)
        if self.layers.size > 1 and _NUMBER.search(name) and not _PREDICTION.search(name):
            self.layers.refuse(name)
        return name


def _may_be_of_an_expert(name: str, array: Any) -> bool:
    """By its name, or by Megatron's word that other ranks have other values of it."""
    if getattr(array, "allreduce", True) is False:
        return True
    return "expert" in _BESIDE_EXPERTS.sub("", name)
