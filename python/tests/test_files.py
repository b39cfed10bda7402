# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""tensorhub.safetensors: files to the hub and back."""

import numpy as np
import pytest
import tensorhub
import tensorhub.safetensors
from safetensors_file import write


def test_files_come_back_bit_for_bit(server, connect, tmp_path):
    values = np.arange(24, dtype=np.float32).reshape(4, 6)
    source = tmp_path / "model.safetensors"
    write(source, values, {"format": "pt", "step": "7"})
    with tensorhub.safetensors.publish(server, connect.model, 7, source) as publication:
        assert "version 7" in publication.said
        tensorhub.safetensors.fetch(server, connect.model, None, tmp_path / "copy")
        assert (tmp_path / "copy" / "model.safetensors").read_bytes() == source.read_bytes()
        # And straight into memory.
        reader = connect("reader")
        target = np.zeros((4, 6), np.float32)
        reader.register({"w": target})
        reader.fetch(tensorhub.version(7))
        assert np.array_equal(values, target)
        reader.leave(drain_timeout=0)
    assert not publication.alive


def test_errors_are_those_of_the_client(server, connect, tmp_path):
    with pytest.raises(tensorhub.Error) as caught:
        tensorhub.safetensors.publish(server, connect.model, 1, tmp_path / "missing")
    assert "missing" in str(caught.value)
    with pytest.raises(tensorhub.NotFoundError):
        tensorhub.safetensors.fetch(server, connect.model, None, tmp_path / "copy")
