# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""examples/rl_vllm runs: FSDP2 ranks, vLLMs that follow, one that is killed, one that starts."""

import csv
import pathlib
import subprocess
import sys

PROGRAM = pathlib.Path(__file__).parents[2] / "examples/rl_vllm/run.py"
STEPS = 60


def test_a_short_run(tmp_path):
    run = subprocess.run(
        [sys.executable, PROGRAM, "--steps", str(STEPS), "--out", tmp_path],
        capture_output=True, text=True, check=False, timeout=500,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout + run.stderr
    assert "rollout-0 is killed" in run.stdout
    assert "rollout-2 starts from peers" in run.stdout
    with open(tmp_path / "run.csv", encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert {int(row["step"]) for row in rows} == set(range(1, STEPS + 1))
    assert {"rollout-0", "rollout-1"} <= {row["worker"] for row in rows}
    assert sum(int(row["from_trainer"]) for row in rows) > 0
    assert sum(int(row["from_peers"]) for row in rows) > 0
