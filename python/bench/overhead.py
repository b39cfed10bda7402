# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""What Python costs on top of C++, beside tensorhub-bench in the same run.

    python python/bench/overhead.py [--bench build/release/bin/tensorhub-bench] [--quick]

Prints one JSON object. Times are medians, in the unit that the name ends with. Each measurement has
processes of its own; run it on a quiet machine, or look at ratios only.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import time

import numpy as np
import tensorhub

TENSORS = 300
SMALL_TENSORS = 20_000


def shard(size, count):
    each = size // count // 4
    return {f"layer.{i}.weight": np.ones(each, np.float32) for i in range(count)}


def resident():
    with open("/proc/self/status", encoding="utf-8") as status:
        return int(re.search(r"VmRSS:\s+(\d+)", status.read()).group(1)) * 1024


def publisher(address, size):
    """A process of its own: serves versions as it is told on standard input."""
    with tensorhub.connect(address, "bench", "trainer", location="a/b/c/h") as client:
        client.register(shard(size, TENSORS))
        for line in sys.stdin:
            client.unpublish(force=True)
            client.publish(int(line))
            print("ready", flush=True)


def fetches(address, size, rounds):
    serving = subprocess.Popen(
        [sys.executable, __file__, "--publisher", address, str(size)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    times, way = [], ""
    weights = shard(size, TENSORS)
    before = resident()
    with tensorhub.connect(address, "bench", "rollout", location="a/b/c/h") as client:
        client.register(weights)
        for number in range(1, rounds + 2):
            serving.stdin.write(f"{number}\n")
            serving.stdin.flush()
            serving.stdout.readline()
            began = time.perf_counter()
            result = client.fetch(tensorhub.version(number))
            times.append(time.perf_counter() - began)
            way = result.way
        grown = resident() - before
    serving.stdin.close()
    serving.wait(30)
    return statistics.median(times[1:]), way, grown


def publishes(address, rounds):
    client = tensorhub.connect(address, "bench-publish", "trainer")
    client.register(shard(1 << 20, TENSORS))
    times = []
    for number in range(1, rounds + 1):
        began = time.perf_counter()
        client.publish(number)
        times.append(time.perf_counter() - began)
        client.unpublish(force=True)
    client.leave(drain_timeout=0)
    return statistics.median(times)


def registering(address):
    weights = shard(SMALL_TENSORS * 64, SMALL_TENSORS)
    with tensorhub.connect(address, "bench-register", "trainer") as client:
        began = time.perf_counter()
        client.register(weights)
        return time.perf_counter() - began


def importing(rounds):
    code = "import time; t = time.perf_counter(); import tensorhub; print(time.perf_counter() - t)"
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
            for _ in range(rounds)]  # fmt: skip
    return statistics.median(float(run.stdout) for run in runs)


def beside(bench, quick):
    """The C++ figures, as tensorhub-bench prints them."""
    quickly = ["--quick"] if quick else []
    found = {}
    for verb in (["publish"], ["read", "--way", "served", "--path", "shm"]):
        command = [bench, "-o", "json", *verb, *quickly]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        found[verb[0]] = json.loads(done.stdout)
    return found


def main():
    if sys.argv[1:2] == ["--publisher"]:
        return publisher(sys.argv[2], int(sys.argv[3]))
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--bench", default="build/release/bin/tensorhub-bench")
    parser.add_argument("--quick", action="store_true", help="64 MiB, few rounds")
    options = parser.parse_args()
    size, rounds = (64 << 20, 3) if options.quick else (1 << 30, 7)
    with tensorhub.serve() as server:
        fetch, way, grown = fetches(server.address, size, rounds)
        figures = {
            "import_s": importing(rounds),
            "register_20000_s": registering(server.address),
            "publish_us": publishes(server.address, 40 * rounds) * 1e6,
            "fetch_s": fetch,
            "fetch_gib_per_s": size / fetch / (1 << 30),
            "fetch_way": way,
            "resident_growth_mib": grown / (1 << 20),
        }
    if os.path.exists(options.bench):
        figures["cpp"] = beside(options.bench, options.quick)
    print(json.dumps(figures, indent=2))
    return None


if __name__ == "__main__":
    main()
