# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""What Python costs on top of C++: the same calls by turns, against one server and one publisher.

    python python/bench/overhead.py [--bin build/release/bin] [--quick] [--json]

C++ is tensorhub-test-worker, which times each call itself, with the UCX of this package. Medians of
calls that alternate; run it on a quiet machine. The exit code is 1 where an aim is missed.
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
from tensorhub import _programs
from tensorhub._layouts import layout_of

TENSORS = 300
SMALL_TENSORS = 20_000
SMALL_BYTES = 64


def shard(size, count):
    each = size // count // 4
    return {f"layer.{i}.weight": np.ones(each, np.float32) for i in range(count)}


def like(client, version):
    """Memory for what a Worker published, which is U8; all of its bytes are touched."""
    _, specs, _ = layout_of(client, version)
    return {spec.name: np.ones(spec.shape, np.uint8) for spec in specs}


def resident():
    with open("/proc/self/status", encoding="utf-8") as status:
        return int(re.search(r"VmRSS:\s+(\d+)", status.read()).group(1)) * 1024


class Worker:
    """A C++ worker that does what it is told, one line each."""

    def __init__(self, binary, address, model, group):
        self.process = subprocess.Popen(
            [binary], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env=_programs.environment(),
        )  # fmt: skip
        self.ask(f"connect server={address} model={model} group={group} location=a/b/c/h")

    def ask(self, line):
        """The answer's fields; `us` is how long the call took in there."""
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        while (answer := self.process.stdout.readline()).startswith("progress"):
            pass
        if not answer.startswith("ok"):
            sys.exit(f"{line}: {answer.strip() or 'the worker ended'}")
        return dict(word.split("=", 1) for word in answer.split() if "=" in word)

    def close(self):
        self.process.stdin.close()
        self.process.wait(30)


def timed(call, *arguments, **named):
    began = time.perf_counter()
    result = call(*arguments, **named)
    return (time.perf_counter() - began) * 1e6, result


def by_turns(rounds, *calls):
    """Each call's microseconds, round by round; the first round warms up and does not count."""
    found = [[] for _ in calls]
    for number in range(rounds + 1):
        order = range(len(calls)) if number % 2 else reversed(range(len(calls)))
        for i in order:
            found[i].append(calls[i](number + 1))
    return [times[1:] for times in found]


def fetches(binary, address, size, rounds):
    """One reader at a time, of one publisher in a process of its own."""
    serving = Worker(binary, address, "fetch", "trainer")
    serving.ask(f"register tensors={TENSORS} bytes={size}")
    other = Worker(binary, address, "fetch", "rollout-cpp")
    other.ask(f"register tensors={TENSORS} bytes={size}")
    serving.ask("publish 1")
    published = 1
    ways = set()
    with tensorhub.connect(address, "fetch", "rollout-py", location="a/b/c/h") as client:
        weights = like(client, 1)
        before = resident()
        client.register(weights)

        def publish():
            """A version of its own for each fetch: of two readers the second would be faster."""
            nonlocal published
            published += 1
            serving.ask("unpublish force=1")
            serving.ask(f"fill {published}")
            serving.ask(f"publish {published}")
            return published

        def python(_):
            number = publish()
            took, result = timed(client.fetch, tensorhub.version(number))
            ways.add(result.way)
            client.unpublish(force=True)
            return took

        def cpp(_):
            answer = other.ask(f"fetch exact={publish()}")
            other.ask("unpublish force=1")
            return int(answer["us"])

        found = by_turns(rounds, python, cpp)
        grown = resident() - before
    other.close()
    serving.close()
    return found, grown, " ".join(sorted(ways))


def publishes(binary, address, rounds):
    other = Worker(binary, address, "publish-cpp", "trainer")
    other.ask(f"register tensors={TENSORS} bytes={1 << 20}")
    with tensorhub.connect(address, "publish-py", "trainer", location="a/b/c/h") as client:
        client.register(shard(1 << 20, TENSORS))

        def python(number):
            took, _ = timed(client.publish, number)
            client.unpublish(force=True)
            return took

        def cpp(number):
            took = int(other.ask(f"publish {number}")["us"])
            other.ask("unpublish force=1")
            return took

        found = by_turns(rounds, python, cpp)
    other.close()
    return found


def registering(address, rounds):
    weights = shard(SMALL_TENSORS * SMALL_BYTES, SMALL_TENSORS)
    times = []
    for i in range(rounds):
        with tensorhub.connect(address, f"register-{i}", "trainer") as client:
            times.append(timed(client.register, weights)[0])
    return statistics.median(times)


def importing(rounds):
    code = "import time; t = time.perf_counter(); import tensorhub; print(time.perf_counter() - t)"
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
            for _ in range(rounds)]  # fmt: skip
    return statistics.median(float(run.stdout) for run in runs)


def fresh(part, *arguments):
    """One of the parts below in a process of its own, as C++'s side is; what it returns."""
    command = [sys.executable, __file__, "--part", part, *map(str, arguments)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"measuring {part} failed")
    return json.loads(done.stdout)


PARTS = {"fetch": fetches, "publish": publishes, "register": registering}


def run_part(name, *arguments):
    print(json.dumps(PARTS[name](*(int(a) if a.isdigit() else a for a in arguments))))
    return 0


def measure(binary, quick):
    size, rounds = (64 << 20, 3) if quick else (1 << 30, 25)
    with tensorhub.serve() as server:
        fetch, grown, way = fresh("fetch", binary, server.address, size, rounds)
        publish = fresh("publish", binary, server.address, 20 * rounds)
        register = fresh("register", server.address, 5)
    # Of the calls of one round: the machine drifts from one to the next.
    ratio = statistics.median(mine / other for mine, other in zip(*fetch, strict=True))
    more = statistics.median(mine - other for mine, other in zip(*publish, strict=True))
    fetch, publish = ([statistics.median(times) for times in each] for each in (fetch, publish))
    rows = [
        ("fetch", fetch[0] / 1e3, "ms", fetch[1] / 1e3, ratio, "x C++", 1.02),
        ("publish", publish[0], "us", publish[1], more, "us more", 50),
        ("register.20000", register / 1e6, "s", None, None, "s", 0.5),
        ("import", importing(5), "s", None, None, "s", 0.3),
        ("resident", grown / (1 << 20), "MiB", None, None, "MiB", 64),
    ]
    names = ("name", "value", "unit", "cpp", "judged", "judged_unit", "aim")
    figures = [dict(zip(names, row, strict=True)) for row in rows]
    for figure in figures:
        if figure["judged"] is None:
            figure["judged"] = figure["value"]
        figure["ok"] = figure["judged"] <= figure["aim"]
    return {"shard_bytes": size, "rounds": rounds, "way": way, "figures": figures}


def print_table(found):
    print(f"shard of {found['shard_bytes'] >> 20} MiB, {found['way']}, {found['rounds']} rounds")
    for figure in found["figures"]:
        cpp = "" if figure["cpp"] is None else f"C++ {figure['cpp']:.2f}"
        judged = f"{figure['judged']:.3f} {figure['judged_unit']}"
        verdict = "ok" if figure["ok"] else "MISSED"
        print(f"{figure['name']:<16}{figure['value']:>10.2f} {figure['unit']:<5}{cpp:<14}"
              f"{judged:<18}aim {figure['aim']:<6}{verdict}")  # fmt: skip


def main():
    if sys.argv[1:2] == ["--part"]:
        return run_part(*sys.argv[2:])
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--bin", default="build/release/bin", help="where tensorhub-test-worker is")
    parser.add_argument("--quick", action="store_true", help="64 MiB, few rounds")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    binary = os.path.join(options.bin, "tensorhub-test-worker")
    if not os.path.exists(binary):
        parser.error(f"{binary} is not there: tools/build.sh makes it")
    found = measure(binary, options.quick)
    print(json.dumps(found, indent=2)) if options.json else print_table(found)
    return 0 if all(figure["ok"] for figure in found["figures"]) else 1


if __name__ == "__main__":
    sys.exit(main())
