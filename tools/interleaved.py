# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Measures kinds of one thing beside each other, on a machine that is not always equally quick.

Of each round all kinds are measured, one after the other, so that what the machine does meanwhile
meets all of them. So a kind is compared with the first one of the same round, and the median of
those ratios counts.
"""

import statistics


class Rounds:
    """`measure(kind)` gives the figures of one measurement, by name. `kinds` begin with the bare
    one, of which the ratios are."""

    def __init__(self, kinds, count, measure):
        self._bare = kinds[0]
        self._of_kind = {kind: [] for kind in kinds}
        for _ in range(count):
            for kind in kinds:
                self._of_kind[kind].append(measure(kind))

    def names(self):
        """The figures that all measurements have, in the order of the first one."""
        measured = [figures for rounds in self._of_kind.values() for figures in rounds]
        return [name for name in measured[0] if all(name in figures for figures in measured)]

    def median(self, kind, name):
        return statistics.median(figures[name] for figures in self._of_kind[kind])

    def of_bare(self, kind, name):
        """The median of the ratios; 0 where the bare one's figure is."""
        return statistics.median(
            figures[name] / bare[name] if bare[name] else 0
            for figures, bare in zip(self._of_kind[kind], self._of_kind[self._bare]))
