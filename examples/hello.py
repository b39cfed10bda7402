# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""The first synced step: a trainer's ten lines and a rollout worker's, in two processes.

python examples/hello.py                           # all of it, with a server of its own
python examples/hello.py trainer HOST:PORT         # or each where you like,
python examples/hello.py rollout HOST:PORT         # beside a running tensorhub-server
"""

import subprocess
import sys
import time

import numpy as np
import tensorhub

MODEL = {"layer.weight": (1024, 1024), "layer.bias": (1024,)}


def trainer(server: str) -> None:
    weights = {name: np.zeros(shape, np.float32) for name, shape in MODEL.items()}
    with tensorhub.connect(server, "hello", "trainer", location="local/dc1/r1/h1") as client:
        client.register(weights)
        for step in range(1, 4):
            client.unpublish()  # from here on the weights are ours to change
            for array in weights.values():
                array += 1.0  # the optimizer
            client.publish(step)  # from here on peers read them
            print(f"trainer: published step {step}", flush=True)
            while all(replica.group == "trainer" for replica in client.list()[-1].replicas):
                time.sleep(0.02)  # a real one would train on
        client.unpublish()
        client.publish(4)  # nobody fetches it: the rollout worker sees it, and leaves


def rollout(server: str) -> None:
    weights = {name: np.zeros(shape, np.float32) for name, shape in MODEL.items()}
    with tensorhub.connect(server, "hello", "rollout", location="local/dc1/r1/h1") as client:
        client.register(weights)
        step = 0
        while step < 3:
            result = client.fetch(tensorhub.newer_than(client.held()), timeout=60)
            step = result.version
            assert all((array == step).all() for array in weights.values())
            print(f"rollout: step {step}, {result.bytes_read} bytes from {result.sources}, "
                  f"{result.way}", flush=True)  # fmt: skip
        client.wait(
            tensorhub.newer_than(client.held()), timeout=60
        )  # until then the trainer looks for us


def both() -> None:
    with tensorhub.serve() as server:
        roles = [
            subprocess.Popen([sys.executable, __file__, role, server.address])
            for role in ("trainer", "rollout")
        ]
        sys.exit(max(role.wait() for role in roles))


if __name__ == "__main__":
    if len(sys.argv) == 1:
        both()
    elif len(sys.argv) == 3 and sys.argv[1] in ("trainer", "rollout"):
        {"trainer": trainer, "rollout": rollout}[sys.argv[1]](sys.argv[2])
    else:
        sys.exit(__doc__)
