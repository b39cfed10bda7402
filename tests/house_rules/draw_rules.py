# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""A seed gives the same run with every compiler: no call has two arguments that draw."""

import re

# Of Dice and Random, and functions that are called after what they draw.
_DRAW = re.compile(r"(?:\b(?:dice|random)_?\w*\s*(?:\.|->)\s*"
                   r"(?:Below|Chance|Next|NextId|NextNonZero|Time)|\bDraw\w+|\.Happens)\s*$")
_LAMBDA = re.compile(r"[)\]]\s*$|\b(?:mutable|const|noexcept|override)\s*$")


class _Bracket:
    def __init__(self, char, line, is_draw=False, is_body=False):
        self.char = char
        self.line = line
        self.is_draw = is_draw
        self.is_body = is_body  # of a lambda or a function: it runs at another time
        self.draws = is_draw  # whether anything in it does
        self.here = False  # whether the argument that is being read does
        self.arguments = 0  # that draw

    def end_argument(self):
        self.arguments += self.here
        self.here = False


def unordered_draws(text):
    """Lines of calls of which several arguments draw: the compiler chooses who does first."""
    stack = []
    line = 1
    for position, char in enumerate(text):
        if char == "\n":
            line += 1
        elif char in "([{":
            before = text[max(0, position - 80):position]
            is_draw = char == "(" and _DRAW.search(before) is not None
            is_body = char == "{" and _LAMBDA.search(before) is not None
            stack.append(_Bracket(char, line, is_draw, is_body))
        elif char == "," and stack:
            stack[-1].end_argument()
        elif char == ";" and stack:
            stack[-1].here, stack[-1].arguments = False, 0
        elif char in ")]}" and stack:
            ended = stack.pop()
            ended.end_argument()
            if ended.char == "(" and ended.arguments > 1:
                yield ended.line
            draws = (ended.draws or ended.arguments > 0) and not ended.is_body
            if stack and draws:
                stack[-1].here = stack[-1].draws = True


def check_draws(files):
    """order-of-draws: one draw in a call; the order of arguments is the compiler's."""
    for path, file in files.items():
        if not file.is_code():
            continue
        for line in unordered_draws("\n".join(file.code_lines())):
            yield (f"{path}:{line}: order-of-draws: two arguments of one call draw, and which "
                   "first the compiler says; draw in statements of their own")
