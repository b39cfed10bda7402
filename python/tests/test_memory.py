# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""What can be registered, and what is refused and why."""

import array
import ctypes

import numpy as np
import pytest
import tensorhub
from tensorhub._tensors import read_tensors


def described(value):
    (only,) = read_tensors({"t": value}).described
    return only


@pytest.mark.parametrize(
    ("numpy_name", "safetensors_name"),
    [
        ("bool", "BOOL"), ("uint8", "U8"), ("int8", "I8"), ("uint16", "U16"), ("int16", "I16"),
        ("uint32", "U32"), ("int32", "I32"), ("uint64", "U64"), ("int64", "I64"),
        ("float16", "F16"), ("float32", "F32"), ("float64", "F64"), ("complex64", "C64"),
    ],
)  # fmt: skip
def test_numpy_dtypes(numpy_name, safetensors_name):
    values = np.zeros((3, 5), numpy_name)
    name, address, nbytes, dtype, shape, device, whole, offset = described(values)
    assert (name, dtype, shape, device) == ("t", safetensors_name, (3, 5), -1)
    assert (address, nbytes) == (values.ctypes.data, values.nbytes)
    assert (whole, offset) == (None, ())


@pytest.mark.parametrize(
    ("ml_name", "safetensors_name"),
    [
        ("bfloat16", "BF16"), ("float8_e4m3fn", "F8_E4M3"), ("float8_e5m2", "F8_E5M2"),
        ("float8_e8m0fnu", "F8_E8M0"),
    ],
)  # fmt: skip
def test_small_floats_of_ml_dtypes(ml_name, safetensors_name):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    values = np.zeros(6, getattr(ml_dtypes, ml_name))
    assert described(values)[2:5] == (values.nbytes, safetensors_name, (6,))


def test_the_buffer_protocol():
    numbers = array.array("f", [1, 2, 3])
    assert described(numbers)[1:5] == (numbers.buffer_info()[0], 12, "F32", (3,))
    assert described(bytearray(7))[2:5] == (7, "U8", (7,))
    assert described((ctypes.c_int32 * 4)())[2:5] == (16, "I32", (4,))
    matrix = memoryview(bytearray(24)).cast("h", (3, 4))
    assert described(matrix)[2:5] == (24, "I16", (3, 4))


class OnlyDlpack:
    def __init__(self, values):
        self.values = values

    def __dlpack__(self, **options):
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.values.__dlpack_device__()


def test_dlpack():
    values = np.zeros((4, 2), np.int16)
    assert described(OnlyDlpack(values))[1:6] == (values.ctypes.data, 16, "I16", (4, 2), -1)
    with pytest.raises(tensorhub.InvalidArgumentError, match="'t' is not contiguous"):
        described(OnlyDlpack(values[:, ::2]))


class OnDevice:
    """What CuPy and Numba show; there is no memory behind it here."""

    def __init__(self, typestr, strides=None):
        self.__cuda_array_interface__ = {
            "shape": (2, 3), "typestr": typestr, "data": (4096, False), "version": 3,
            "strides": strides,
        }  # fmt: skip
        self.device = 1


def test_the_cuda_array_interface():
    assert described(OnDevice("<f2"))[1:6] == (4096, 12, "F16", (2, 3), 1)
    assert described(OnDevice("<f4", (12, 4)))[2] == 24
    with pytest.raises(tensorhub.InvalidArgumentError, match="contiguous"):
        described(OnDevice("<f4", (4, 8)))


def test_a_device_that_is_not_there(connect):
    with pytest.raises(tensorhub.Error) as caught:
        connect("g").register({"t": OnDevice("<f4")})
    assert caught.value.code in ("UNAVAILABLE", "FAILED_PRECONDITION", "INVALID_ARGUMENT")


def test_zero_extents_and_scalars(connect):
    client = connect("g")
    client.register({"none": np.zeros((0, 4), np.float32), "one": np.zeros((), np.int64)})
    client.publish(1)


def test_read_only_arrays_are_published_but_not_fetched_into(connect):
    values = np.arange(100, dtype=np.float32)
    values.flags.writeable = False
    trainer, rollout = connect("trainer"), connect("rollout")
    trainer.register({"w": values, "raw": b"some bytes"})
    trainer.publish(1)
    rollout.register({"w": values.copy(), "raw": b"other byte"})
    with pytest.raises(tensorhub.InvalidArgumentError, match="'raw' is read-only"):
        rollout.fetch(tensorhub.latest())


@pytest.mark.parametrize(
    ("value", "error", "said"),
    [
        (np.zeros((4, 4))[:, ::2], tensorhub.InvalidArgumentError, r"'t' is not contiguous .*copy"),
        (np.zeros(3, "complex128"), tensorhub.InvalidArgumentError, "'t' has dtype complex128"),
        (np.zeros(3, ">f4"), tensorhub.InvalidArgumentError, "'t' has dtype"),
        (np.array(["a"]), tensorhub.InvalidArgumentError, "'t' has dtype"),
        ("text", TypeError, "'t' is a str"),
        (3.5, TypeError, "'t' is a float"),
        ([1, 2], TypeError, "'t' is a list"),
        (None, TypeError, "'t' is a NoneType"),
    ],
)
def test_what_cannot_be_registered(value, error, said):
    with pytest.raises(error, match=said):
        described(value)


def test_wrong_containers():
    with pytest.raises(TypeError, match="tensors must be a dict"):
        read_tensors(5)
    with pytest.raises(TypeError, match="names of tensors must be str, not int"):
        read_tensors({5: np.zeros(1)})
    with pytest.raises(TypeError, match="pairs of a name and a tensor"):
        read_tensors([np.zeros(2)])
    assert len(read_tensors(iter([("a", np.zeros(1)), ("b", np.zeros(1))])).described) == 2


def test_overlap_and_a_second_register(connect):
    values = np.zeros(100, np.float32)
    client = connect("g")
    with pytest.raises(tensorhub.InvalidArgumentError, match="overlap"):
        client.register({"a": values[:60], "b": values[40:]})
    client.register({"a": values})
    with pytest.raises(tensorhub.FailedPreconditionError):
        client.register({"a": values})


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda client: client.publish("1"), "version must be an integer, not str"),
        (lambda client: client.publish(1.0), "version must be an integer, not float"),
        (lambda client: client.publish(True), "version must be an integer, not bool"),
        (lambda client: client.publish(1, timeout="3"), "timeout must be a number of seconds"),
        (lambda client: client.publish(1, wait_for_group=1), "wait_for_group must be a bool"),
        (lambda client: client.publish(1, stream="x"), "stream must be a CUDA stream"),
        (lambda client: client.fetch(3), "selector must be tensorhub.latest"),
        (lambda client: client.fetch(tensorhub.latest(), progress=3), "progress must be callable"),
        (lambda client: client.wait(tensorhub.latest(), None), "timeout must be a number"),
        (lambda client: tensorhub.version("3"), "number must be an integer"),
        (lambda client: tensorhub.connect(5, "m", "g"), "server must be a str, not int"),
        (lambda client: tensorhub.connect("a:1", "m", "g", rank="0"), "rank must be an integer"),
    ],
)
def test_wrong_types_name_the_argument(connect, call, said):
    with pytest.raises(TypeError, match=said):
        call(connect("g"))


def test_wrong_values_name_the_argument(connect):
    client = connect("g")
    for call, said in (
        (lambda: client.publish(-1), "version is -1"),
        (lambda: client.publish(2**64), "version is"),
        (lambda: client.publish(1, timeout=-1), "timeout is -1"),
        (lambda: client.publish(1, timeout=float("nan")), "timeout is nan"),
        (lambda: tensorhub.connect("a:1", "m", "g", digests="no"), "digests is 'no'"),
    ):
        with pytest.raises(ValueError, match=said):
            call()
    with pytest.raises(tensorhub.InvalidArgumentError, match="model"):
        tensorhub.connect("a:1", "no model", "g")


def test_numpy_integers_are_integers(connect):
    client = connect("g")
    client.register({"w": np.zeros(3)})
    client.publish(np.int64(4))
    assert client.held() == 4
