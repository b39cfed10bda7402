# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""What a build compiles: its translation units, which sources each is made of, and what it
includes."""

import dataclasses
import json
import os
import pathlib
import re
import subprocess


@dataclasses.dataclass(frozen=True)
class Unit:
    file: str  # as the compiler is told
    output: str  # the object, as ninja names it
    sources: (
        tuple  # relative to the checkout: of a batch (CMAKE_UNITY_BUILD) each that it includes
    )
    includes: frozenset  # relative to the checkout; empty before it was compiled


def _sources(file):
    if "/Unity/unity_" not in file:
        return [file]
    text = pathlib.Path(file).read_text(encoding="utf-8")
    return re.findall('^#include "(.*)"', text, re.MULTILINE)


def _includes(folder, root):
    """{object: what it was made of}, as the last build noted."""
    done = subprocess.run(
        ["ninja", "-C", str(folder), "-t", "deps"], text=True, capture_output=True, check=False
    )
    made_of, current = {}, None
    for line in done.stdout.splitlines():
        if line.startswith("    "):
            path = os.path.normpath(os.path.join(folder, line.strip()))
            if path.startswith(f"{root}/"):
                current.append(os.path.relpath(path, root))
        elif ": #deps" in line:
            current = made_of.setdefault(line.split(": #deps")[0], [])
    return made_of


def _unit(file, output, made_of, root):
    sources = tuple(os.path.relpath(source, root) for source in _sources(file))
    return Unit(file, output, sources, frozenset(made_of.get(output, ())))


def units(folder, root):
    entries = json.loads(
        (pathlib.Path(folder) / "compile_commands.json").read_text(encoding="utf-8")
    )
    made_of = _includes(folder, root)
    return [
        _unit(entry["file"], re.search(r" -o (\S+)", entry["command"])[1], made_of, root)
        for entry in entries
    ]
