# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Draws DIR/run.csv to DIR/run.png: reward, pauses, staleness, bytes by source.

python plot.py [DIR]      (rl-vllm-run by itself; needs matplotlib)
"""

import csv
import os
import sys

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot


def read(path):
    """Columns by name: lists of numbers, but for the workers."""
    with open(path, encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    return {name: values if name == "worker" else [float(value) for value in values]
            for name, values in columns.items()}  # fmt: skip


def of_workers(panel, columns, name, scale=1.0):
    for worker in sorted(set(columns["worker"])):
        points = [(step, scale * value)
                  for step, value, mine in zip(columns["step"], columns[name], columns["worker"],
                                               strict=True) if mine == worker]  # fmt: skip
        panel.plot(*zip(*points, strict=True), ".", markersize=4, label=worker)
    panel.set_ylim(bottom=0)


def sums(values):
    total, found = 0.0, []
    for value in values:
        total += value / 1e6
        found.append(total)
    return found


def draw(columns, path):
    figure, (reward, pause, stale, sources) = pyplot.subplots(4, 1, sharex=True, figsize=(10, 10))
    of_workers(reward, columns, "reward")
    of_workers(pause, columns, "update_s", 1e3)
    publish = [1e3 * value for value in columns["publish_s"]]
    pause.plot(columns["step"], publish, "k-", linewidth=0.8, label="trainer")
    of_workers(stale, columns, "staleness")
    both = [sums(columns["from_trainer"]), sums(columns["from_peers"])]
    sources.stackplot(columns["step"], *both, labels=["from the trainer", "from other rollouts"])
    titles = ("reward", "pause, ms", "staleness, versions", "read so far, MB")
    for panel, title in zip((reward, pause, stale, sources), titles, strict=True):
        panel.set_ylabel(title)
        panel.legend(loc="upper left", fontsize="small")
    sources.set_xlabel("step")
    figure.align_ylabels()
    figure.tight_layout()
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    folder = sys.argv[1] if len(sys.argv) > 1 else "rl-vllm-run"
    draw(read(os.path.join(folder, "run.csv")), os.path.join(folder, "run.png"))
