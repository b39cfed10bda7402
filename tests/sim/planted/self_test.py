#!/usr/bin/env python3
# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Each patch of this folder fits its source, also when all around it has changed, and none is
applied where it does not belong."""

import pathlib
import re
import unittest

import of_sources
import plant

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
PATCHES = {path.stem: path.read_text(encoding="utf-8") for path in sorted(HERE.glob("*.patch"))}


def text_of(patch):
    return (ROOT / plant.source_of(patch)).read_text(encoding="utf-8")


def lines_of(patch, sign):
    """What each hunk takes out ("-") or brings in ("+"); its neighbours where it takes out none."""
    lines = []
    for hunk in plant.hunks_of(patch):
        only_brings = all(line[0] != "-" for line in hunk)
        part = plant.narrowed(hunk, 1 if only_brings else 0)
        lines.append([line[1:].strip() for line in part if line[0] in (" ", sign)])
    return lines


def changed_by(patch, source):
    """The numbers of the lines that the patch changes."""
    numbers = set()
    for old in lines_of(patch, "-"):
        for at in plant.places(source, old):
            numbers.update(range(at, at + len(old)))
    return numbers


def surrounded(patch):
    """Its source, with every line that is not changed renamed, and a new one above that."""
    source = text_of(patch).splitlines()
    kept = changed_by(patch, source)
    return "\n".join(
        line if number in kept else f"// New.\nrenamed({line.strip()});"
        for number, line in enumerate(source)
    )


class PlantedPatchesTest(unittest.TestCase):
    def test_each_is_a_test(self):
        self.assertGreater(len(PATCHES), 50)
        cmake = (HERE / "CMakeLists.txt").read_text(encoding="utf-8")
        for name in PATCHES:
            self.assertRegex(cmake, rf"\b{name}\b")

    def test_each_fits_its_source(self):
        for name, patch in PATCHES.items():
            with self.subTest(name):
                self.assertNotEqual(plant.planted(text_of(patch), patch), text_of(patch))

    def test_each_fits_whatever_becomes_of_the_lines_around_it(self):
        for name, patch in PATCHES.items():
            with self.subTest(name):
                result = plant.planted(surrounded(patch), patch).splitlines()
                left = [line.strip() for line in result if not re.match("// New|renamed", line)]
                self.assertEqual(left, sum(lines_of(patch, "+"), []))

    def test_none_fits_where_its_place_is_gone(self):
        for name, patch in PATCHES.items():
            source = text_of(patch).splitlines()
            gone = changed_by(patch, source)
            rest = "\n".join(line for number, line in enumerate(source) if number not in gone)
            with self.subTest(name), self.assertRaisesRegex(plant.Unfit, "any more"):
                plant.planted(rest, patch)

    def test_none_chooses_among_places(self):
        for name, patch in PATCHES.items():
            with self.subTest(name), self.assertRaisesRegex(plant.Unfit, "several places"):
                plant.planted(text_of(patch) * 2, patch)


class PlantTest(unittest.TestCase):
    PATCH = "R1: why.\n\n--- a/x/y.cc\n+++ b/x/y.cc\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n"

    def test_neighbours_decide_where_the_line_is_there_twice(self):
        self.assertEqual(plant.planted("b\na\nb\nc\n", self.PATCH), "b\na\nB\nc\n")

    def test_indentation_is_not_compared(self):
        self.assertEqual(plant.planted("    b\n", self.PATCH), "B\n")

    def test_a_patch_without_a_change_is_refused(self):
        with self.assertRaisesRegex(plant.Unfit, "changes nothing"):
            plant.planted("b\n", "R1: why.\n")

    def test_a_patch_names_its_source(self):
        self.assertEqual(plant.source_of(self.PATCH), "x/y.cc")
        with self.assertRaisesRegex(plant.Unfit, "names no source"):
            plant.source_of("R1: why.\n")


class OfSourcesTest(unittest.TestCase):
    def test_a_source_has_the_bugs_that_are_planted_in_it(self):
        found = list(of_sources.tests_of(["README.md", "server/core/content.cc"]))
        self.assertEqual(found, ["planted_joiner_is_not_compared", "planted_unknown_is_the_same"])

    def test_a_patch_is_its_own(self):
        found = list(of_sources.tests_of(["tests/sim/planted/two_seeds.patch"]))
        self.assertEqual(found, ["planted_two_seeds"])

    def test_every_bug_is_of_some_source(self):
        sources = {plant.source_of(patch) for patch in PATCHES.values()}
        self.assertEqual(len(list(of_sources.tests_of(sources))), len(PATCHES))


if __name__ == "__main__":
    unittest.main()
