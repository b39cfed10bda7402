# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the binaries as programs: running them, reading their reports, and the test's own main.
The folder of the binaries is the test's last argument."""

import json
import os
import subprocess
import sys
import unittest

SKIPPED = 77
_folder = ""


def use(folder):
    """For a program that is no test."""
    global _folder
    _folder = folder


def path(name):
    return os.path.join(_folder, name)


def run(*words):
    return subprocess.run([path(words[0]), *words[1:]], capture_output=True, text=True,
                          check=False)


def entries_of(output):
    """A report's figures and what is beside them, by name."""
    report = json.loads(output)
    return {entry["name"]: entry for entry in report["figures"] + report["beside"]}


def main():
    global _folder
    _folder = sys.argv.pop()
    unittest.main(module="__main__")


def main_in_the_laboratory():
    """Skips, with netlab's reason, where there can be no laboratory."""
    global _folder
    _folder = sys.argv[-1]
    probe = run("netlab", "with", "--hosts", "1", "--", "true")
    if probe.returncode == SKIPPED:
        print(f"skipped: {probe.stderr.strip()}")
        sys.exit(SKIPPED)
    main()
