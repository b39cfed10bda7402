# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""examples/rl runs: a worker is killed, another one joins, and all versions are kept."""

import csv
import pathlib
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed in this environment")

PROGRAM = pathlib.Path(__file__).parents[2] / "examples/rl/rl.py"
STEPS = 12


def test_a_short_run(tmp_path):
    out, kept = tmp_path / "out", tmp_path / "kept"
    words = ["--steps", str(STEPS), "--batch", "16", "--out", out, "--keep-versions", kept]
    run = subprocess.run(
        [sys.executable, PROGRAM, *words], capture_output=True, text=True, check=False, timeout=120
    )
    # Too short a run to learn anything for sure. UCX may say of the one that is killed that it
    # could not connect to it.
    said = run.stderr.rstrip()
    assert run.returncode == 0 or said.endswith("the reward did not rise"), said
    assert "rollout-0 is killed" in run.stdout
    assert "rollout-2 joins" in run.stdout
    with open(out / "run.csv", encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert {int(row["step"]) for row in rows} == set(range(1, STEPS + 1))
    assert all(0 <= float(row["reward"]) <= 1 and int(row["staleness"]) >= 0 for row in rows)
    assert len(list(kept.iterdir())) == STEPS
    torch.load(kept / f"version-{STEPS + 1:05}.pt")
