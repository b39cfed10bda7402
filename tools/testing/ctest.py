# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs of ctest, and what came of them."""

import dataclasses
import re
import xml.etree.ElementTree

_CASE = re.compile(r"^\[  FAILED  \] ([\w/]+\.[\w/]+)", re.MULTILINE)
_PYTHON_CASE = re.compile(r"^(?:FAIL|ERROR): (\w+) \(", re.MULTILINE)
_PYTEST_CASE = re.compile(r"^(?:FAILED|ERROR) (python/tests/\S+)", re.MULTILINE)
_SEED = re.compile(r"\bseed[ =:]+(\d+)")

_SHOWN_MAX = 300  # characters of a command


@dataclasses.dataclass(frozen=True)
class Failure:
    name: str  # of the test, or of the step
    again: str  # the command that repeats it alone
    cases: tuple
    seed: str
    log: str


@dataclasses.dataclass
class Outcome:
    passed: int = 0
    failures: list = dataclasses.field(default_factory=list)
    skipped: list = dataclasses.field(default_factory=list)  # lines with reasons
    seconds: dict = dataclasses.field(default_factory=dict)  # test: (passed, of processors)

    @staticmethod
    def of_step(step, code):
        if code == 0:
            return Outcome(passed=1)
        return Outcome(failures=[Failure(step.name, repeated(step.command), (), "", "")])


def repeated(words):
    """The command that repeats a step, for one screen."""
    line = " ".join(words)
    if len(line) <= _SHOWN_MAX:
        return line
    return line[:_SHOWN_MAX].rsplit(" ", 1)[0] + " … (all of it is the log's first line)"


def command(folder, step, jobs, results):
    named = ("-R", f"^({'|'.join(step.names)})$") if step.names else ()
    return [
        "ctest",
        "--test-dir",
        str(folder),
        "-L",
        step.label,
        *named,
        "--parallel",
        str(jobs),
        "--output-on-failure",
        "--no-tests=error",
        "--output-junit",
        str(results),
    ]


def describe(name, again, output, log):
    """What a reader of the last screen needs of a failed test or step."""
    cases = _CASE.findall(output) + _PYTHON_CASE.findall(output) + _PYTEST_CASE.findall(output)
    seeds = _SEED.findall(output)
    return Failure(name, again, tuple(dict.fromkeys(cases)), seeds[-1] if seeds else "", log)


def _seconds(noted):
    times = {}
    for file in noted.iterdir():
        passed, used = file.read_text(encoding="utf-8").split()
        times[file.name] = (float(passed), float(used))
    return times


def _failure(step, name, output, places):
    log = places.test / "failed" / f"{step.preset}-{name}.log"
    log.parent.mkdir(exist_ok=True)
    log.write_text(output, encoding="utf-8")
    folder = places.shown(places.preset(step.preset))
    again = f"ctest --test-dir {folder} -R '^{name}$' --output-on-failure"
    return describe(f"{step.preset}: {name}", again, output, places.shown(log))


def outcome(step, results, noted, places):
    """Of each program: passed, failed, or skipped with its reason."""
    if not results.exists():
        log = places.shown(places.log(step.name))
        return Outcome(
            failures=[Failure(f"{step.name}: ctest did not run", f"see {log}", (), "", log)]
        )
    found = Outcome()
    times = _seconds(noted)
    for case in xml.etree.ElementTree.parse(results).iter("testcase"):
        name, status = case.get("name"), case.get("status")
        output = case.findtext("system-out") or ""
        lines = [line for line in output.splitlines() if line.startswith("skipped: ")]
        skipped = case.find("skipped")
        if name in times:
            found.seconds[f"{step.preset}: {name}"] = times[name]
        if status == "run":
            found.passed += 1
            found.skipped += [f"{name}: {line[9:]}" for line in lines]
        elif skipped is not None and "SKIP_RETURN_CODE" in (skipped.get("message") or ""):
            found.skipped.append(f"{name}: {lines[0][9:] if lines else output.strip()[-200:]}")
        else:
            found.failures.append(_failure(step, name, output, places))
    return found
