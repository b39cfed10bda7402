# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Rules on comments: the first sentence of a comment has a subject of its own."""

import re

# A comment that begins so speaks of something that stands elsewhere, and the reader has to find it.
NO_SUBJECT = frozenset(
    "also and but by else it its likewise nor of or so that their them then they those whoever "
    "whom whose".split())
# At most so many comments of a folder begin so, from before there was the rule. It only falls.
RATCHET = {"server": 25, "tests": 150}

_BEGINS = re.compile(r"\s*//+ ([A-Za-z]+)")
_COMMENT = re.compile(r"\s*//")


def first_words_of(file):
    """(line number, first word) of each comment that has lines of its own."""
    before = ""
    for number, line in enumerate(file.lines, 1):
        match = _BEGINS.match(line)
        if match and not _COMMENT.match(before):
            yield number, match.group(1)
        before = line


def without_subject(files):
    """{folder: [(path, line number, first word)]}"""
    found = {}
    for path, file in files.items():
        for number, word in first_words_of(file) if file.is_code() else ():
            if word.lower() in NO_SUBJECT:
                found.setdefault(path.split("/", 1)[0], []).append((path, number, word))
    return found


def check_comments(files):
    """comment-subject: a comment that begins with a word which stands for something elsewhere."""
    for folder, comments in without_subject(files).items():
        allowed = RATCHET.get(folder, 0)
        if len(comments) <= allowed:
            continue
        for path, number, word in comments if allowed == 0 else comments[:1]:
            count = f" (one of {len(comments)} in {folder}, {allowed} at most)" if allowed else ""
            yield (f"{path}:{number}: comment-subject: it begins with \"{word}\": begin with what "
                   f"it is about{count}")
