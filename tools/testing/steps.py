# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""What tools/test.sh runs: the one list of steps, and after what each of them may begin.

Steps of one lane run one after the other, lanes beside each other. Most tests wait most of the
time: for leases, for processes that start, for links that are slow on purpose. So what needs
processors alone, the lane `build`, is in the scheduler's idle class, and takes what tests leave
over.
"""

import dataclasses
import os
import re
import subprocess
import sys

PLANTED = "tests/sim/planted/of_sources.py"
SANITIZED = "asan-ubsan: build with thread-safety analysis"


@dataclasses.dataclass(frozen=True)
class Step:
    name: str
    lane: str
    command: tuple  # words; or of a ctest step nothing
    after: tuple = ()  # names of steps that must have succeeded
    preset: str = ""  # of a ctest step
    label: str = ""  # a regular expression of ctest
    names: tuple = ()  # of tests, where not all of that label are meant
    skip: str = ""  # why it is not run
    environment: tuple = ()  # (name, value)


def shell(function, *words):
    """A function of tools/lib.sh."""
    return ("bash", "-c", f'source tools/lib.sh && {function} "$@"', function, *words)


def build(preset, *targets, name="build"):
    return Step(f"{preset}: {name}", "build", shell("tensorhub_build", preset, *targets))


def tests(preset, label, *after, name="", lane="tests", names=(), environment=()):
    return Step(
        f"{preset}: {name or label} tests",
        lane,
        (),
        after,
        preset,
        f"^({label})$",
        tuple(names),
        environment=environment,
    )


def checks():
    return [
        Step(name, "checks", ("tools/lint.sh", word))
        for name, word in (("format", "format"), ("scripts", "shell"), ("house rules", "rules"))
    ]


def shipped(places, environment=()):
    """What proves the build that people get. If PyPI's UCX is not to be had, gpu_test says so."""
    return [
        build("release", "tensorhub_binaries", "tensorhub_shipped"),
        Step("PyPI's UCX", "python", ("bash", "-c", "tools/gpu/get_ucx.sh || true")),
        tests("release", "shipped", "release: build", "PyPI's UCX", environment=environment),
        Step(
            "sim check",
            "build",
            (str(places.preset("release") / "bin/tensorhub-sim"), "check"),
            ("release: build",),
        ),
        Step("demo", "tests", ("tools/demo.sh",), ("release: build",)),
    ]


def sanitized():
    return [
        build("asan-ubsan", name="build with thread-safety analysis"),
        tests(
            "asan-ubsan",
            "unit|integration",
            SANITIZED,
            name="unit and integration",
        ),
    ]


def same_runs(places):
    sims = (
        str(places.preset(preset) / "bin/tensorhub-sim") for preset in ("release", "asan-ubsan")
    )
    return Step("same runs", "tests", ("tools/same_runs.sh", *sims), ("release: build", SANITIZED))


def python():
    return [
        Step("python: environment", "python", ("tools/test_python.sh", "--environment")),
        Step("python: wheel", "build", ("tools/wheel.sh",), ("python: environment",)),
        Step(
            "python: ruff, mypy, tests",
            "python",
            ("tools/test_python.sh", "--wheel-is-built"),
            ("python: wheel",),
        ),
    ]


def threads():
    return [
        build("tsan-core", "tensorhub_threads"),
        tests("tsan-core", "threads", "tsan-core: build"),
    ]


def proofs(places):
    """By another compiler than the one of what ships."""
    return [*sanitized(), *threads(), same_runs(places)]


def planted_in(files):
    """Names of the planted bugs' tests for these sources."""
    done = subprocess.run(
        [sys.executable, "-B", PLANTED, *files], text=True, capture_output=True, check=True
    )
    return done.stdout.split()


def touched(changes):
    """What the branch touches, more closely."""
    steps = [
        Step(
            "clang-tidy of what is touched",
            "build",
            ("tools/lint.sh", "tidy", *changes.files),
            (SANITIZED,),
        )
    ]
    cores = changes.under("server/core/", "worker_agent/core/", "tests/sim/planted/")
    bugs = planted_in(cores) if cores else []
    if bugs:
        steps += [
            build("release", *bugs, name="planted bugs that are touched"),
            tests(
                "release",
                "planted",
                "release: planted bugs that are touched",
                lane="build",
                name="planted bugs that are touched",
                names=bugs,
            ),
        ]
    model = [file for file in changes.under("tests/model/") if file.endswith(".pml")]
    if model or changes.under("tools/check_model.sh"):
        steps.append(Step("model", "build", ("tools/check_model.sh",)))
    if changes.under("packaging/", "tests/install/", "tools/packages.sh"):
        steps.append(as_root("packages", "tools/packages.sh", "check"))
    if changes.under("deploy/", "tests/deploy/", "tools/check_deploy.sh", "docs/metrics.md"):
        steps.append(deployment())
    return steps


def needs_root():
    return "" if os.geteuid() == 0 else "a Debian in a folder needs root"


def as_root(name, *command):
    return Step(name, "build", command, ("release: build",), skip=needs_root())


def deployment():
    return Step("kubernetes, alerts", "checks", ("tools/check_deploy.sh",), ("release: build",))


def engines(places):
    there = (places.build / "engines").is_dir()
    reason = (
        "" if there else "its environments take 9 GB and minutes; tools/test.sh engines makes them"
    )
    return Step(
        "engines: the plug-ins in a real vLLM, SGLang and verl",
        "tests",
        ("tools/test_engines.sh",),
        skip=reason,
    )


def beside(places):
    """What `full` has besides."""
    return [
        build("release", "tensorhub_planted", name="planted bugs"),
        tests(
            "release",
            "planted",
            "release: planted bugs",
            lane="build",
            name="planted bugs and model",
        ),
        build("release", "tensorhub_unit", "tensorhub_integration", name="build of all tests"),
        tests(
            "release",
            "unit|integration",
            "release: build of all tests",
            name="unit and integration",
        ),
        tests(
            "asan-ubsan",
            "shipped",
            SANITIZED,
            name="chaos and leaving",
        ),
        build("tsan-core", name="build of everything"),
        tests("tsan-core", "unit", "tsan-core: build of everything"),
        Step(
            "clang-tidy",
            "build",
            ("tools/lint.sh", "tidy"),
            (SANITIZED,),
        ),
        as_root("packages", "tools/packages.sh", "check"),
        Step(
            "the wheel in bare Debians",
            "build",
            ("tools/wheel_alone.sh", "debians"),
            ("python: wheel",),
            skip=needs_root(),
        ),
        as_root("a bare Debian 12", "tools/test_bare.sh", "bookworm"),
        as_root("a bare Debian 13", "tools/test_bare.sh", "trixie"),
        deployment(),
        engines(places),
    ]


def steps_of(mode, changes, places):
    if mode == "engines":
        return [dataclasses.replace(engines(places), skip="")]
    if mode == "quick":
        return checks() + sanitized()
    # The wheel is made of what ccache has from the release build, and its tests, which take one
    # processor, run beside the longest build.
    if mode == "full":
        first = shipped(places, (("TENSORHUB_FULL", "1"),))
        return checks() + first + python() + proofs(places) + beside(places)
    print(changes.describe(), flush=True)
    return checks() + shipped(places) + python() + proofs(places) + touched(changes)
