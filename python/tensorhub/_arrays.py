# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Arrays that are no tensors of torch: where they are, and what is wrong with them."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tensorhub import _native
from tensorhub._dtypes import ADVICE, BY_DLPACK, BY_NAME, BY_TYPE_STRING, DLPACK_F4
from tensorhub._errors import InvalidArgumentError
from tensorhub._watch import Watch, array_address, type_of_arrays

__all__ = ["HOST", "Found", "Shape", "bad", "find_array", "not_dense_text"]

Shape = tuple[int, ...]

HOST = -1

_CPU_DEVICES = (1, 3, 11)  # plain, page-locked by CUDA, page-locked by ROCm
_CUDA_DEVICES = (2, 13)  # plain, managed
_KINDS = (
    "give a torch tensor, a NumPy array, or what has DLPack, the buffer protocol or "
    "__cuda_array_interface__"
)


@dataclass
class Found:
    """Memory that can be registered, and what keeps it."""

    address: int
    nbytes: int
    dtype: str
    shape: Shape
    device: int
    kept: Any
    writable: bool = True


def bad(name: str, why: str) -> InvalidArgumentError:
    return InvalidArgumentError(f"tensor {name!r} {why}")


def not_dense_text(shape: Shape, strides: Shape, unit: str = "") -> str:
    return (
        f"is not contiguous (shape {list(shape)}, strides {list(strides)}{unit}); register the "
        "tensor that it is a view of, or a .contiguous() copy that you keep up to date"
    )


def find_array(name: str, array: Any, watch: Watch) -> Found:
    """Where it is. TypeError and InvalidArgumentError name it."""
    if isinstance(array, type_of_arrays()):
        return _of_numpy(name, array, watch)
    _refuse_copies(name, array)
    interface, device = _interface_of(array)
    if interface is not None:
        found = _of_interface(name, array, interface, device)
        # An owner that makes its memory when asked has other memory the second time.
        again, _ = _interface_of(array)
        if again is None or again["data"] != interface["data"]:
            raise bad(name, "makes new memory whenever it is asked for it; register what it makes")
        found.kept = (array, interface)
        watch.interface(name, array, interface["data"])
        return found
    return _of_exporter(name, array)


def _interface_of(array: Any) -> tuple[Mapping[str, Any] | None, int]:
    interface = getattr(array, "__cuda_array_interface__", None)
    if interface is not None:
        return interface, _cuda_device(array)
    return getattr(array, "__array_interface__", None), HOST


def _refuse_copies(name: str, array: Any) -> None:
    """A scalar of NumPy shows the memory of an array that has ended when one looks."""
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(array, numpy.generic):
        raise TypeError(
            f"tensor {name!r} is a scalar, a numpy.{type(array).__name__}, which has no memory of "
            "its own; give numpy.array(...) of it, and keep that up to date"
        )


def _of_numpy(name: str, array: Any, watch: Watch) -> Found:
    masked = sys.modules.get("numpy.ma")
    if masked is not None and isinstance(array, masked.MaskedArray):
        raise bad(name, "is a masked array, whose mask is not in its bytes; give .data, or .mask "
                        "as a tensor of its own")  # fmt: skip
    found = _of_interface(name, array, array.__array_interface__, HOST)
    if array_address(array) == found.address:
        watch.array(name, array, found.address)
    else:
        watch.interface(name, array, array.__array_interface__["data"])
    return found


def _cuda_device(array: Any) -> int:
    device = getattr(array, "device", None)
    number = getattr(device, "id", device)
    return number if isinstance(number, int) else 0


def _of_interface(name: str, array: Any, interface: Mapping[str, Any], device: int) -> Found:
    try:
        shape = tuple(map(int, interface["shape"]))
        code = str(interface["typestr"])
        address, read_only = interface["data"]
        strides = interface.get("strides")
        strides = None if strides is None else tuple(map(int, strides))
        mask = interface.get("mask")
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise bad(name, "has an array interface that says no shape, type and address of memory "
                        f"({type(error).__name__}: {error}); give numpy.asarray(...) of it, and "
                        "keep that") from None  # fmt: skip
    if mask is not None:
        raise bad(name, "has a mask, which is not in its bytes; give it without one")
    dtype = _dtype_of_interface(name, array, code)
    size = int(code[2:])
    if strides is not None and not _is_dense(shape, strides, size):
        raise bad(name, not_dense_text(shape, strides, " bytes"))
    return Found(
        int(address), _count(shape) * size, dtype, shape, device, array, writable=not read_only
    )


def _dtype_of_interface(name: str, array: Any, code: str) -> str:
    dtype = BY_TYPE_STRING.get(code[1:])
    named = ""
    if dtype is None:  # ml_dtypes' have no type string of their own
        named = str(getattr(getattr(array, "dtype", None), "name", ""))
        dtype = BY_NAME.get(named)
    if dtype is None:
        raise bad(name, f"has dtype {named or code}, which safetensors has not; {ADVICE}")
    if code[0] == ">" and code[2:] != "1":
        raise bad(name, f"has dtype {code}, of the other byte order; {ADVICE}")
    return dtype


def _is_dense(shape: Shape, strides: Shape, size: int) -> bool:
    """Whether elements lie one behind the other; strides are in units of which one has ``size``."""
    if 0 in shape:
        return True
    expected = size
    for extent, stride in zip(reversed(shape), reversed(strides), strict=True):
        if extent != 1 and stride != expected:
            return False
        expected *= extent
    return True


def _count(shape: Shape) -> int:
    count = 1
    for extent in shape:
        count *= extent
    return count


def _of_exporter(name: str, array: Any) -> Found:
    """By DLPack or the buffer protocol, which keep what they describe."""
    # A memoryview has strides also where an exporter leaves them out (ctypes).
    exporter = _exported(name, array) if hasattr(array, "__dlpack__") else _viewed(name, array)
    found = None if exporter is None else _native.describe_array(exporter)
    if found is None:
        raise TypeError(f"tensor {name!r} is a {type(array).__name__}; {_KINDS}")
    return _of_dlpack(name, found)


def _exported(name: str, array: Any) -> Any:
    """What DLPack gives of it, and never a copy, into which a fetch would go unseen."""
    try:
        return array.__dlpack__(max_version=(1, 1), copy=False)
    except TypeError:  # an exporter of before DLPack 1.0
        return array
    except BufferError as error:
        raise bad(name, f"gives no memory of its own by DLPack: {error}") from None


def _viewed(name: str, array: Any) -> memoryview | None:
    try:
        view = memoryview(array)
    except TypeError:
        return None
    if view.format[:1] in (">", "!") and view.itemsize > 1:
        raise bad(name, f"has dtype {view.format}, of the other byte order; {ADVICE}")
    if not view.c_contiguous:
        raise bad(name, not_dense_text(view.shape or (), view.strides or (), " bytes"))
    return view


def _of_dlpack(name: str, found: dict[str, Any]) -> Found:
    kind = (found["code"], found["bits"])
    packed = (*kind, found["lanes"]) == DLPACK_F4
    dtype = "F4" if packed else BY_DLPACK.get(kind) if found["lanes"] == 1 else None
    if dtype is None:
        shown = f"DLPack dtype code {kind[0]} with {kind[1]} bits"
        raise bad(name, f"has {shown}, which safetensors has not; {ADVICE}")
    shape = tuple(found["shape"])
    if not _is_dense(shape, tuple(found["strides"]), 1):
        raise bad(name, not_dense_text(shape, tuple(found["strides"])))
    nbytes = _count(shape) * found["bits"] * found["lanes"] // 8
    if packed and shape:
        shape = (*shape[:-1], shape[-1] * 2)
    device = _dlpack_device(name, found)
    return Found(
        found["address"], nbytes, dtype, shape, device, found["kept"], writable=found["writable"]
    )


def _dlpack_device(name: str, found: dict[str, Any]) -> int:
    if found["device_type"] in _CPU_DEVICES:
        return HOST
    if found["device_type"] in _CUDA_DEVICES:
        return int(found["device_id"])
    raise bad(name, f"is on a device of DLPack type {found['device_type']}; only the host's "
                    "memory and CUDA's can be registered")  # fmt: skip
