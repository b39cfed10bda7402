# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""A run as a drawing: reward, staleness and stalls over the steps, a colour for each worker."""

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot

_PANELS = (("reward", "reward"), ("staleness", "staleness, versions"), ("stall_s", "stall, s"))


def draw(path, columns, rows, marks):
    """`rows` as `columns` names them; `marks` of (step, text)."""
    figure, panels = pyplot.subplots(len(_PANELS), 1, sharex=True, figsize=(10, 8))
    workers = sorted({row[1] for row in rows})
    for panel, (column, title) in zip(panels, _PANELS, strict=True):
        place = columns.index(column)
        for worker in workers:
            points = [(row[0], row[place]) for row in rows if row[1] == worker]
            panel.plot(*zip(*points, strict=True), ".", markersize=4, label=worker)
        for step, _ in marks:
            panel.axvline(step, color="grey", linewidth=0.8, linestyle="--")
        panel.set_ylabel(title)
        panel.set_ylim(bottom=0)
    place = columns.index("publish_s")
    trainer = sorted({(row[0], row[place]) for row in rows})
    panels[-1].plot(*zip(*trainer, strict=True), "k-", linewidth=0.8, label="trainer, publishing")
    for step, text in marks:
        panels[0].annotate(text, (step, 1.02), xycoords=("data", "axes fraction"), ha="center")
    panels[-1].set_xlabel("step")
    panels[-1].legend(loc="upper right")
    figure.align_ylabels()
    figure.tight_layout()
    figure.savefig(path, dpi=120)
