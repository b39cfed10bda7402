# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Which tests know most of a file: `tools/test.sh for FILE…`.

tests/unit mirrors the source tree. So the tests of a source are those of its mirror, and the
tests of a header are those of each folder in which something includes it. The last build says what
does; before the first one, it is the folder that the header lies in.
"""

import json
import os
import re
import subprocess
import sys

import compiled
from steps import Step, build, tests

_PRESET = "asan-ubsan"
_BUILD = f"{_PRESET}: build"


def _configure(places):
    folder = places.preset(_PRESET)
    if (folder / "build.ninja").exists():
        return
    done = subprocess.run(
        ["cmake", "--preset", _PRESET, "-B", str(folder)],
        cwd=places.root,
        text=True,
        capture_output=True,
        check=False,
    )
    if done.returncode != 0:
        sys.exit(f"tools/test.sh: {_PRESET} could not be configured:\n{done.stdout}{done.stderr}")


def _registered(folder):
    """{test: its command's words}"""
    done = subprocess.run(
        ["ctest", "--test-dir", str(folder), "--show-only=json-v1"],
        text=True,
        capture_output=True,
        check=True,
    )
    return {test["name"]: test.get("command", []) for test in json.loads(done.stdout)["tests"]}


def _target(output):
    """(folder, target) of an object as the build names it."""
    found = re.match(r"(.*?)/?CMakeFiles/([^/]+)\.dir/", output)
    return found.groups() if found else ("", "")


def _mirrors(folder):
    """Folders of tests that know a folder of the product."""
    return {f"tests/unit/{folder}", f"tests/unit/{folder.replace('/', '_')}", "tests/fuzz"}


def _of_cc(file, units, registered):
    """Of a source or header in C++."""
    ours = {
        _target(unit.output) for unit in units if file in unit.sources or file in unit.includes
    }
    if not ours:
        ours = {(os.path.dirname(file), "")}
    folders = {folder for folder, _ in ours if not folder.startswith("tests/")}
    mirrors = set().union(*map(_mirrors, folders))
    names = {target for folder, target in ours if folder.startswith("tests/")}
    for unit in units:
        folder, target = _target(unit.output)
        near = folder in mirrors and (folder != "tests/fuzz" or _meets(unit, folders))
        if near:
            names.add(target)
    return names & set(registered)


def _meets(unit, folders):
    return any(os.path.dirname(include) in folders for include in unit.includes)


def _names(files, places):
    folder = places.preset(_PRESET)
    registered = _registered(folder)
    units = compiled.units(folder, places.root)
    names = set()
    for file in files:
        shown = os.path.relpath(os.path.join(places.root, file), places.root)
        if not os.path.exists(os.path.join(places.root, shown)):
            sys.exit(f"tools/test.sh for: {file}: there is no such file")
        if shown.endswith((".cc", ".h")):
            names |= _of_cc(shown, units, registered)
        names |= {
            name
            for name, words in registered.items()
            if any(word.endswith("/" + shown) for word in words)
        }
    return sorted(names)


def selected(files, places):
    steps = []
    if any(file.startswith("python/") for file in files):
        steps.append(Step("python", "tests", ("tools/test_python.sh",)))
    others = [file for file in files if not file.startswith("python/")]
    if others:
        _configure(places)
        names = _names(others, places)
        if not names and not steps:
            sys.exit(
                f"tools/test.sh for: no test of {_PRESET} knows {', '.join(others)}; "
                "tools/test.sh quick runs all of them"
            )
        print("tests:", " ".join(names), flush=True)
        steps += [build(_PRESET, *names), tests(_PRESET, "unit|integration", _BUILD, names=names)]
    return steps
