# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""How much one class declares: methods, data and nested types, in its own body.

    declaration_rules.py [ROOT]     prints the count for each class that has a limit
"""

import re
import sys

import source_tree

# The one class through which all tables are reached. A ratchet: what moves out lowers it.
DECLARATIONS_MAX = {"server/core/state.h:Hub::State": 183}

_ACCESS = re.compile(r"\b(?:public|protected|private)\s*:(?!:)")


def declarations_of(file, name):
    """The declarations of a class, one string each; None if the file does not define it."""
    text = "\n".join(file.code_lines())
    opening = re.search(rf"\b(?:class|struct)\s+{re.escape(name)}\b[^;{{]*{{", text)
    if opening is None:
        return None
    return [declaration for declaration in _statements(text, opening.end()) if declaration]


def _statements(text, position):
    """What ends with a semicolon, or with a body, up to the brace that closes the class."""
    start = position
    depth = 0
    while position < len(text):
        char = text[position]
        if char in "{(":
            depth += 1
        elif char in ")}":
            if depth == 0:
                return
            depth -= 1
        body_ends = char == "}" and depth == 0 and _is_body(text, position)
        if depth == 0 and (char == ";" or body_ends):
            yield " ".join(_ACCESS.sub("", text[start:position + 1]).strip("; \n").split())
            start = position + 1
        position += 1


def _is_body(text, position):
    """Not the end of an initialiser, or of a nested type, which a semicolon follows."""
    return re.match(r"\s*[;,){]", text[position + 1:position + 200]) is None


def check_declarations(files, limits=None):
    """declarations: a class that has a limit declares no more."""
    for key, limit in (DECLARATIONS_MAX if limits is None else limits).items():
        path, name = key.split(":", 1)
        found = declarations_of(files[path], name) if path in files else None
        if found is not None and len(found) > limit:
            yield (f"{path}:1: declarations: {name} has {len(found)}; {limit} is the most: "
                   "give what has state of its own a class of its own")


def main(arguments):
    files = source_tree.load_tree(arguments[1] if len(arguments) > 1 else ".")
    for key, limit in DECLARATIONS_MAX.items():
        path, name = key.split(":", 1)
        print(f"{name}: {len(declarations_of(files[path], name))} declarations, at most {limit}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
