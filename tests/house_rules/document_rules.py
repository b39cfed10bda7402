# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Rules on documents: plain sentences, links that lead somewhere, and names of what is there."""

import os
import re

CARDS = "docs/protocol/rules.md"
PLANTED = "tests/sim/planted/CMakeLists.txt"
SPECIFICATION = "docs/protocol/"
SENTENCE_WORDS_MAX = 30
# What says nothing, and who is nobody in particular: name the worker, the reader or the operator.
BANNED_WORDS = re.compile(
    r"\b(whoever|whosoever|simply|obviously|basically|trivially|utili[sz]e|leverage|seamless(?:ly)?"
    r"|in order to|note that|of course|hereby|thereof|aforementioned)\b", re.IGNORECASE)

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
    """prose: a semicolon, an empty word, or a sentence that is too long to be read once."""
    for path, file in files.items():
        if file.suffix != ".md":
            continue
        for number, line, _ in prose_of(file):
            if ";" in re.sub(r"&\w+;", "", line):
                yield f"{path}:{number}: prose: a semicolon: make two sentences of it"
            if banned := BANNED_WORDS.search(line):
                yield (f"{path}:{number}: prose: \"{banned.group(0)}\": leave it out, or name "
                       "whom it stands for")
        for number, words in sentences_of(file):
            if len(words) > SENTENCE_WORDS_MAX:
                yield (f"{path}:{number}: prose: a sentence of {len(words)} words, more than "
                       f"{SENTENCE_WORDS_MAX}: \"{' '.join(words[:6])} ...\"")


def planted_in(text):
    """The names of the bugs that are planted."""
    text = re.sub(r"#[^\n]*", "", text)
    names = set(re.findall(r"planted_(?:bug|test)\(([a-z]\w+) ", text))
    for listed in re.findall(r"foreach\(name ([^)]*)\)", text):
        names.update(listed.split())
    return names


def check_cards(files):
    """rule-card: a card names planted bugs that are there, and each planted bug is on a card."""
    if CARDS not in files or PLANTED not in files:
        yield f"{CARDS}:1: rule-card: {CARDS} or {PLANTED} is not there"
        return
    planted = planted_in(files[PLANTED].text)
    missing = set(planted)
    for number, line in enumerate(files[CARDS].lines, 1):
        for name in re.findall(r"`([^`]*)`", line):
            if line.startswith("| Planted bugs") and name not in planted:
                yield f"{CARDS}:{number}: rule-card: no such planted bug: {name}"
            missing.discard(name)
    for name in sorted(missing):
        yield f"{CARDS}:1: rule-card: the planted bug {name} is on no card"


def check_names(files):
    """code-name: what a page of the protocol names of the code is there."""
    folders = {path[:end] for path in files for end in range(len(path)) if path[end] == "/"}
    bases = {os.path.basename(path) for path in files}
    code = "\n".join(file.text for file in files.values() if file.is_code())
    words = set(re.findall(r"\w+", code))
    for path, file in files.items():
        if not path.startswith(SPECIFICATION) or file.suffix != ".md":
            continue
        for number, line, name in _code_in(file):
            where = f"{path}:{number}: code-name:"
            if re.fullmatch(r"(?:\w+::)+\w+", name) and not _is_there(name, code, words):
                yield f"{where} nothing is called {name}"
            if re.fullmatch(r"[\w/.]+/[\w.]*", name) \
                    and name.rstrip("/") not in files and name.rstrip("/") not in folders:
                yield f"{where} no such file or folder: {name}"
            if re.fullmatch(r"\w+\.(cc|h|py)", name) and name not in bases:
                yield f"{where} no file is called {name}"


def _code_in(file):
    inside = False
    for number, line in enumerate(file.lines, 1):
        if line.lstrip().startswith("```"):
            inside = not inside
        elif not inside:
            for name in _CODE.findall(line):
                yield number, line, name.strip("`")


def _is_there(name, code, words):
    # As it is defined, or as a member: its last name, and the type before it.
    return name in code or set(name.split("::")) <= words


def anchor_of(heading):
    """As GitHub and GitLab make it."""
    text = re.sub(r"\]\([^)]*\)", "", heading.strip().lower())
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def anchors_of(file):
    inside = False
    for line in file.lines:
        if line.lstrip().startswith("```"):
            inside = not inside
        heading = re.match(r"#+ (.*)", line)
        if heading and not inside:
            yield anchor_of(heading.group(1))


def check_links(files):
    """link: a document or a section that is not there."""
    for path, file in files.items():
        if file.suffix == ".md":
            yield from _check_links_of(path, file, files)
        for number, line in enumerate(file.lines, 1):
            for name in re.findall(r"(?<![\w/.])docs/[\w/]+\.md\b", line):
                if name not in files:
                    yield f"{path}:{number}: link: no such document: {name}"


def _check_links_of(path, file, files):
    folders = {name[:end] for name in files for end in range(len(name)) if name[end] == "/"}
    inside = False
    for number, line in enumerate(file.lines, 1):
        if line.lstrip().startswith("```"):
            inside = not inside
        for target in [] if inside else re.findall(r"\]\(([^)\s]+)\)", _CODE.sub("", line)):
            if re.match(r"[a-z]+:", target):
                continue
            name, _, anchor = target.partition("#")
            to = os.path.normpath(os.path.join(os.path.dirname(path), name)) if name else path
            if to.endswith(".md") and to not in files or "." not in os.path.basename(to) \
                    and to not in folders and to not in files and to != "LICENSE":
                yield f"{path}:{number}: link: no such document: {target}"
            elif anchor and to in files and anchor not in anchors_of(files[to]):
                yield f"{path}:{number}: link: no such section: {target}"
