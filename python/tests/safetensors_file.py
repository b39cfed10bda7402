# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""A safetensors file, as others write it."""

import json
import struct


def write(path, values, metadata):
    header = {
        "__metadata__": metadata,
        "w": {"dtype": "F32", "shape": list(values.shape), "data_offsets": [0, values.nbytes]},
    }
    encoded = json.dumps(header).encode()
    encoded += b" " * (-len(encoded) % 8)
    path.write_bytes(struct.pack("<Q", len(encoded)) + encoded + values.tobytes())
