# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""The environment in which processes find a GPU that is not there: the stand-in for its driver
(tests/standin_driver) and a UCX with CUDA in it (tools/gpu/get_ucx.sh fetches one)."""

import glob
import os
import sys

import binaries


def environment(folder):
    """Of the build that this folder of binaries belongs to. Without one of the two the program ends
    as skipped."""
    build = os.path.dirname(os.path.abspath(folder))
    driver = os.path.join(build, "standin_driver")
    found = glob.glob(os.path.join(os.path.dirname(build), "ucx", "cuda*", "libucx", "lib",
                                   "libucp.so.0"))
    if not found or not os.path.exists(os.path.join(driver, "libcuda.so.1")):
        print("skipped: no UCX with CUDA (tools/gpu/get_ucx.sh), or no stand-in for the driver")
        sys.exit(binaries.SKIPPED)
    ucx = os.path.dirname(max(found))
    return {"LD_LIBRARY_PATH": f"{ucx}:{driver}", "UCX_MODULE_DIR": os.path.join(ucx, "ucx")}
