#!/usr/bin/env python3
# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Processes that read one another's device memory: our programs and UCX's own CUDA transports, on a
driver without a GPU (tests/standin_driver). How fast it was is not looked at here.

    gpu_test.py FOLDER-OF-THE-STANDIN FOLDER-OF-UCX FOLDER-OF-THE-BINARIES

Without a UCX that has CUDA in it (tools/gpu/get_ucx.sh fetches one) it is skipped.
"""

import glob
import json
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import binaries  # noqa: E402  (in the folder above)


def ucx_of(folder):
    """The libraries of the newest UCX there."""
    found = glob.glob(os.path.join(folder, "cuda*", "libucx", "lib", "libucp.so.0"))
    return os.path.dirname(max(found)) if found else None


class GpuTest(unittest.TestCase):
    def tearDown(self):
        os.environ.pop("TENSORHUB_STANDIN_DEVICES", None)

    def measure(self):
        done = binaries.run("tensorhub-bench", "device", "--quick", "--gather", "all", "-o", "json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_doctor_finds_nothing_wrong(self):
        done = binaries.run("tensorhubctl", "doctor", "--offline", "-o", "json")
        self.assertEqual(done.returncode, 0, done.stdout)
        results = {check["check"]: check for check in json.loads(done.stdout)["checks"]}
        for check in ("gpu driver", "gpu 0", "gpu allocator", "ucx, gpu", "one-sided, gpu"):
            self.assertEqual(results[check]["result"], "ok", results[check])
        # The bytes of a process that sleeps, so no one else's hand was in it.
        self.assertIn("cuda_ipc/cuda from a sleeping process", results["one-sided, gpu"]["detail"])

    def test_bench_measures_all_that_it_promises(self):
        report = self.measure()
        names = {figure["name"] for figure in report["figures"]}
        self.assertEqual(names, {"read.same-gpu.300", "read.same-gpu.2000.time",
                                 "publish.stall.same-gpu", "host-copy.out", "host-copy.in",
                                 "digests.rate", "digests.read"})
        self.assertEqual({beside["name"] for beside in report["beside"]},
                         {"gather.gets.2000", "gather.kernel.2000"})
        self.assertIn("same-gpu went one-sided", " ".join(report["notes"]))

    def test_bench_reads_from_a_second_device(self):
        os.environ["TENSORHUB_STANDIN_DEVICES"] = "2"
        report = self.measure()
        self.assertIn("read.peer.300", {figure["name"] for figure in report["figures"]})
        self.assertIn("peer went one-sided", " ".join(report["notes"]))


def main():
    standin, ucx_folder = sys.argv[1:3]
    del sys.argv[1:3]
    ucx = ucx_of(ucx_folder)
    if ucx is None:
        print(f"gpu_test: Skipped\nno UCX with CUDA in {ucx_folder} (tools/gpu/get_ucx.sh)")
        return
    os.environ["LD_LIBRARY_PATH"] = f"{ucx}:{standin}"
    os.environ["UCX_MODULE_DIR"] = os.path.join(ucx, "ucx")
    binaries.main()


if __name__ == "__main__":
    main()
