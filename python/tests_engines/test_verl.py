# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""verl's own manager moves weights by the plug-in, where verl is installed."""

import importlib.util
import pathlib
import subprocess
import sys

import pytest

SCRIPT = pathlib.Path(__file__).with_name("verl_manager.py")


@pytest.mark.skipif(
    importlib.util.find_spec("verl") is None, reason="verl is not installed in this environment"
)
def test_each_sync_brings_its_own_weights_also_after_going_back():
    done = subprocess.run([sys.executable, SCRIPT], capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    assert [line for line in lines if line.startswith("sync")] == [
        f"sync {step} {version} {[{'w0': 10.0 * step, 'w1': 10.0 * step + 1}] * 2}"
        for step, version in ((1, 1), (2, 2), (1, 3))
    ], done.stderr
    assert "verified [(3, 2, 80), (3, 2, 80)]" in lines, done.stderr
    said = [line for line in lines if line.startswith("differing")]
    assert len(said) == 2
    assert all("published as version 3: w1 differ" in line for line in said), said
