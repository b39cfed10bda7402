# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Where things are: the checkout, what is built of it, and what runs leave behind."""

import os
import pathlib
import re


class Places:
    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.build = pathlib.Path(os.environ.get("TENSORHUB_BUILD_ROOT") or self.root / "build")
        self.test = self.build / "test"
        self.times = self.test / "times.json"
        # Of the last green run of each mode, in whatever clone: a fresh one can be compared, too.
        cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
        self.green = pathlib.Path(cache) / "tensorhub" / "green.json"

    def preset(self, name):
        return self.build / name

    def log(self, step):
        return self.test / (re.sub(r"[^a-z0-9.]+", "-", step.lower()).strip("-") + ".log")

    def shown(self, path):
        """As one types it in the checkout."""
        return os.path.relpath(path, self.root)
