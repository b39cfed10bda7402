# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tensors of torch: whether their values are in memory of their own, and where that is.

Torch is not imported: where there is a tensor of it, somebody has.
"""

from __future__ import annotations

import sys
from typing import Any

from tensorhub._arrays import HOST, Found, Shape, bad, not_dense_text
from tensorhub._dtypes import ADVICE, BY_NAME
from tensorhub._watch import Watch

__all__ = ["check_values", "find_tensor", "is_torch", "refusal_of"]

# By type of tensors, why those have no values in memory of their own, or nothing.
_refused_kinds: dict[type, str | None] = {}


def is_torch(array: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(array, torch.Tensor)


def check_values(name: str, tensor: Any) -> Any:
    """The storage that has the tensor's values. InvalidArgumentError: there is none."""
    refusal = refusal_of(type(tensor))
    if refusal is not None:
        raise bad(name, refusal)
    try:
        return _storage_of(name, tensor)
    except RuntimeError as error:  # of a tensor that torch has wrapped, as in torch.func.vmap
        why = str(error).partition("\n")[0]
        raise bad(name, f"has no memory of its own ({why}); give a plain tensor") from None


def find_tensor(name: str, given: Any, watch: Watch) -> Found:
    """Where it is. InvalidArgumentError names it."""
    storage = check_values(name, given)
    tensor = given.detach()  # shares the memory and the version counter, not the graph
    short = str(tensor.dtype)[len("torch.") :]
    dtype = BY_NAME.get(short)
    if dtype is None:
        raise bad(name, f"has dtype {short}, which safetensors has not; {ADVICE}")
    _check_bits(name, tensor)
    if not tensor.is_contiguous():
        raise bad(name, not_dense_text(tuple(tensor.shape), tuple(tensor.stride())))
    address = tensor.data_ptr()
    watch.tensor(name, given, address, storage)
    shape = _unpacked(tuple(tensor.shape), short)
    device = tensor.device
    place = HOST if device.type == "cpu" else (device.index or 0)
    return Found(address, tensor.nbytes, dtype, shape, place, tensor)


def refusal_of(kind: type) -> str | None:
    """Why tensors of a type have no values in memory of their own, or None."""
    if kind not in _refused_kinds:
        _refused_kinds[kind] = _refusal_of_kind(kind)
    return _refused_kinds[kind]


def _refusal_of_kind(kind: type) -> str | None:
    """A type that decides itself what its values are may have them anywhere."""
    torch: Any = sys.modules["torch"]
    if hasattr(kind, "device_mesh"):
        return "is a DTensor; tensorhub.torch.register_module registers its local part"
    if issubclass(kind, torch.nn.parameter.UninitializedTensorMixin):
        return "is not initialised and has no values; run the module once first"
    if kind.__torch_dispatch__ is torch.Tensor.__torch_dispatch__:  # type: ignore[attr-defined]
        return None
    return (
        f"is a {kind.__name__}, whose values are not in memory of its own; give the plain tensors "
        "that it is made of, each under its own name, or a dense copy that you keep up to date"
    )


def _storage_of(name: str, tensor: Any) -> Any:
    if tensor.is_nested:
        raise bad(name, "is a nested tensor; give its dense parts, each under its own name")
    if tensor.layout is not sys.modules["torch"].strided:
        raise bad(name, f"is {tensor.layout}; give its dense parts, each under its own name")
    device = tensor.device
    if device.type == "meta":
        raise bad(name, "is on the meta device and has no memory; call to_empty() first")
    if device.type not in ("cpu", "cuda"):
        raise bad(name, f"is on {device}; only memory of the host and of CUDA can be registered")
    storage = tensor.untyped_storage()
    size = storage.nbytes()
    if tensor.numel() and (_end_of(tensor) > size or storage.data_ptr() == 0):
        raise bad(name, f"has no memory: it is {tensor.nbytes} bytes of a storage of {size}, which "
                        "was freed, or never was in memory; bring it back first")  # fmt: skip
    return storage


def _end_of(tensor: Any) -> int:
    """Where in its storage the last element ends."""
    last = tensor.storage_offset()
    for extent, stride in zip(tensor.shape, tensor.stride(), strict=True):
        last += (extent - 1) * stride
    return int(last + 1) * int(tensor.itemsize)


def _check_bits(name: str, tensor: Any) -> None:
    """Torch has two bits beside the memory that change what it means."""
    if tensor.is_conj():
        raise bad(name, "is a conjugated view, whose memory has the values that are not conjugated;"
                        " give .resolve_conj() of it, and keep that up to date")  # fmt: skip
    if tensor.is_neg():
        raise bad(name, "is a negated view, whose memory has the values with the other sign; give "
                        ".resolve_neg() of it, and keep that up to date")  # fmt: skip


def _unpacked(shape: Shape, dtype: str) -> Shape:
    """Of a dtype that packs two numbers into an element: the numbers."""
    return (*shape[:-1], shape[-1] * 2) if dtype.endswith("_x2") and shape else shape
