# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""What a run says: a line where a step begins or ends, and at the end one screen."""

import json
import sys
import threading
import time

import ctest
from live import Live

_LINES = 12  # of the log of a step that failed


class Report:
    """Any thread."""

    def __init__(self, places, mode):
        self._places = places
        self._mode = mode
        self._began = time.monotonic()
        self._lock = threading.Lock()
        self._seconds = {}  # step: seconds
        self._skipped = []
        self._failures = []
        self._passed = 0
        self._tests = {}
        self._live = Live(places, self._lock)

    def begun(self, step):
        with self._lock:
            self._live.begun(step)
            self._say(f"=== {step.name} begins")

    def skipped(self, step, reason):
        with self._lock:
            self._skipped.append(f"{step.name}: {reason}")
            self._say(f"=== {step.name} skipped: {reason}")

    def not_begun(self, step, failed):
        with self._lock:
            self._skipped.append(f"{step.name}: {failed} failed")
            self._say(f"=== {step.name} not begun: {failed} failed")

    def broken(self, step, error):
        """The step could not be run, or what came of it not be read."""
        with self._lock:
            self._live.ended(step)
            log = self._places.shown(self._places.log(step.name))
            again = ctest.repeated(step.command)
            name = f"{step.name}: {type(error).__name__}: {error}"
            self._failures.append(ctest.Failure(name, again, (), "", log))
            self._say(f"=== {name}")

    def ended(self, step, seconds, outcome):
        with self._lock:
            self._live.ended(step)
            self._seconds[step.name] = seconds
            self._passed += outcome.passed
            self._failures += [self._with_log(step, failure) for failure in outcome.failures]
            self._skipped += outcome.skipped
            self._tests.update(outcome.seconds)
            failed = f", {len(outcome.failures)} FAILED" if outcome.failures else ""
            self._say(f"=== {step.name} took {seconds:.0f} s: {outcome.passed} passed{failed}")
            if outcome.failures and not step.preset:
                self._say(self._last_words(step))

    def finish(self):
        """Prints the last screen, and has the exit status."""
        self._live.close()
        whole = time.monotonic() - self._began
        self._note_times()
        self._print_seconds(whole)
        for line in sorted(set(self._skipped)):
            print(f"skipped: {line}")
        for failure in self._failures:
            self._print_failure(failure)
        if not self._failures:
            self._note_green(whole)
        print(f"{self._passed} passed, {len(self._failures)} failed", flush=True)
        return 1 if self._failures else 0

    def _say(self, text):
        self._live.clear()
        print(text, flush=True)

    def _log(self, step):
        return self._places.log(step.name).read_text(encoding="utf-8", errors="replace")

    def _with_log(self, step, failure):
        if failure.log:
            return failure
        return ctest.describe(
            failure.name,
            failure.again,
            self._log(step),
            self._places.shown(self._places.log(step.name)),
        )

    def _last_words(self, step):
        return "".join(f"    {line}\n" for line in self._log(step).splitlines()[-_LINES:]).rstrip()

    def _print_failure(self, failure):
        print(f"failed: {failure.name}")
        for title, text in (
            ("case", ", ".join(failure.cases[:5])),
            ("seed", failure.seed),
            ("again", failure.again),
            ("log", failure.log),
        ):
            if text:
                print(f"    {title:<6}{text}")

    def _print_seconds(self, whole):
        green = self._read(self._places.green).get(self._mode, {})
        print(f"\n{'seconds':>8}{'green':>8}  step" if green else f"\n{'seconds':>8}  step")
        for name, seconds in [*self._seconds.items(), ("altogether", whole)]:
            before = f"{green[name]:8.0f}" if name in green else 8 * " " if green else ""
            print(f"{seconds:8.0f}{before}  {name}")

    def _note_times(self):
        if self._tests:
            self._write(self._places.times, self._tests)

    def _note_green(self, whole):
        if self._mode == "for":
            return
        green = self._read(self._places.green)
        green[self._mode] = {**self._seconds, "altogether": whole}
        self._write(self._places.green, green)

    @staticmethod
    def _read(path):
        try:
            return json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}

    @staticmethod
    def _write(path, value):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(value, indent=1), encoding="utf-8")
        except OSError as error:
            print(f"not noted: {error}", file=sys.stderr)
