#!/usr/bin/env python3
# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Prints which share of the product's lines and branches has run, per folder, of a build with g++'s
--coverage: what gcov says of each of its objects, added up.

Usage: coverage.py ROOT BUILD

The branches that g++ makes for exceptions are left out. The tests' objects count for what they have
of the product's headers, and objects that never ran for what they could have run.
"""

import collections
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys

FOLDERS = ("common", "protocol", "server", "worker_agent", "libros", "tools")


def chosen(branches):
    """Those of the source. g++ makes a pair of each call that may throw, the throw second."""
    kept = []
    for branch in branches:
        if branch["throw"]:
            del kept[-1:]
        else:
            kept.append(branch)
    return kept


class Counts:
    """How often each line and each branch of the product has run, in whichever object."""

    def __init__(self, root):
        self.root = root
        self.lines = collections.Counter()
        self.branches = collections.Counter()

    def add(self, said):
        for file in said["files"]:
            path = os.path.join(said["current_working_directory"], file["file"])
            inside = os.path.relpath(os.path.realpath(path), self.root)
            if inside.split("/")[0] in FOLDERS:
                for line in file["lines"]:
                    self.add_line(inside, line)

    def add_line(self, file, line):
        place = (file, line["line_number"])
        self.lines[place] += line["count"]
        for number, branch in enumerate(chosen(line["branches"])):
            self.branches[(*place, number)] += branch["count"]


def said_of(notes):
    """What gcov says of one object: a JSON value per source that it was compiled from."""
    command = ["gcov", "--json-format", "--stdout", "--branch-probabilities", notes]
    done = subprocess.run(command, cwd=notes.parent, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def share(counts):
    """As a table's two columns."""
    ran = sum(count > 0 for count in counts)
    return f"{len(counts):>8} " + (f"{100 * ran / len(counts):>6.1f} %" if counts else f"{'–':>8}")


def table(counts):
    yield f"{'':<14}{'lines':>8} {'ran':>8}{'branches':>10} {'ran':>8}"
    for folder in (*FOLDERS, ""):
        of_folder = [
            [count for place, count in kind.items() if place[0].startswith(folder)]
            for kind in (counts.lines, counts.branches)
        ]
        yield f"{folder or 'altogether':<14}{share(of_folder[0])}  {share(of_folder[1])}"


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    root, build = (pathlib.Path(word).resolve() for word in sys.argv[1:])
    notes = sorted(build.rglob("*.gcno"))
    if not any(build.rglob("*.gcda")):
        sys.exit(f"coverage.py: nothing has run in {build}, or it is no build with --coverage")
    counts = Counts(root)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for said in pool.map(said_of, notes):
            for source in said:
                counts.add(source)
    print("\n".join(table(counts)))


if __name__ == "__main__":
    main()
