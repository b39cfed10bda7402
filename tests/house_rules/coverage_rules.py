#!/usr/bin/env python3
# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Each sentence of a rule has a scenario or a test that names it, and each scenario a sentence.

    coverage_rules.py [ROOT]     prints the matrix: a sentence, and who covers it

A scenario or a test says what it covers in its leading comment: "# Covers: R6.3, R8.17".
"""

import os
import re
import sys

import document_rules
import source_tree

_SENTENCE = re.compile(r"\| (R([1-9])\.(\d+)) \| (.*) \|")
_COVERS = re.compile(r"(?:#|//) Covers: (.*)")


def sentences_in(file):
    """[(line number, id, rule, number in it, text)] of the cards."""
    found = []
    for number, line in enumerate(file.lines, 1):
        match = _SENTENCE.fullmatch(line.strip())
        if match:
            found.append((number, match.group(1), int(match.group(2)), int(match.group(3)),
                          match.group(4)))
    return found


def covered_by(file):
    """[(line number, id)] that the leading comment names; none if it names none."""
    found = []
    for number, line in enumerate(file.lines, 1):
        if not line.startswith(("#", "//")):
            break
        match = _COVERS.fullmatch(line)
        if match:
            found += [(number, name) for name in match.group(1).split(", ")]
    return found


def coverage_in(files):
    """{id: [path]}"""
    covered = {}
    for path, file in files.items():
        for _, name in covered_by(file) if path.startswith("tests/") else ():
            covered.setdefault(name, []).append(path)
    return covered


def check_coverage(files):
    """coverage: a sentence that nothing covers, or a scenario that covers none."""
    if document_rules.CARDS not in files:
        return
    sentences = sentences_in(files[document_rules.CARDS])
    yield from _check_numbers(sentences)
    known = {name for _, name, *_ in sentences}
    for path, file in files.items():
        if not path.startswith("tests/"):
            continue
        names = covered_by(file)
        if source_tree.is_scenario(path) and not names:
            yield f"{path}:1: coverage: say which sentences it covers (\"# Covers: R6.3\")"
        for number, name in names:
            if name not in known:
                yield f"{path}:{number}: coverage: no rule has a sentence {name}"
    covered = coverage_in(files)
    for number, name, *_ in sentences:
        if name not in covered:
            yield (f"{document_rules.CARDS}:{number}: coverage: no scenario and no test covers "
                   f"{name}")


def _check_numbers(sentences):
    counts = {}
    for number, name, rule, index, _ in sentences:
        counts[rule] = counts.get(rule, 0) + 1
        if index != counts[rule]:
            yield (f"{document_rules.CARDS}:{number}: coverage: {name} is sentence "
                   f"{counts[rule]} of its rule")


def print_matrix(files):
    covered = coverage_in(files)
    for _, name, _, _, text in sentences_in(files[document_rules.CARDS]):
        print(f"{name}  {text}")
        for path in covered.get(name, ["(nothing)"]):
            print(f"    {os.path.relpath(path, 'tests') if '/' in path else path}")


def main(arguments):
    files = source_tree.load_tree(arguments[1] if len(arguments) > 1 else ".")
    print_matrix(files)
    broken = list(check_coverage(files))
    for line in broken:
        print(line)
    count = len(sentences_in(files[document_rules.CARDS]))
    print(f"{count} sentences, {len(broken)} gaps")
    return 1 if broken or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
