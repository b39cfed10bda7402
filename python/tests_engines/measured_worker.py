# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""For vLLM's workers: what is measured in them (``worker_extension_cls``)."""

import threading
import time


class Extension:
    def nbytes(self):
        """Of what this rank has of the model."""
        return sum(value.nbytes for value in self.model_runner.get_model().parameters())

    def seconds_of_a_copy(self):
        """Of all that the model has, from memory to memory, in which nothing is fetched."""
        import torch

        values = [value.data for value in self.model_runner.get_model().parameters()]
        if not hasattr(self, "_copies"):
            self._copies = [torch.zeros_like(value) for value in values]
        began = time.monotonic()
        for copy, value in zip(self._copies, values, strict=True):
            copy.copy_(value)
        return time.monotonic() - began

    def watch_memory(self):
        """Begins to look what this process has, without what it shares with others."""
        self._least = self._most = private_bytes()
        self._watching = threading.Event()
        self._watcher = threading.Thread(target=self._watch, daemon=True)
        self._watcher.start()

    def grown(self):
        """By how much it was more than at the beginning."""
        self._watching.set()
        self._watcher.join()
        return self._most - self._least

    def _watch(self):
        while not self._watching.wait(0.002):
            self._most = max(self._most, private_bytes())


def private_bytes():
    with open("/proc/self/status", encoding="ascii") as stream:
        line = next(line for line in stream if line.startswith("RssAnon:"))
    return 1024 * int(line.split()[1])
