#!/usr/bin/env python3
# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""R4 on ARM: all executions of small programs that the architecture allows, and what they can read.

An execution is allowed if, in each place of memory, writes and reads have an order that agrees with
each thread's own ("internal"), and if what is ordered before what has no circle ("external": the
Arm Architecture Reference Manual, B2.3, as Deacon's `aarch64.cat` writes it, without what these
programs have not: addresses that depend, exclusives, branches). x86 does less, so it needs no test.

The writer's program is read from ControlWordCell::Store, so that it cannot lose its fence unseen.
"""

import dataclasses
import itertools
import os
import re
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CELL = "worker_agent/transport/control_word_cell.h"

LOADS = ("LDR", "LDAR")
STORES = ("STR", "STLR")
INITIAL = -1  # the thread of what memory holds at first: 0


@dataclasses.dataclass(frozen=True)
class Event:
    thread: int
    index: int  # in the thread's program
    kind: str
    place: str = ""

    @property
    def is_load(self):
        return self.kind in LOADS

    @property
    def is_store(self):
        return self.kind in STORES or self.thread == INITIAL

    @property
    def is_access(self):
        return bool(self.place)


def before(one, other):
    """In their thread's program."""
    return one.thread == other.thread and one.index < other.index


def is_acyclic(edges):
    after = {}
    for one, other in edges:
        after.setdefault(one, []).append(other)
    states = {}

    def visit(event):
        states[event] = "begun"
        for other in after.get(event, ()):
            if states.get(other) == "begun" or (other not in states and not visit(other)):
                return False
        states[event] = "ended"
        return True

    return all(event in states or visit(event) for event in list(after))


class Program:
    """Of several threads: lists of instructions, "STR place", "STLR place", "LDR place",
    "LDAR place", and the fences "DMB ISH" (all), "DMB ISHLD" (after loads), "DMB ISHST" (between
    stores). Each place is stored to once, with 1, and loaded once."""

    def __init__(self, *threads):
        self.events = []
        for thread, instructions in enumerate(threads):
            for index, instruction in enumerate(instructions):
                kind, _, place = instruction.partition(" ")
                if kind == "DMB":
                    kind, place = instruction, ""
                self.events.append(Event(thread, index, kind, place))
        self.accesses = [event for event in self.events if event.is_access]
        self.initial = [Event(INITIAL, 0, "", place)
                        for place in {event.place for event in self.accesses}]
        self.stores = [*self.initial, *(event for event in self.accesses if event.is_store)]
        self.loads = [event for event in self.accesses if event.is_load]

    def _is_kept(self, one, other):
        """Barrier-ordered-before."""
        between = {event.kind for event in self.events
                   if before(one, event) and before(event, other)}
        return (
            "DMB ISH" in between
            or ("DMB ISHLD" in between and one.is_load)
            or ("DMB ISHST" in between and one.is_store and other.is_store)
            or one.kind == "LDAR"
            or other.kind == "STLR"
            or (one.kind == "STLR" and other.kind == "LDAR")
        )

    def outcomes(self):
        """What the loads can have read: {place: 0 or 1} each."""
        kept = [(one, other) for one in self.accesses for other in self.accesses
                if before(one, other) and self._is_kept(one, other)]
        own = [(one, other) for one in self.accesses for other in self.accesses
               if before(one, other) and one.place == other.place]
        coherence = [(first, store) for first in self.initial for store in self.stores
                     if store.thread != INITIAL and store.place == first.place]
        sources = [[store for store in self.stores if store.place == load.place]
                   for load in self.loads]
        for chosen in itertools.product(*sources):
            reads = list(zip(chosen, self.loads, strict=True))
            later = [(load, store) for source, load in reads for first, store in coherence
                     if first is source]
            seen = coherence + reads + later
            elsewhere = [(one, other) for one, other in seen if one.thread != other.thread]
            if is_acyclic(seen + own) and is_acyclic(kept + elsewhere):
                yield {load.place: int(store.thread != INITIAL) for store, load in reads}


def allows(program, **wanted):
    return any(wanted.items() <= outcome.items() for outcome in program.outcomes())


def word_is_stored():
    """What ControlWordCell::Store compiles to."""
    with open(os.path.join(ROOT, CELL), encoding="utf-8") as file:
        body = re.search(r"void Store\(ControlWord word\) \{\n(.*?)\n  \}", file.read(), re.DOTALL)
    made = {"release": {".store(": "STLR word"}, "seq_cst": {"atomic_thread_fence(": "DMB ISH"}}
    program = []
    for statement in body.group(1).split(";\n"):
        order = re.search(r"memory_order_(\w+)", statement).group(1)
        program += [code for call, code in made[order].items() if call in statement]
    return program


# OneSided::OnGetDone and UcxGets: the bytes, a fence, and the word.
READER = ["LDR data", "DMB ISHLD", "LDAR word"]
TORN = {"data": 1, "word": 0}  # the bytes that came later, under the word of those before


class ArmOrderTest(unittest.TestCase):
    def test_the_word_is_raised_before_the_first_byte_changes(self):
        self.assertFalse(allows(Program([*word_is_stored(), "STR data"], READER), **TORN))

    def test_a_release_store_does_not_say_so(self):
        self.assertTrue(allows(Program(["STLR word", "STR data"], READER), **TORN))

    def test_the_reader_needs_its_fence(self):
        for fenced, torn in ((["LDR data", "LDAR word"], True), (["LDR data", "LDR word"], True),
                             (READER, False)):
            writer = [*word_is_stored(), "STR data"]
            self.assertEqual(allows(Program(writer, fenced), **TORN), torn, fenced)

    def test_bytes_are_whole_before_the_word_says_so(self):
        reader = ["LDAR word", "LDR data"]
        self.assertFalse(
            allows(Program(["STR data", *word_is_stored()], reader), word=1, data=0))
        self.assertTrue(allows(Program(["STR data", "STR word"], reader), word=1, data=0))

    def test_bytes_of_another_thread_too(self):
        """It hands them over by a mutex, which releases and acquires."""
        program = Program(["STR data", "STLR mutex"], ["LDAR mutex", *word_is_stored()],
                          ["LDAR word", "LDR data"])
        self.assertFalse(allows(program, mutex=1, word=1, data=0))

    def test_the_owner_writes_when_unpublish_has_returned(self):
        program = Program([*word_is_stored(), "STLR mutex"], ["LDAR mutex", "STR data"], READER)
        self.assertFalse(allows(program, mutex=1, **TORN))


if __name__ == "__main__":
    unittest.main()
