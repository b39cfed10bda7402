# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""What register accepts of arrays arrives bit for bit; the rest is refused by name."""

import array
import ctypes
import mmap
import random

import numpy as np
import pytest
import tensorhub
from tensorhub._layouts import layout_of

ml_dtypes = pytest.importorskip("ml_dtypes")

DTYPES = {
    "BOOL": "bool", "U8": "uint8", "I8": "int8", "U16": "uint16", "I16": "int16", "U32": "uint32",
    "I32": "int32", "U64": "uint64", "I64": "int64", "F16": "float16", "F32": "float32",
    "F64": "float64", "C64": "complex64", "BF16": ml_dtypes.bfloat16,
    "F8_E4M3": ml_dtypes.float8_e4m3fn, "F8_E5M2": ml_dtypes.float8_e5m2,
    "F8_E8M0": ml_dtypes.float8_e8m0fnu,
}  # fmt: skip
GUARD = 64


def bytes_of(value):
    """Those of the elements, in their order."""
    value = getattr(value, "values", value)
    return value.tobytes() if isinstance(value, np.ndarray) else memoryview(value).tobytes()


def guarded(dtype, shape):
    """An array in the midst of others, and all of it."""
    nbytes = int(np.prod(shape)) * np.dtype(dtype).itemsize
    block = np.full(nbytes + 2 * GUARD, 0xA5, np.uint8)
    return block[GUARD : GUARD + nbytes].view(dtype).reshape(shape), block


def roundtrip(connect, values):
    """Registers, publishes and fetches all of them; asserts that nothing else was written."""
    trainer, rollout = connect("trainer"), connect("rollout")
    trainer.register(values)
    trainer.publish(1)
    _, specs, _ = layout_of(trainer, 1)
    targets = {spec.name: guarded(DTYPES[spec.dtype], spec.shape) for spec in specs}
    rollout.register({name: target for name, (target, _) in targets.items()})
    rollout.fetch(tensorhub.version(1))
    assert targets.keys() == values.keys()
    for name, value in values.items():
        target, block = targets[name]
        assert target.tobytes() == bytes_of(value), name
        assert set(block[:GUARD]) | set(block[len(block) - GUARD :]) == {0xA5}, name


def refused(client, value, *, name="some.w"):
    with pytest.raises((tensorhub.InvalidArgumentError, TypeError)) as caught:
        client.register({"fine": np.zeros(3), name: value})
    assert name in str(caught.value)
    assert "\n" not in str(caught.value)
    return caught.value


def random_bytes(rng, nbytes):
    return bytearray(rng.randbytes(nbytes))


def random_view(rng, dtype):
    """A view of random memory: with steps, reversed, repeated, turned, or a field of records."""
    shape = tuple(rng.choice((0, 1, 2, 3, 5)) for _ in range(rng.randrange(4)))
    kind = rng.choice(("plain", "field", "offset"))
    if kind == "field":
        record = np.dtype([("before", f"V{rng.randrange(4)}"), ("w", dtype),
                           ("after", f"V{rng.randrange(4)}")])  # fmt: skip
        count = int(np.prod(shape))
        memory = random_bytes(rng, count * record.itemsize)
        view = np.frombuffer(memory, record, count).reshape(shape)["w"]
    else:
        ahead = rng.randrange(1, 9) if kind == "offset" else 0
        dtype = np.dtype(dtype)
        count = int(np.prod(shape))
        memory = random_bytes(rng, ahead + count * dtype.itemsize)
        view = np.frombuffer(memory, dtype, count, offset=ahead).reshape(shape)
    for _ in range(rng.randrange(3)):
        axis = rng.randrange(view.ndim) if view.ndim else None
        change = rng.choice(("step", "turn", "repeat", "add"))
        if change == "step" and axis is not None:
            cut = [slice(None)] * view.ndim
            cut[axis] = slice(rng.choice((None, 1)), None, rng.choice((-2, -1, 1, 2)))
            view = view[tuple(cut)]
        elif change == "turn":
            view = view.transpose(rng.sample(range(view.ndim), view.ndim))
        elif change == "repeat":
            view = np.broadcast_to(view, (rng.randrange(1, 3), *view.shape))
        elif change == "add":
            view = view[np.newaxis]
    return view


@pytest.mark.parametrize("seed", range(8))
def test_dense_views_arrive_and_others_are_refused(connect, seed):
    rng = random.Random(seed)
    views = {f"w{i}": random_view(rng, rng.choice(list(DTYPES.values()))) for i in range(120)}
    dense = {name: view for name, view in views.items() if view.flags.c_contiguous}
    assert 10 < len(dense) < 110
    roundtrip(connect, dense)
    client = connect("nobody")
    for name, view in views.items():
        if name not in dense:
            assert "not contiguous" in str(refused(client, view, name=name))
    client.register(dense)  # what was refused before has left nothing
    assert client.held() is None


@pytest.mark.parametrize("name", DTYPES)
def test_each_dtype_arrives(connect, name):
    dtype = np.dtype(DTYPES[name])
    values = np.frombuffer(random_bytes(random.Random(name), 6 * dtype.itemsize), dtype)
    if name == "BOOL":
        values = values.view(np.uint8) % 2 == 1
    matrix = values.copy().reshape(2, 3)
    roundtrip(
        connect, {"w": values, "matrix": matrix, "none": values[:0], "one": values.copy()[3:4]}
    )


def dead_owner():
    return np.arange(5000, dtype=np.int32).reshape(50, 100)[10:20].view(np.uint8).reshape(-1)[7:]


def mapped(access):
    block = mmap.mmap(-1, 4096, access=access)
    return np.frombuffer(block, np.int16)


class Shown:
    """Something that shows an array's memory by NumPy's attribute."""

    def __init__(self, values):
        self.values = values

    @property
    def __array_interface__(self):
        return self.values.__array_interface__


class Lent:
    """The same by DLPack, of before and after its version 1.0."""

    def __init__(self, values):
        self.values = values

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, **options):
        return self.values.__dlpack__(**options)


class LentOldWay(Lent):
    def __dlpack__(self, stream=None):
        return self.values.__dlpack__()


ACCEPTED = {
    "a view whose owner has no name": dead_owner,
    "no dimensions": lambda: np.array(2.5),
    "no elements": lambda: np.zeros((3, 0, 2), np.float16)[::-1],
    "one element of a reversed array": lambda: np.arange(3.0)[::-1][1:2],
    "mapped, written to": lambda: mapped(mmap.ACCESS_WRITE),
    "mapped, read only": lambda: mapped(mmap.ACCESS_READ),
    "bytes": lambda: b"0123456789",
    "a bytearray": lambda: bytearray(b"abcdefgh"),
    "array.array": lambda: array.array("d", [1.0, -0.0, float("nan")]),
    "ctypes": lambda: (ctypes.c_int32 * 4)(1, -2, 3, -4),
    "a memoryview": lambda: memoryview(bytearray(24)).cast("h", (3, 4)),
    "by attribute": lambda: Shown(np.arange(8, dtype=np.int64)),
    "by DLPack": lambda: Lent(np.arange(6, dtype=np.float32).reshape(2, 3)),
    "by DLPack of old": lambda: LentOldWay(np.arange(6, dtype=np.float32)),
}


def test_whatever_has_memory_arrives(connect):
    roundtrip(connect, {name: make() for name, make in ACCEPTED.items()})


class Anew(Shown):
    """As an image does: memory of its own is made whenever somebody asks."""

    @property
    def __array_interface__(self):
        made = self.values.copy()
        return {**made.__array_interface__, "made": made}


class Copied(Lent):
    def __dlpack__(self, *, copy=None, **options):
        if copy is False:
            raise BufferError("only as a copy")
        return self.values.copy().__dlpack__(**options)


class Written:
    """What an image shows: bytes instead of an address."""

    __array_interface__ = {"shape": (4,), "typestr": "|u1", "data": b"abcd", "version": 3}


BIG = ctypes.c_int32.__ctype_be__ * 4
REFUSED = {
    "a scalar": (lambda: np.float32(3.5), "scalar"),
    "a scalar that a sum gave": (lambda: np.ones(3).sum(), "scalar"),
    "a number": (lambda: 3.5, "is a float"),
    "the other byte order": (lambda: np.zeros(3, ">f4"), "dtype"),
    "the other byte order of ctypes": (lambda: BIG(1, 2, 3, 4), "dtype"),
    "a mask": (lambda: np.ma.masked_array([1.0, 2.0], [False, True]), "mask"),
    "records": (lambda: np.zeros(3, "f4,u1"), "dtype"),
    "times": (lambda: np.zeros(3, "M8[s]"), "dtype"),
    "objects": (lambda: np.array([{}, {}]), "dtype"),
    "texts": (lambda: np.array(["a"]), "dtype"),
    "more than 64 bits": (lambda: np.zeros(3, np.longdouble), "dtype"),
    "float4, a byte each": (lambda: np.zeros(4, ml_dtypes.float4_e2m1fn), "dtype"),
    "float6, a byte each": (lambda: np.zeros(4, ml_dtypes.float6_e2m3fn), "dtype"),
    "every other byte": (lambda: memoryview(bytearray(8))[::2], "not contiguous"),
    "a field in a view": (lambda: memoryview(np.zeros(4, "f4,u1")["f0"]), "not contiguous"),
    "a field by attribute": (lambda: Shown(np.zeros(4, "f4,u1")["f0"]), "not contiguous"),
    "a field by DLPack": (lambda: Lent(np.zeros(4, "f4,u1")["f0"]), "by DLPack"),
    "steps by DLPack": (lambda: Lent(np.zeros(4)[::2]), "not contiguous"),
    "memory made anew": (lambda: Anew(np.arange(40000)), "makes new memory"),
    "a copy by DLPack": (lambda: Copied(np.arange(4)), "by DLPack"),
    "bytes by attribute": (Written, "interface"),
}  # fmt: skip


@pytest.mark.parametrize("kind", REFUSED)
def test_what_has_no_memory_of_its_values_is_refused(connect, kind):
    make, said = REFUSED[kind]
    client = connect("g")
    assert said in str(refused(client, make()))
    client.register({"w": np.ones(3)})
    client.publish(1)
