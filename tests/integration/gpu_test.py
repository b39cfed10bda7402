#!/usr/bin/env python3
# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Processes that read one another's device memory: our programs and UCX's own CUDA transports, on a
driver without a GPU (tests/standin_driver). How fast it was is not looked at here.

    gpu_test.py FOLDER-OF-THE-BINARIES
"""

import json
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import binaries  # noqa: E402  (in the folder above)
import standin  # noqa: E402


SMALL = ("--quick", "--bytes", "8MiB", "--small-tensors", "1000", "--rounds", "1")


class GpuTest(unittest.TestCase):
    def setUp(self):
        self.environment = dict(os.environ)

    def tearDown(self):
        os.environ.clear()
        os.environ.update(self.environment)

    def measure(self, *words):
        done = binaries.run("tensorhub-bench", "device", *SMALL, *words, "-o", "json")
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
        report = self.measure("--gather", "all")
        names = {figure["name"] for figure in report["figures"]}
        self.assertEqual(names, {"read.same-gpu.300", "read.same-gpu.1000.time",
                                 "publish.stall.same-gpu", "host-copy.out", "host-copy.in",
                                 "digests.rate", "digests.read"})
        self.assertEqual({beside["name"] for beside in report["beside"]},
                         {"gather.gets.1000", "gather.kernel.1000",
                          "publish.stall.same-gpu.no-digests"})
        self.assertIn("same-gpu went one-sided_over_copies_of_CUDA_device_0", report["notes"])

    def test_reads_by_ucx(self):
        report = self.measure("--what", "reads", "--by", "ucx")
        self.assertRegex(report["notes"][0], "same-gpu went one-sided_over_.*_cuda_ipc/cuda")

    def test_reads_from_a_second_device(self):
        os.environ["TENSORHUB_STANDIN_DEVICES"] = "2"
        report = self.measure("--what", "reads")
        self.assertIn("read.peer.300", {figure["name"] for figure in report["figures"]})
        self.assertIn("peer went one-sided_over_copies_of_CUDA_device_0", report["notes"])


def main():
    os.environ.update(standin.environment(sys.argv[-1]))
    binaries.main()


if __name__ == "__main__":
    main()
