# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""One line on a terminal that says what runs, and how far it is."""

import os
import re
import shutil
import sys
import threading
import time

_FAR = re.compile(rb"^ *(?:\[ *(\d+/\d+)\]|(\d+/\d+) Test)", re.MULTILINE)  # ninja's, ctest's
_TAIL = 4096


class Live:
    """Drawn once a second by a thread of its own, under the report's lock, on a terminal only."""

    def __init__(self, places, lock):
        self._places = places
        self._lock = lock
        self._running = {}  # step's name: since when
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._draw_on, daemon=True)
        self._shows = sys.stdout.isatty()
        if self._shows:
            self._thread.start()

    def begun(self, step):
        self._running[step.name] = time.monotonic()

    def ended(self, step):
        self._running.pop(step.name, None)

    def clear(self):
        if self._shows:
            print("\r\x1b[K", end="")

    def close(self):
        self._ended.set()
        if self._shows:
            self._thread.join()
            self.clear()

    def _draw_on(self):
        while not self._ended.wait(1):
            with self._lock:
                self.clear()
                width = shutil.get_terminal_size().columns - 1
                print(" | ".join(map(self._line, self._running))[:width], end="", flush=True)

    def _line(self, name):
        since = time.monotonic() - self._running[name]
        return f"{name} {self._far(name)}{since // 60:.0f}:{since % 60:02.0f}"

    def _far(self, name):
        try:
            with open(self._places.log(name), "rb") as log:
                log.seek(max(0, os.fstat(log.fileno()).st_size - _TAIL))
                found = _FAR.findall(log.read())
        except OSError:
            return ""
        return f"{(found[-1][0] or found[-1][1]).decode()} " if found else ""
