# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs steps: lanes beside each other, the steps of a lane in order, each when what it needs is
there."""

import os
import shlex
import subprocess
import threading
import time

import ctest

_IDLE_LANE = "build"


def _lane_of(steps):
    lanes = {}
    for step in steps:
        lanes.setdefault(step.lane, []).append(step)
    return lanes


class Runner:
    """Threads: one per lane; the report is told under one lock."""

    def __init__(self, places, report):
        self._places = places
        self._report = report
        self._ended = {}  # step's name: whether it succeeded
        self._changed = threading.Condition()
        self._jobs = int(os.environ.get("TENSORHUB_JOBS") or os.cpu_count())
        places.test.mkdir(parents=True, exist_ok=True)

    def run(self, steps):
        known = {step.name for step in steps}
        lanes = [
            threading.Thread(target=self._run_lane, args=(lane, known))
            for lane in _lane_of(steps).values()
        ]
        for lane in lanes:
            lane.start()
        for lane in lanes:
            lane.join()

    def _run_lane(self, steps, known):
        for step in steps:
            needed = [name for name in step.after if name in known]
            with self._changed:
                self._changed.wait_for(lambda: all(name in self._ended for name in needed))
                failed = [name for name in needed if not self._ended[name]]
            succeeded = False
            try:
                succeeded = self._run_step(step, failed)
            except Exception as error:  # other lanes wait for this step
                self._report.broken(step, error)
            with self._changed:
                self._ended[step.name] = succeeded
                self._changed.notify_all()

    def _run_step(self, step, failed):
        if step.skip:
            self._report.skipped(step, step.skip)
            return True
        if failed:
            self._report.not_begun(step, failed[0])
            return False
        self._report.begun(step)
        began = time.monotonic()
        outcome = self._ctest(step) if step.preset else self._command(step)
        self._report.ended(step, time.monotonic() - began, outcome)
        return not outcome.failures

    def _command(self, step):
        code = self._call(step, step.command)
        return ctest.Outcome.of_step(step, code)

    def _ctest(self, step):
        folder = self._places.preset(step.preset)
        noted = self._places.test / "seconds" / step.preset
        noted.mkdir(parents=True, exist_ok=True)
        results = folder / "results.xml"
        results.unlink(missing_ok=True)
        # Tests mostly wait: twice as many as there are processors.
        command = ctest.command(folder, step, 2 * self._jobs, results)
        self._call(step, command, {"TENSORHUB_TEST_TIMES": str(noted)})
        return ctest.outcome(step, results, noted, self._places)

    def _call(self, step, command, environment=None):
        idle = ("chrt", "--idle", "0") if step.lane == _IDLE_LANE else ()
        with open(self._places.log(step.name), "wb") as log:
            log.write(f"{shlex.join(command)}\n".encode())
            log.flush()
            done = subprocess.run(
                [*idle, *command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                check=False,
                env={**os.environ, **dict(step.environment), **(environment or {})},
            )
        return done.returncode
