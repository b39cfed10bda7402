#!/usr/bin/env python3
# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Prints a manual page (section 1) made of what a program's --help says, verb by verb.

Usage: manual.py PROGRAM
"""

import pathlib
import re
import subprocess
import sys


def run(*command):
    done = subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE)
    return done.stdout.rstrip()


def escaped(text):
    """Roff takes a backslash, and a dot or an apostrophe at the beginning of a line, for its own."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^([.'])", r"\\&\1", text, flags=re.MULTILINE)


def as_it_is(text):
    return f".nf\n{escaped(text)}\n.fi"


def verbs(text):
    listed = re.search(r"^Verbs:\n((?:  .*\n)+)", text, re.MULTILINE)
    return re.findall(r"^  (\w+) ", listed.group(1), re.MULTILINE) if listed else []


def page(program):
    name = pathlib.Path(program).name
    version = run(program, "--version").split()[-1]
    text = run(program, "--help") + "\n"
    summary, _, rest = text.partition("\n")
    summary = summary.partition(": ")[2].rstrip(".")
    yield f'.TH {name.upper()} 1 "" "TensorHub {version}" "TensorHub"'
    yield f".SH NAME\n{name} \\- {escaped(summary[:1].lower() + summary[1:])}"
    yield ".SH DESCRIPTION\n" + as_it_is(rest.strip())
    for verb in verbs(text):
        yield f".SH {verb.upper()}\n" + as_it_is(run(program, verb, "--help"))


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    print("\n".join(page(sys.argv[1])))


if __name__ == "__main__":
    main()
