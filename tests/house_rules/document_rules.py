# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Rules on documents: plain sentences, and cards of the rules that name what is there."""

import re

CARDS = "docs/rules.md"
PLANTED = "tests/sim/planted/CMakeLists.txt"
SENTENCE_WORDS_MAX = 30

_CODE = re.compile(r"`[^`]*`")
_LINK = re.compile(r"\]\([^)]*\)")


def prose_of(file):
    """(line number, line, whether it is a table's) without code blocks; inline code is one word."""
    inside = False
    for number, line in enumerate(file.lines, 1):
        if line.lstrip().startswith("```"):
            inside = not inside
        elif not inside:
            yield number, _LINK.sub("]", _CODE.sub("code", line)), line.startswith("|")


def sentences_of(file):
    """(line number, words) of each sentence outside of tables and headings."""
    text = []
    for number, line, table in prose_of(file):
        begins = re.match(r"\s*([-*]|\d+\.) ", line)
        if table or begins or not line.strip() or line.startswith("#"):
            yield from _split(text)
            text = []
        if not table and line.strip() and not line.startswith("#"):
            text += [(number, word) for word in line.split()]
    yield from _split(text)


def _split(words):
    sentence = []
    for number, word in words:
        if re.search(r"\w", word):
            sentence.append((number, word))
        if sentence and re.search(r"[.!?:][\"*)_\]]*$", word):
            yield sentence[0][0], [word for _, word in sentence]
            sentence = []
    if sentence:
        yield sentence[0][0], [word for _, word in sentence]


def check_prose(files):
    """prose: a semicolon, or a sentence that is too long to be read once."""
    for path, file in files.items():
        if file.suffix != ".md":
            continue
        for number, line, _ in prose_of(file):
            if ";" in re.sub(r"&\w+;", "", line):
                yield f"{path}:{number}: prose: a semicolon: make two sentences of it"
        for number, words in sentences_of(file):
            if len(words) > SENTENCE_WORDS_MAX:
                yield (f"{path}:{number}: prose: a sentence of {len(words)} words, more than "
                       f"{SENTENCE_WORDS_MAX}: \"{' '.join(words[:6])} ...\"")


def planted_in(text):
    """The names of the bugs that the simulation has to find."""
    text = re.sub(r"#[^\n]*", "", text)
    names = set(re.findall(r"planted_bug\((\w+) ", text))
    for listed in re.findall(r"foreach\(name ([^)]*)\)", text):
        names.update(listed.split())
    return names


def check_cards(files):
    """rule-card: what a rule's card names is there, and each planted bug is on a card."""
    if CARDS not in files or PLANTED not in files:
        yield f"{CARDS}:1: rule-card: {CARDS} or {PLANTED} is not there"
        return
    folders = {path[:end] for path in files for end in range(len(path)) if path[end] == "/"}
    planted = planted_in(files[PLANTED].text)
    missing = set(planted)
    code = "\n".join(file.text for file in files.values() if file.is_code())
    for number, line in enumerate(files[CARDS].lines, 1):
        bugs = line.startswith("| Planted bugs")
        for name in re.findall(r"`([^`]*)`", line):
            if bugs and name not in planted:
                yield f"{CARDS}:{number}: rule-card: no such planted bug: {name}"
            missing.discard(name)
            if "::" in name and name not in code:
                yield f"{CARDS}:{number}: rule-card: nothing is called {name}"
            if "/" in name and name not in files and name not in folders:
                yield f"{CARDS}:{number}: rule-card: no such file or folder: {name}"
    for name in sorted(missing):
        yield f"{CARDS}:1: rule-card: the planted bug {name} is on no card"
