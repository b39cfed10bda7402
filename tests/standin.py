# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""The environment in which processes find a GPU that is not there: the stand-in for its driver
(tests/standin_driver) and a UCX with CUDA in it (tools/gpu/get_ucx.sh fetches one)."""

import glob
import os


def environment(binaries):
    """Of the build that the folder of binaries belongs to; None where either is missing."""
    build = os.path.dirname(os.path.abspath(binaries))
    driver = os.path.join(build, "standin_driver")
    found = glob.glob(os.path.join(os.path.dirname(build), "ucx", "cuda*", "libucx", "lib",
                                   "libucp.so.0"))
    if not found or not os.path.exists(os.path.join(driver, "libcuda.so.1")):
        return None
    ucx = os.path.dirname(max(found))
    return {"LD_LIBRARY_PATH": f"{ucx}:{driver}", "UCX_MODULE_DIR": os.path.join(ucx, "ucx")}
