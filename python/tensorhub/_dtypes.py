# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""The dtypes of safetensors, by the names that others have for them."""

from __future__ import annotations

__all__ = ["ADVICE", "BY_DLPACK", "BY_NAME", "BY_TYPE_STRING", "DLPACK_F4"]

ADVICE = "convert it, or view it as uint8"

# The names that torch, ml_dtypes and NumPy use, and safetensors'. Those of ml_dtypes with less than
# a byte are left out: there each number has a byte of its own, and in safetensors they are packed.
BY_NAME = {
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
}

# DLPack's (code, bits) for one lane.
BY_DLPACK = {
    (0, 8): "I8", (0, 16): "I16", (0, 32): "I32", (0, 64): "I64",
    (1, 8): "U8", (1, 16): "U16", (1, 32): "U32", (1, 64): "U64",
    (2, 16): "F16", (2, 32): "F32", (2, 64): "F64",
    (4, 16): "BF16", (5, 64): "C64", (6, 8): "BOOL",
    (10, 8): "F8_E4M3", (12, 8): "F8_E5M2", (14, 8): "F8_E8M0",
}  # fmt: skip
DLPACK_F4 = (17, 4, 2)

# What numpy-like type strings (`<f4`) say.
BY_TYPE_STRING = {
    "b1": "BOOL", "u1": "U8", "i1": "I8", "u2": "U16", "i2": "I16", "u4": "U32", "i4": "I32",
    "u8": "U64", "i8": "I64", "f2": "F16", "f4": "F32", "f8": "F64", "c8": "C64",
}  # fmt: skip
