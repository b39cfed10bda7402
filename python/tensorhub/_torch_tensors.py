# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tensors of torch: whether their values are in memory of their own, and where that is.

Torch is not imported: where there is a tensor of it, somebody has.
"""

from __future__ import annotations

import sys
from typing import Any

from tensorhub._arrays import HOST, Found, bad, not_dense_text
from tensorhub._dtypes import ADVICE, BY_NAME
from tensorhub._watch import Watch

__all__ = ["check_values", "find_tensor", "is_torch", "refusal_of"]

# By type of tensors, why those have no values in memory of their own, or nothing.
_refused_kinds: dict[type, str | None] = {}
# By torch's dtype, safetensors' name, and how many numbers an element has.
_dtypes: dict[Any, tuple[str | None, int]] = {}


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
    dtype, numbers = _dtype_of(name, tensor.dtype)
    _check_bits(name, tensor, dtype)
    if not tensor.is_contiguous():
        raise bad(name, not_dense_text(tuple(tensor.shape), tuple(tensor.stride())))
    address = tensor.data_ptr()
    watch.tensor(name, given, address, storage)
    shape = tuple(tensor.shape)
    if numbers > 1 and shape:
        shape = (*shape[:-1], shape[-1] * numbers)
    place = HOST if tensor.is_cpu else (tensor.device.index or 0)
    return Found(address, tensor.nbytes, dtype, shape, place, tensor)


def _dtype_of(name: str, dtype: Any) -> tuple[str, int]:
    if dtype not in _dtypes:
        short = str(dtype).removeprefix("torch.")
        _dtypes[dtype] = BY_NAME.get(short), 2 if short.endswith("_x2") else 1
    found, numbers = _dtypes[dtype]
    if found is None:
        short = str(dtype).removeprefix("torch.")
        raise bad(name, f"has dtype {short}, which safetensors has not; {ADVICE}")
    return found, numbers


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
    if not tensor.is_cpu and not tensor.is_cuda:
        _refuse_device(name, tensor.device)
    storage = tensor.untyped_storage()
    size = storage.nbytes()
    lacks = size == 0 or _end_of(tensor) > size or storage.data_ptr() == 0
    if lacks and tensor.numel() > 0:
        raise bad(name, f"has no memory: it is {tensor.nbytes} bytes of a storage of {size}, which "
                        "was freed, or never was in memory; bring it back first")  # fmt: skip
    return storage


def _refuse_device(name: str, device: Any) -> None:
    if device.type == "meta":
        raise bad(name, "is on the meta device and has no memory; call to_empty() first")
    raise bad(name, f"is on {device}; only memory of the host and of CUDA can be registered")


def _end_of(tensor: Any) -> int:
    """Where in its storage the last element ends."""
    if tensor.is_contiguous():
        return int(tensor.storage_offset() * tensor.itemsize + tensor.nbytes)
    last = tensor.storage_offset()
    for extent, stride in zip(tensor.shape, tensor.stride(), strict=True):
        last += (extent - 1) * stride
    return int(last + 1) * int(tensor.itemsize)


def _check_bits(name: str, tensor: Any, dtype: str) -> None:
    """Torch has two bits beside the memory that change what it means."""
    if dtype == "C64" and tensor.is_conj():
        raise bad(name, "is a conjugated view, whose memory has the values that are not conjugated;"
                        " give .resolve_conj() of it, and keep that up to date")  # fmt: skip
    if tensor.is_neg():
        raise bad(name, "is a negated view, whose memory has the values with the other sign; give "
                        ".resolve_neg() of it, and keep that up to date")  # fmt: skip
