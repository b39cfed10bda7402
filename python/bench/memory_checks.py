# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""What it costs that each publish looks whether the registered memory is where it was.

    python python/bench/memory_checks.py [--rounds 400] [--register 100000] [--json]

Publishes of one client by turns, with the look and without; the median of the differences of a
round. And the time that `register` takes for many tensors. The exit code is 1 where an aim is
missed.
"""

import argparse
import importlib.util
import json
import statistics
import sys
import time

import numpy as np
import tensorhub
from tensorhub._watch import Watch

# Tensors, and microseconds that the look may take.
AIMS = {300: 50, 20_000: 5_000}
REGISTER_AIM_S = 1.5


def arrays(count):
    return {f"layer.{i}.weight": np.ones(16, np.float32) for i in range(count)}


def tensors(count):
    import torch

    return {f"layer.{i}.weight": torch.nn.Parameter(torch.ones(16)) for i in range(count)}


def publishing(address, kind, count, rounds):
    """Microseconds of each round's publish with the look and without, and of the look alone."""
    looked, bare, alone = [], [], []
    with tensorhub.connect(address, f"{kind.__name__}-{count}", "trainer") as client:
        client.register(kind(count))
        registration = client._registration
        watches = {True: registration.watch, False: Watch()}
        version = 0
        for number in range(rounds + 1):
            took = {}
            for looks in (True, False) if number % 2 else (False, True):
                registration.watch = watches[looks]
                version += 1
                began = time.perf_counter()
                client.publish(version)
                took[looks] = (time.perf_counter() - began) * 1e6
                client.unpublish(force=True)
            registration.watch = watches[True]
            began = time.perf_counter()
            registration.check_there()
            if number:  # the first round warms up
                alone.append((time.perf_counter() - began) * 1e6)
                looked.append(took[True])
                bare.append(took[False])
    more = statistics.median(a - b for a, b in zip(looked, bare, strict=True))
    return {"publish": statistics.median(looked), "without": statistics.median(bare),
            "more": more, "look": statistics.median(alone), "aim": AIMS[count]}  # fmt: skip


def registering(address, kind, count):
    weights = kind(count)
    times = []
    for i in range(3):
        with tensorhub.connect(address, f"register-{kind.__name__}-{i}", "trainer") as client:
            began = time.perf_counter()
            client.register(weights)
            times.append(time.perf_counter() - began)
    return statistics.median(times)


def measure(rounds, registered):
    kinds = (arrays, tensors) if importlib.util.find_spec("torch") else (arrays,)
    found = []
    with tensorhub.serve() as server:
        for kind in kinds:
            for count in AIMS:
                few = max(rounds * 300 // count, 20)
                figures = publishing(server.address, kind, count, few)
                found.append({"of": kind.__name__, "count": count, "rounds": few, **figures})
        register = {kind.__name__: registering(server.address, kind, registered) for kind in kinds}
    return found, register


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=400, help="of 300 tensors; fewer of more")
    parser.add_argument("--register", type=int, default=100_000, help="tensors that are registered")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found, register = measure(options.rounds, options.register)
    if options.json:
        print(json.dumps({"publish": found, "register_s": register}, indent=2))
    else:
        for one in found:
            print(
                "publish {count:>6} {of:<8} {publish:8.0f} us, without {without:8.0f}: "
                "{more:6.0f} more (the look alone {look:6.0f}); aim {aim}".format(**one)
            )
        for kind, seconds in register.items():
            print(f"register {options.register} {kind}: {seconds:.2f} s; aim {REGISTER_AIM_S}")
    missed = any(one["more"] > one["aim"] for one in found)
    return 1 if missed or max(register.values()) > REGISTER_AIM_S else 0


if __name__ == "__main__":
    sys.exit(main())
