# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Functions stay short. Bodies are found by matching braces: a heuristic that is good enough."""

import re

FUNCTION_LINES_MAX = 70

# Longer ones that are there for a reason: "path:Name": lines. A ratchet: they must not grow, and
# an entry goes when its function has become short.
ALLOWED_LONGER = {}

_ACCESS = re.compile(r"\b(?:public|protected|private)\s*:(?!:)")
_CONTAINER = re.compile(r"\s*(?:template\s*<.*?>\s*)?(?:inline\s+)?"
                        r"(?:namespace|class|struct|union|extern)\b", re.DOTALL)
_NAME = re.compile(r"((?:[A-Za-z_]\w*::)*~?[A-Za-z_]\w*|operator\s*[^\s\w(]+)\s*\(")


class Function:
    def __init__(self, name, first_line, last_line):
        self.name = name
        self.first_line = first_line
        self.last_line = last_line

    def line_count(self):
        return self.last_line - self.first_line + 1


def _without_directives(lines):
    continued = False
    for line in lines:
        directive = continued or line.lstrip().startswith("#")
        continued = directive and line.rstrip().endswith("\\")
        yield "" if directive else line


def functions_of(file):
    """The outermost function bodies of a file, lambdas and local classes counted with them."""
    text = "\n".join(_without_directives(file.code_lines()))
    found = []
    header_start = 0  # where the declaration in front of the next brace began
    position = 0
    parens = 0
    while position < len(text):
        char = text[position]
        if char == "(":
            parens += 1
        elif char == ")":
            parens = max(0, parens - 1)
        elif char == ";" and parens == 0 or char == "}":
            header_start = position + 1
        elif char == "{" and parens == 0:
            header = _ACCESS.sub(lambda found: " " * len(found.group(0)),
                                 text[header_start:position])
            if _CONTAINER.match(header):
                header_start = position + 1  # look inside
            else:
                position = _end_of_block(text, position)
                if re.match(r"\s*[,{]", text[position + 1:position + 200]) and ")" in header:
                    pass  # a member initialised with braces: the body is still to come
                else:
                    _add(found, text, header, header_start, position)
                    header_start = position + 1
        position += 1
    return found


def _end_of_block(text, opening):
    depth = 0
    for match in re.compile(r"[{}]").finditer(text, opening):
        depth += 1 if match.group(0) == "{" else -1
        if depth == 0:
            return match.start()
    return len(text) - 1


def _add(found, text, header, start, end):
    name = _NAME.search(header)
    if name is None:
        return  # an initialiser or an enumeration
    first = start + len(header) - len(header.lstrip())
    found.append(Function(name.group(1), text.count("\n", 0, first) + 1,
                          text.count("\n", 0, end) + 1))


def check_functions(files, allowed=None):
    """function-length: at most 70 lines."""
    allowed = ALLOWED_LONGER if allowed is None else allowed
    longer = set()
    for path, file in files.items():
        if not file.is_code():
            continue
        for function in functions_of(file):
            lines = function.line_count()
            key = f"{path}:{function.name}"
            if lines > FUNCTION_LINES_MAX:
                longer.add(key)
            if lines > max(FUNCTION_LINES_MAX, allowed.get(key, 0)):
                yield (f"{path}:{function.first_line}: function-length: {function.name} has "
                       f"{lines} lines; split it, {FUNCTION_LINES_MAX} is the most")
    for key in allowed:
        if key not in longer:
            yield f"{key}: function-length: is short now; take it off ALLOWED_LONGER"
