# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Every message of the wire has one row in docs/protocol/messages.md, and each row is of one."""

import re

DOCUMENT = "docs/protocol/messages.md"
PROTO = "proto/tensorhub/v1/hub.proto"
PEER_WIRE = "worker_agent/core/peer_wire.h"

_CELLS = 6
_RULES = re.compile(r"R[1-9](, R[1-9])*")
_ONEOF_FIELD = r"(?m)^\s*([A-Za-z_]\w*)\s+\w+\s*=\s*\d+\s*;"
# (the table's heading, where its messages are, the block that has them, one of them in it)
TABLES = (
    ("Calls", PROTO, r"service\s+Hub\s*\{(.*?)^\}", r"\brpc\s+(\w+)\s*\("),
    ("Session up", PROTO, r"message\s+WorkerMessage\s*\{\s*oneof\s+body\s*\{(.*?)\}", _ONEOF_FIELD),
    ("Session down", PROTO, r"message\s+HubMessage\s*\{\s*oneof\s+body\s*\{(.*?)\}", _ONEOF_FIELD),
    ("Between agents", PEER_WIRE, r"enum\s+class\s+PeerKind\b[^{]*\{(.*?)\}", r"\b(k\w+)\s*="),
)


def messages_of(text, block, each):
    """Their names, in order; none if the block is not there."""
    code = re.sub(r"//[^\n]*", "", text)
    found = re.search(block, code, re.DOTALL | re.MULTILINE)
    return re.findall(each, found.group(1)) if found else []


def rows_of(file):
    """{heading: [(line number, cells)]}, without the two lines at the top of each table."""
    tables = {}
    rows = None
    for number, line in enumerate(file.lines, 1):
        heading = re.match(r"## (.*\S)", line)
        if heading:
            rows = tables.setdefault(heading.group(1), [])
        elif rows is not None and re.match(r"\|\s*`", line):
            rows.append((number, [cell.strip() for cell in line.strip().strip("|").split("|")]))
    return tables


def check_message_table(files):
    """message-table: each message of the wire has exactly one row, and each row a message."""
    if DOCUMENT not in files:
        yield f"{DOCUMENT}:1: message-table: this file is not there"
        return
    tables = rows_of(files[DOCUMENT])
    for heading, source, block, each in TABLES:
        messages = messages_of(files[source].text, block, each) if source in files else []
        if not messages:
            yield f"{source}:1: message-table: no messages found for the table \"{heading}\""
            continue
        yield from _compare(heading, source, messages, tables.pop(heading, []))
    for heading, rows in tables.items():
        for number, cells in rows:
            yield (f"{DOCUMENT}:{number}: message-table: {cells[0]} is in \"{heading}\", which is "
                   "no table of messages")


def _compare(heading, source, messages, rows):
    seen = set()
    for number, cells in rows:
        name = cells[0].strip("`")
        where = f"{DOCUMENT}:{number}: message-table: {name}"
        if name not in messages:
            yield f"{where} is in the table \"{heading}\" and not in {source}"
        if name in seen:
            yield f"{where} has a row already"
        seen.add(name)
        if len(cells) != _CELLS or not all(cells):
            yield f"{where} has {len(list(filter(None, cells)))} cells with text, not {_CELLS}"
        elif not _RULES.fullmatch(cells[-1]):
            yield f"{where} names its rules as \"{cells[-1]}\", not as \"R1, R2\""
    for name in messages:
        if name not in seen:
            yield (f"{DOCUMENT}:1: message-table: {name} of {source} has no row in the table "
                   f"\"{heading}\"")
