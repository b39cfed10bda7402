# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""A small RL run on one host: a trainer, and rollout workers that come and go.

A causal language model (bfloat16 weights, FP32 AdamW) learns by policy gradient to write the larger
of two digits. The workers fetch every version, write answers, and send them back with the reward;
the trainer learns from what has come, however stale, and publishes. A third of the way one worker
is killed, half-way another one joins. What each step saw goes to DIR/run.csv, and drawn to
DIR/run.png. Needs torch; for the drawing, matplotlib.
"""

import argparse
import csv
import os
import pathlib
import time

import tensorhub
import torch
from model import Model
from tensorhub.torch import publish_module, register_module
from workers import LOCATION, Crew

COLUMNS = ("step", "worker", "reward", "staleness", "stall_s", "publish_s")
SHOWN = 25  # steps
WARM_UP = 20  # steps, until the learning rate is whole


class Trainer:
    """FP32 weights that AdamW changes, and the bfloat16 copy that is published."""

    def __init__(self, client, learning_rate):
        torch.manual_seed(0)
        self.master = Model()
        self.served = Model().to(torch.bfloat16)
        self.optimizer = torch.optim.AdamW(
            self.master.parameters(), lr=learning_rate, weight_decay=0.0
        )
        self.warm_up = torch.optim.lr_scheduler.LinearLR(
            self.optimizer, start_factor=1 / WARM_UP, total_iters=WARM_UP
        )
        self.client = client
        register_module(client, self.served)

    def publish(self, version):
        """Seconds that the trainer stood still for it."""
        began = time.monotonic()
        # Who still reads the version before reads on from others, or the next one.
        self.client.unpublish(force=True)
        with torch.no_grad():
            both = zip(self.master.parameters(), self.served.parameters(), strict=True)
            for wide, narrow in both:
                narrow.copy_(wide)
        publish_module(self.client, self.served, version)
        return time.monotonic() - began

    def learn(self, tokens, answers, reward):
        log_odds = self.master(tokens).log_softmax(-1)
        chosen = log_odds.gather(1, answers[:, None]).squeeze(1)
        entropy = -(log_odds.exp() * log_odds).sum(1).mean()
        loss = -((reward - reward.mean()) * chosen).mean() - 0.01 * entropy
        self.optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.master.parameters(), 1.0)
        self.optimizer.step()
        self.warm_up.step()


def take_step(step, trainer, crew, keep):
    """Rows, one for each worker's samples."""
    taken = crew.take()
    trainer.learn(*(torch.cat([getattr(samples, part) for samples in taken])
                    for part in ("tokens", "answers", "reward")))  # fmt: skip
    publish = trainer.publish(step + 1)
    if keep:
        torch.save(trainer.served.state_dict(), pathlib.Path(keep, f"version-{step + 1:05}.pt"))
    return [
        (step, samples.worker, samples.reward.mean().item(), step - samples.version, samples.stall,
         publish) for samples in taken]  # fmt: skip


def mean(rows, column):
    return sum(row[COLUMNS.index(column)] for row in rows) / len(rows)


def train(options, trainer, crew, note):
    """All rows."""
    trainer.publish(1)
    rows = []
    for step in range(1, options.steps + 1):
        if step == options.steps // 3 and options.workers > 1:
            crew.kill("rollout-0")
            note(step, "rollout-0 is killed")
        if step == options.steps // 2:
            note(step, f"{crew.hire()} joins")
        rows += take_step(step, trainer, crew, options.keep_versions)
        if step % SHOWN == 0:
            lately = [row for row in rows if row[0] > step - SHOWN]
            note(step, f"reward {mean(lately, 'reward'):.2f}, staleness "
                       f"{mean(lately, 'staleness'):.1f}, a worker's stall "
                       f"{1e3 * mean(lately, 'stall_s'):.0f} ms, the trainer's "
                       f"{1e3 * mean(lately, 'publish_s'):.1f} ms")  # fmt: skip
    return rows


def write(options, rows, marks):
    with open(os.path.join(options.out, "run.csv"), "w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([COLUMNS, *rows])
    try:
        from plot import draw
    except ImportError as error:
        print(f"no drawing: {error}; pip install matplotlib")
        return
    draw(os.path.join(options.out, "run.png"), COLUMNS, rows, marks)


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=240, help="optimizer steps (240)")
    parser.add_argument("--workers", type=int, default=2, help="at the beginning (2)")
    parser.add_argument("--batch", type=int, default=128, help="answers a worker and version (128)")
    parser.add_argument("--learning-rate", type=float, default=3e-4, help="AdamW's (0.0003)")
    parser.add_argument("--out", default="rl-run", metavar="DIR", help="results (rl-run)")
    parser.add_argument("--keep-versions", metavar="DIR", help="every version, a file each")
    return parser.parse_args()


def run(options, note):
    with (
        tensorhub.serve() as server,
        tensorhub.connect(server.address, "rl", "trainer", location=LOCATION) as client,
    ):
        trainer = Trainer(client, options.learning_rate)
        crew = Crew(server.address, options.batch)
        try:
            for _ in range(options.workers):
                crew.hire()
            rows = train(options, trainer, crew, note)
            left = crew.living()
        finally:
            crew.dismiss()
            client.unpublish(force=True)
    return rows, left


def main():
    options = parse()
    for folder in filter(None, (options.out, options.keep_versions)):
        os.makedirs(folder, exist_ok=True)
    torch.set_num_threads(1)
    began = time.monotonic()
    marks = []

    def note(step, text):
        marks.append((step, text))
        print(f"{time.monotonic() - began:6.1f} s  step {step}: {text}", flush=True)

    rows, left = run(options, note)
    write(options, rows, [mark for mark in marks if "rollout" in mark[1]])
    half = options.steps // 4
    first = mean([row for row in rows if row[0] <= half], "reward")
    last = mean([row for row in rows if row[0] > options.steps - half], "reward")
    print(f"reward {first:.2f} in the first quarter, {last:.2f} in the last; see {options.out}/")
    if len(left) != options.workers:
        raise SystemExit(f"these workers are left: {', '.join(left)}")
    if last <= first:
        raise SystemExit("the reward did not rise")


if __name__ == "__main__":
    main()
