# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Nothing lies beside the build: sources, tests and rule numbers that nobody would miss."""

import os
import re

from include_rules import in_core

# The rules of docs/protocol/rules.md that the cores carry out.
RULES_IN_THE_CORES = range(1, 10)


def _build_words(files):
    """{folder of a build file: the words it uses}."""
    words = {}
    for path, file in files.items():
        if os.path.basename(path) == "CMakeLists.txt":
            text = "\n".join(line.split("#", 1)[0] for line in file.lines)
            words[os.path.dirname(path)] = set(re.findall(r"[\w./+-]+", text))
    return words


def check_sources_registered(files):
    """unregistered: a source that no CMakeLists.txt names would never be compiled."""
    named = {os.path.normpath(os.path.join(folder, word))
             for folder, words in _build_words(files).items() for word in words}
    for path in files:
        if path.endswith(".cc") and path not in named:
            kind = "test" if path.endswith("_test.cc") else "source"
            yield f"{path}:1: unregistered: no CMakeLists.txt names this {kind}"


def check_folders_registered(files):
    """unregistered: a folder with a build file that nobody adds."""
    words = _build_words(files)
    for folder in words:
        parent = os.path.dirname(folder)
        added = False
        while folder and not added:
            relative = os.path.relpath(folder, parent or ".")
            added = relative in words.get(parent, ())
            if not parent:
                break
            parent = os.path.dirname(parent)
        if folder and not added:
            yield f"{folder}/CMakeLists.txt:1: unregistered: no CMakeLists.txt adds this folder"


def check_rules_named(files, rules=RULES_IN_THE_CORES):
    """rule-number: the code that enforces a rule bears its number."""
    core = "\n".join(file.text for path, file in files.items() if in_core(path) and file.is_code())
    for rule in rules:
        if not re.search(rf"\bR{rule}\b", core):
            yield f"server/core: rule-number: no source of a core names R{rule}, which it enforces"
