#!/usr/bin/env python3
# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Prints the tests of the bugs that are planted in some sources, one a line.

Usage: of_sources.py FILE…
  FILE   a path from the checkout's root, as git prints it; also a patch of this folder
"""

import pathlib
import sys

from plant import source_of

FOLDER = "tests/sim/planted/"


def tests_of(files):
    """Of the patches in this folder, each of which is a test (self_test.py)."""
    for patch in sorted(pathlib.Path(__file__).resolve().parent.glob("*.patch")):
        if {source_of(patch.read_text(encoding="utf-8")), FOLDER + patch.name} & set(files):
            yield f"planted_{patch.stem}"


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    for name in tests_of(sys.argv[1:]):
        print(name)
