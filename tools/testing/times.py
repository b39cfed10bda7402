# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""The slowest tests of the last run, and whether they wait or compute."""

import json
import sys

_SHOWN = 30


def print_times(places):
    if not places.times.exists():
        print(
            "tools/test.sh times: no tests have run in this checkout; run tools/test.sh first",
            file=sys.stderr,
        )
        return 1
    times = json.loads(places.times.read_text(encoding="utf-8"))
    slowest = sorted(times.items(), key=lambda item: -item[1][0])
    print(f"{'seconds':>8}{'waited':>8}{'computed':>10}  test")
    for name, (passed, used) in slowest[:_SHOWN]:
        print(f"{passed:8.1f}{max(0.0, passed - used):8.1f}{used:10.1f}  {name}")
    whole, computed = (sum(column) for column in zip(*times.values()))
    print(f"{whole:8.1f}{'':8}{computed:10.1f}  all {len(times)}, one after the other")
    return 0
