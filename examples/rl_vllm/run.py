# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""RL with real engines on one host: FSDP2 trainer ranks, and vLLM rollouts that come and go.

A small Qwen3 learns by GRPO to write three digits in order. Each trainer rank publishes its slices
after every step, and each vLLM takes every version. A third of the way one vLLM is killed, half-way
another one starts, from peers. What each step saw goes to DIR/run.csv; `plot.py DIR` draws it.
Needs vLLM, transformers and torch (README.md).
"""

import argparse
import csv
import os
import time

import numpy as np
import task
import tensorhub
from rollouts import Crew
from trainer import Trainer

COLUMNS = ("step", "seconds", "worker", "reward", "staleness", "wait_s", "update_s", "publish_s",
           "from_trainer", "from_peers")  # fmt: skip
SHOWN = 20  # steps


def learn_from(taken, trainer, step):
    """Seconds that publishing took."""
    tokens = np.concatenate([samples.tokens for samples in taken])
    before = np.concatenate([samples.before for samples in taken])
    gains = np.concatenate([task.advantages(samples.rewards).ravel() for samples in taken])
    return trainer.step(step + 1, (tokens, before, gains.astype(np.float32)))


def row_of(step, seconds, samples, publish):
    by_trainer = samples.sources.startswith("trainer/")
    return (step, round(seconds, 2), samples.worker, float(samples.rewards.mean()),
            step - samples.version, samples.wait_s, samples.update_s, publish,
            samples.bytes_read * by_trainer, samples.bytes_read * (not by_trainer))  # fmt: skip


def mean(rows, column):
    return sum(row[COLUMNS.index(column)] for row in rows) / len(rows)


def shown(rows):
    return (f"reward {mean(rows, 'reward'):.2f}, staleness {mean(rows, 'staleness'):.1f}, "
            f"a vLLM's pause {1e3 * mean(rows, 'update_s'):.0f} ms, "
            f"the trainer's {1e3 * mean(rows, 'publish_s'):.0f} ms")  # fmt: skip


def train(options, trainer, crew, note):
    """All rows."""
    rows, began = [], time.monotonic()
    for step in range(1, options.steps + 1):
        if step == options.steps // 3 and options.rollouts > 1:
            crew.kill("rollout-0")
            note(step, "rollout-0 is killed")
        if step == options.steps // 2:
            note(step, f"{crew.hire()} starts from peers")
        taken = crew.take()
        publish = learn_from(taken, trainer, step)
        seconds = time.monotonic() - began
        new = [row_of(step, seconds, samples, publish) for samples in taken]
        for row in new:
            if row[2] not in {old[2] for old in rows}:
                note(step, f"{row[2]} has sent its first samples")
        rows += new
        if step % SHOWN == 0:
            note(step, shown([row for row in rows if row[0] > step - SHOWN]))
    return rows


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=400, help="optimizer steps (400)")
    parser.add_argument("--ranks", type=int, default=2, help="trainer ranks (2)")
    parser.add_argument("--rollouts", type=int, default=2, help="vLLMs at the beginning (2)")
    parser.add_argument("--tensor-parallel", type=int, default=1, help="ranks of each vLLM (1)")
    parser.add_argument("--prompts", type=int, default=16, help="a vLLM and version (16)")
    parser.add_argument("--samples", type=int, default=8, help="answers to each prompt (8)")
    parser.add_argument("--learning-rate", type=float, default=4e-4, help="AdamW's (0.0004)")
    parser.add_argument("--out", default="rl-vllm-run", metavar="DIR", help="(rl-vllm-run)")
    return parser.parse_args()


def run(options, note):
    folder = os.path.join(options.out, "model")
    task.config().save_pretrained(folder)  # no weights
    with tensorhub.serve() as server:
        trainer = Trainer(options.ranks, server.address, options.learning_rate)
        crew = Crew(server.address, folder, options.tensor_parallel, options.prompts,
                    options.samples)  # fmt: skip
        try:
            note(0, f"{options.ranks} trainer ranks have published version 1; vLLMs start")
            for _ in range(options.rollouts):
                crew.hire()
            rows = train(options, trainer, crew, note)
            left = crew.living()
        finally:
            crew.dismiss()
            trainer.close()
    return rows, left


def main():
    options = parse()
    os.makedirs(options.out, exist_ok=True)
    began = time.monotonic()

    def note(step, text):
        print(f"{time.monotonic() - began:6.1f} s  step {step}: {text}", flush=True)

    rows, left = run(options, note)
    with open(os.path.join(options.out, "run.csv"), "w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([COLUMNS, *rows])
    quarter = options.steps // 4
    first = [row for row in rows if row[0] <= quarter]
    last = [row for row in rows if row[0] > options.steps - quarter]
    print(f"first quarter: {shown(first)}")
    print(f"last quarter: {shown(last)}")
    trainer, peers = (sum(row[COLUMNS.index(name)] for row in rows) / 1e6
                      for name in ("from_trainer", "from_peers"))  # fmt: skip
    print(f"updates read {trainer:.0f} MB from the trainer and {peers:.0f} MB from other rollouts")
    if len(left) != options.rollouts:
        raise SystemExit(f"these rollouts are left: {', '.join(left)}")
    if mean(last, "reward") <= mean(first, "reward"):
        raise SystemExit("the reward did not rise")


if __name__ == "__main__":
    main()
