# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""The files that the house rules look at, and what each of them says apart from its comments."""

import os
import re
import subprocess

TOP_FOLDERS = ("common", "proto", "protocol", "server", "worker_agent", "libros", "python", "tools",
               "tests", "bench", "cmake", ".ci", "deploy", "docs", "examples")
CODE_SUFFIXES = (".cc", ".h")
SCRIPT_SUFFIXES = (".py", ".sh")
OTHER_SUFFIXES = (".proto", ".cmake", ".md", ".pml")
_SCENARIO = re.compile(r"tests/(.*/scenarios|protocol)/\w+\.txt")

_INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]')
# In this order: a raw string, a string or character, a line comment, a block comment. The look
# behind keeps digit separators (1'000) from opening a character.
_OPAQUE = re.compile(
    r'R"(?P<tag>[^\s()\\]{0,16})\(.*?\)(?P=tag)"'
    r'|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])*'"
    r'|//[^\n]*'
    r'|/\*.*?\*/', re.DOTALL)


class SourceFile:
    """One file: `path` is relative to the root, `lines` are 1-based through `enumerate(..., 1)`."""

    def __init__(self, path, text):
        self.path = path
        self.text = text
        self.lines = text.splitlines()
        self.suffix = os.path.splitext(path)[1]
        self._code_lines = None

    def is_code(self):
        return self.suffix in CODE_SUFFIXES

    def code_lines(self):
        """The lines with comments and the contents of strings blanked; columns are kept."""
        if self._code_lines is None:
            self._code_lines = blank_opaque(self.text).splitlines()
        return self._code_lines

    def includes(self):
        """(line number, "<" or '"', what is included)."""
        for number, line in enumerate(self.lines, 1):
            match = _INCLUDE.match(line)
            if match:
                yield number, match.group(1), match.group(2)


def blank_opaque(text):
    """Comments and literals become spaces (a literal keeps its quotes), newlines stay."""
    def blank(match):
        found = match.group(0)
        body = re.sub(r"[^\n]", " ", found)
        if found.startswith("/"):
            return body
        return found[0] + body[1:-1] + found[-1]
    return _OPAQUE.sub(blank, text)


def is_scenario(path):
    """A script of events, with what the core did."""
    return _SCENARIO.fullmatch(path) is not None


def load_tree(root):
    """All sources, build files and documents under `root`: {path: SourceFile}, in order of path."""
    files = {}
    for path in sorted(_paths(root)):
        name = os.path.basename(path)
        if os.path.splitext(name)[1] not in CODE_SUFFIXES + SCRIPT_SUFFIXES + OTHER_SUFFIXES \
                and name != "CMakeLists.txt" and not is_scenario(path):
            continue
        with open(os.path.join(root, path), encoding="utf-8", errors="replace") as stream:
            files[path] = SourceFile(path, stream.read())
    return files


def _paths(root):
    listing = None
    if os.path.exists(os.path.join(root, ".git")):
        # Not what git ignores: build trees lie in the checkout.
        found = subprocess.run(["git", "-c", "safe.directory=*", "ls-files", "--cached", "--others",
                                "--exclude-standard"],
                               cwd=root, capture_output=True, text=True, check=False)
        if found.returncode == 0:
            listing = found.stdout.splitlines()
    if listing is None:
        listing = [os.path.relpath(os.path.join(folder, name), root)
                   for folder, _, names in os.walk(root) for name in names]
    for path in listing:
        top = path.split("/", 1)[0]
        if (top in TOP_FOLDERS or "/" not in path) and os.path.isfile(os.path.join(root, path)):
            yield path
