# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""A rollout worker that comes and goes: follows a model, and leaves in order on SIGTERM."""

import os
import signal
import sys

import numpy as np

import tensorhub

# `with` is left then: what this worker feeds is given another source first.
signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(0))

weights = {"layer.weight": np.zeros((1024, 1024), np.float32)}  # or your engine's parameters
with tensorhub.connect(
    os.environ["TENSORHUB_SERVER"], "demo", os.environ["TENSORHUB_GROUP"], spot=True
) as client:
    client.register(weights)
    version = 0
    while True:
        version = client.wait(tensorhub.newer_than(version), timeout=3600)
        result = client.fetch(tensorhub.newer_than(version - 1))
        print(result, flush=True)
