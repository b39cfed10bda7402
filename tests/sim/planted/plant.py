#!/usr/bin/env python3
# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Plants a bug: applies a patch by the text that it changes, wherever that is by now.

Usage: plant.py SOURCE PATCH COPY
  COPY   SOURCE with the bug; may be SOURCE itself

A patch goes where the lines that it changes are, if they are in one place of the source. What
surrounds them decides only where they are in several, as many lines of it as are needed. So neither
a line's number nor its neighbours pin a patch down, and it never lands in a second place like its
own. Indentation is not compared. Exits with 1, and says why, where there is no such place.
"""

import pathlib
import re
import sys


class Unfit(Exception):
    """Why a patch cannot be applied."""


def hunks_of(patch):
    """Each as a list of lines that begin with ' ', '-' or '+'."""
    hunks = []
    for line in patch.splitlines():
        if line.startswith("@@"):
            hunks.append([])
        elif hunks and line[:1] in ("-", "+", " ", ""):
            hunks[-1].append(line or " ")
    return hunks


def source_of(patch):
    """The path of the source that a patch names."""
    named = re.search(r"^\+\+\+ b/(\S+)$", patch, re.MULTILINE)
    if not named:
        raise Unfit("it names no source (a line that begins with +++ b/)")
    return named.group(1)


def narrowed(hunk, context):
    """The hunk with so many lines around what changes, or fewer where it has no more."""
    changed = [index for index, line in enumerate(hunk) if line[0] != " "]
    return hunk[max(0, changed[0] - context) : changed[-1] + 1 + context]


def places(lines, wanted):
    """Where the wanted lines are."""
    wanted = [line.strip() for line in wanted]
    bare = [line.strip() for line in lines]
    last = len(bare) - len(wanted)
    return [at for at in range(last + 1) if bare[at : at + len(wanted)] == wanted]


def apply_hunk(lines, hunk):
    """The lines with the hunk's change in its one place."""
    old = []
    for context in range(len(hunk) + 1):
        part = narrowed(hunk, context)
        old = [line[1:] for line in part if line[0] != "+"]
        if not any(line.strip() for line in old):
            continue  # lines that only come in go between others
        found = places(lines, old)
        if len(found) == 1:
            new = [line[1:] for line in part if line[0] != "-"]
            return lines[: found[0]] + new + lines[found[0] + len(old) :]
        if not found:
            raise Unfit("what it changes is not in the source any more:\n" + "\n".join(old))
    raise Unfit("what it changes is in several places of the source:\n" + "\n".join(old))


def planted(source, patch):
    """The text of a source with a patch's change."""
    hunks = hunks_of(patch)
    if not hunks:
        raise Unfit("it changes nothing")
    lines = source.splitlines()
    for hunk in hunks:
        lines = apply_hunk(lines, hunk)
    return "\n".join(lines) + "\n"


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    source, patch, copy = map(pathlib.Path, sys.argv[1:])
    try:
        text = patch.read_text(encoding="utf-8")
        named = pathlib.PurePath(source_of(text)).parts
        if source.resolve().parts[-len(named) :] != named:
            raise Unfit(f"it is for {source_of(text)}")
        copy.write_text(planted(source.read_text(encoding="utf-8"), text), encoding="utf-8")
    except Unfit as why:
        sys.exit(f"{patch} does not apply to {source}: {why}")


if __name__ == "__main__":
    main()
