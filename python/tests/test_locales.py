# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""A user's locale changes nothing: libraries below compare and read texts in it."""

import os
import pathlib
import subprocess
import sys

import pytest

SOURCES = pathlib.Path("/usr/share/i18n/locales")
PROGRAM = """
import locale, sys
import numpy as np, tensorhub
locale.setlocale(locale.LC_ALL, "")
assert locale.setlocale(locale.LC_ALL).startswith(sys.argv[2]), locale.setlocale(locale.LC_ALL)
trainer, rollout = (tensorhub.connect(sys.argv[1], sys.argv[2], g) for g in ("trainer", "rollout"))
theirs, ours = np.arange(1000, dtype=np.float32) / 8, np.zeros(1000, np.float32)
trainer.register({"w": theirs})
trainer.publish(1)
rollout.register({"w": ours})
rollout.fetch(tensorhub.latest(), timeout=60)
assert np.array_equal(ours, theirs)
with tensorhub.serve() as own:
    assert tensorhub.connect(own, "m", "g").held() is None
"""


# Turkish has another small "I", Japanese no small letters, German a comma in numbers.
@pytest.mark.parametrize("name", ["tr_TR", "ja_JP", "de_DE"])
def test_a_version_arrives(server, tmp_path, name):
    if not (SOURCES / name).exists():
        pytest.skip(f"there is no {SOURCES / name}: apt-get install locales")
    made = tmp_path / f"{name}.UTF-8"
    subprocess.run(["localedef", "-i", name, "-f", "UTF-8", made], check=True, capture_output=True)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, server, name],
        env={**os.environ, "LOCPATH": str(tmp_path), "LC_ALL": f"{name}.UTF-8"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
