# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""What can be registered, as names, addresses and shapes. NumPy and torch are not imported."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tensorhub import _native
from tensorhub._errors import InvalidArgumentError
from tensorhub._types import Sliced

__all__ = ["Described", "Registration", "read_tensors"]

Shape = tuple[int, ...]
# As python/native/client.cc takes it.
Described = tuple[str, int, int, str, Shape, int, "Shape | None", Shape]

HOST = -1

# The names that torch, ml_dtypes and NumPy use, and safetensors'.
DTYPES = {
    "bool": "BOOL",
    "uint8": "U8",
    "int8": "I8",
    "uint16": "U16",
    "int16": "I16",
    "uint32": "U32",
    "int32": "I32",
    "uint64": "U64",
    "int64": "I64",
    "float16": "F16",
    "bfloat16": "BF16",
    "float32": "F32",
    "float64": "F64",
    "complex64": "C64",
    "float8_e5m2": "F8_E5M2",
    "float8_e4m3fn": "F8_E4M3",
    "float8_e8m0fnu": "F8_E8M0",
    "float4_e2m1fn_x2": "F4",
    "float4_e2m1fn": "F4",
    "float6_e2m3fn": "F6_E2M3",
    "float6_e3m2fn": "F6_E3M2",
}

# DLPack's (code, bits) for one lane.
_DLPACK = {
    (0, 8): "I8", (0, 16): "I16", (0, 32): "I32", (0, 64): "I64",
    (1, 8): "U8", (1, 16): "U16", (1, 32): "U32", (1, 64): "U64",
    (2, 16): "F16", (2, 32): "F32", (2, 64): "F64",
    (4, 16): "BF16", (5, 64): "C64", (6, 8): "BOOL",
    (10, 8): "F8_E4M3", (12, 8): "F8_E5M2", (14, 8): "F8_E8M0",
}  # fmt: skip
_DLPACK_F4 = (17, 4, 2)
_CPU_DEVICES = (1, 3, 11)  # plain, page-locked by CUDA, page-locked by ROCm
_CUDA_DEVICES = (2, 13)  # plain, managed

# What numpy-like type strings (`<f4`) say.
_TYPE_STRINGS = {
    "b1": "BOOL", "u1": "U8", "i1": "I8", "u2": "U16", "i2": "I16", "u4": "U32", "i4": "I32",
    "u8": "U64", "i8": "I64", "f2": "F16", "f4": "F32", "f8": "F64", "c8": "C64",
}  # fmt: skip


@dataclass
class Registration:
    """Everything that one ``register`` names, and what keeps it alive."""

    described: list[Described] = field(default_factory=list)
    kept: list[Any] = field(default_factory=list)
    torch_tensors: list[Any] = field(default_factory=list)
    read_only: list[str] = field(default_factory=list)


@dataclass
class _Array:
    address: int
    nbytes: int
    dtype: str
    shape: tuple[int, ...]
    device: int
    kept: Any
    writable: bool = True


def read_tensors(tensors: Any) -> Registration:
    """What ``register`` was given. TypeError and InvalidArgumentError name the tensor."""
    registration = Registration()
    for name, value in _pairs(tensors):
        if not isinstance(name, str):
            raise TypeError(f"the names of tensors must be str, not {type(name).__name__}")
        pieces = value if isinstance(value, list) and _only_slices(name, value) else [value]
        for piece in pieces:
            _add(registration, name, piece)
    return registration


def _pairs(tensors: Any) -> Iterable[tuple[Any, Any]]:
    if isinstance(tensors, Mapping):
        return tensors.items()
    if isinstance(tensors, Iterable) and not isinstance(tensors, (str, bytes)):
        pairs = list(tensors)
        for pair in pairs:
            if not isinstance(pair, tuple) or len(pair) != 2:
                raise TypeError(
                    "tensors must be a dict, or pairs of a name and a tensor; an item is a "
                    f"{type(pair).__name__}"
                )
        return pairs
    raise TypeError(
        "tensors must be a dict, or an iterable of pairs, of names to tensors, not "
        f"{type(tensors).__name__}"
    )


def _only_slices(name: str, values: list[Any]) -> bool:
    if values and all(isinstance(value, Sliced) for value in values):
        return True
    raise TypeError(
        f"tensor {name!r} is a list; only a list of tensorhub.sliced(...) can be given, otherwise "
        "make it an array first"
    )


def _add(registration: Registration, name: str, value: Any) -> None:
    piece = value if isinstance(value, Sliced) else None
    array = piece.array if piece else value
    if _is_torch(array):
        found = _of_torch(name, array)
        registration.torch_tensors.append(found.kept)
    else:
        found = _of_anything(name, array)
    if not found.writable:
        registration.read_only.append(name)
    whole = piece.global_shape if piece else None
    offset = piece.offset if piece else ()
    registration.described.append(
        (name, found.address, found.nbytes, found.dtype, found.shape, found.device, whole, offset)
    )
    registration.kept.append(found.kept)


def _is_torch(array: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(array, torch.Tensor)


def _bad(name: str, why: str) -> InvalidArgumentError:
    return InvalidArgumentError(f"tensor {name!r} {why}")


def _of_torch(name: str, given: Any) -> _Array:
    tensor = given.detach()  # shares the memory and the version counter, not the graph
    if hasattr(tensor, "device_mesh"):
        raise _bad(name, "is a DTensor; tensorhub.torch.register_module registers its local part")
    if str(tensor.layout) != "torch.strided":
        raise _bad(name, f"is {tensor.layout}; give its dense parts, each under its own name")
    device = tensor.device
    if device.type == "meta":
        raise _bad(name, "is on the meta device and has no memory; call to_empty() first")
    if device.type not in ("cpu", "cuda"):
        raise _bad(name, f"is on {device}; only memory of the host and of CUDA can be registered")
    short = str(tensor.dtype).removeprefix("torch.")
    dtype = DTYPES.get(short)
    if dtype is None:
        raise _bad(name, f"has dtype {short}, which safetensors has not; {_dtype_advice()}")
    if not tensor.is_contiguous():
        raise _bad(name, _not_dense(tuple(tensor.shape), tuple(tensor.stride())))
    shape = _unpacked(tuple(tensor.shape), short)
    place = HOST if device.type == "cpu" else (device.index or 0)
    return _Array(tensor.data_ptr(), tensor.nbytes, dtype, shape, place, tensor)


def _unpacked(shape: tuple[int, ...], dtype: str) -> tuple[int, ...]:
    """Of a dtype that packs two numbers into an element: the numbers."""
    return (*shape[:-1], shape[-1] * 2) if dtype.endswith("_x2") and shape else shape


def _dtype_advice() -> str:
    return "convert it, or view it as uint8"


def _not_dense(shape: tuple[int, ...], strides: tuple[int, ...]) -> str:
    return (
        f"is not contiguous (shape {list(shape)}, strides {list(strides)}); register the tensor "
        "that it is a view of, or a .contiguous() copy that you keep up to date"
    )


def _of_anything(name: str, array: Any) -> _Array:
    interface = getattr(array, "__cuda_array_interface__", None)
    if interface is not None:
        return _of_interface(name, array, interface, _cuda_device(array))
    interface = getattr(array, "__array_interface__", None)
    if interface is not None:
        return _of_interface(name, array, interface, HOST)
    # A memoryview has strides also where an exporter leaves them out (ctypes).
    exporter = array if hasattr(array, "__dlpack__") else _view(array)
    found = None if exporter is None else _native.describe_array(exporter)
    if found is None:
        raise TypeError(
            f"tensor {name!r} is a {type(array).__name__}; give a torch tensor, a NumPy array, or "
            "what has DLPack, the buffer protocol or __cuda_array_interface__"
        )
    return _of_dlpack(name, found)


def _view(array: Any) -> memoryview | None:
    try:
        return memoryview(array)
    except TypeError:
        return None


def _cuda_device(array: Any) -> int:
    device = getattr(array, "device", None)
    number = getattr(device, "id", device)
    return number if isinstance(number, int) else 0


def _of_interface(name: str, array: Any, interface: Mapping[str, Any], device: int) -> _Array:
    shape = tuple(interface["shape"])
    code = str(interface["typestr"])
    dtype = _TYPE_STRINGS.get(code[1:]) if code[0] in "<|=" or code[1:] in ("u1", "i1") else None
    named = str(getattr(getattr(array, "dtype", None), "name", ""))
    if named in DTYPES and code[0] != ">":  # ml_dtypes' have no type string of their own
        dtype = DTYPES[named]
    if dtype is None:
        raise _bad(name, f"has dtype {named or code}, which safetensors has not; {_dtype_advice()}")
    size = int(getattr(array, "itemsize", 0)) or int(code[2:])
    strides = interface.get("strides")
    if strides is not None and not _is_dense(shape, tuple(s // size for s in strides)):
        raise _bad(name, _not_dense(shape, tuple(strides)))
    count = 1
    for extent in shape:
        count *= extent
    address, read_only = interface["data"]
    return _Array(address, count * size, dtype, shape, device, array, writable=not read_only)


def _is_dense(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    if 0 in shape:
        return True
    expected = 1
    for extent, stride in zip(reversed(shape), reversed(strides), strict=True):
        if extent != 1 and stride != expected:
            return False
        expected *= extent
    return True


def _of_dlpack(name: str, found: dict[str, Any]) -> _Array:
    kind = (found["code"], found["bits"])
    packed = (*kind, found["lanes"]) == _DLPACK_F4
    dtype = "F4" if packed else _DLPACK.get(kind) if found["lanes"] == 1 else None
    if dtype is None:
        shown = f"DLPack dtype code {kind[0]} with {kind[1]} bits"
        raise _bad(name, f"has {shown}, which safetensors has not; {_dtype_advice()}")
    shape = tuple(found["shape"])
    if not _is_dense(shape, tuple(found["strides"])):
        raise _bad(name, _not_dense(shape, tuple(found["strides"])))
    nbytes = found["bits"] * found["lanes"] // 8
    for extent in shape:
        nbytes *= extent
    if packed and shape:
        shape = (*shape[:-1], shape[-1] * 2)
    if found["device_type"] in _CPU_DEVICES:
        device = HOST
    elif found["device_type"] in _CUDA_DEVICES:
        device = found["device_id"]
    else:
        raise _bad(name, f"is on a device of DLPack type {found['device_type']}; only the host's "
                         "memory and CUDA's can be registered")  # fmt: skip
    return _Array(
        found["address"], nbytes, dtype, shape, device, found["kept"], writable=found["writable"]
    )
