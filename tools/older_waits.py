#!/usr/bin/env python3
# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Lets what was linked against libstdc++ 12 run with that of GCC 11, which systems with glibc 2.34
have (RHEL 9, Amazon Linux 2023).

std::condition_variable::wait is all that differs: libstdc++ has it in the version GLIBCXX_3.4.11
and, since 12, once more in GLIBCXX_3.4.30, which a linker of Debian 12 asks for. The older one does
the same, and every libstdc++ has it.

Usage: older_waits.py FILE…     programs and libraries, changed in place
"""

import pathlib
import struct
import sys

NEW, OLD = b"GLIBCXX_3.4.30", b"GLIBCXX_3.4.11"
WAIT = b"_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE"
VERNEED, VERSYM, DYNSYM = 0x6FFFFFFE, 0x6FFFFFFF, 11


def hash_of(name):
    """As ELF has it for names of versions."""
    value = 0
    for byte in name:
        value = (value << 4) + byte
        high = value & 0xF0000000
        value = (value ^ (high >> 24)) & ~high & 0xFFFFFFFF
    return value


class Elf:
    """A file of 64 bits and little endian, and what its dynamic symbols need."""

    def __init__(self, data):
        self.data = bytearray(data)
        (sections,) = struct.unpack_from("<Q", data, 40)
        size, count = struct.unpack_from("<HH", data, 58)
        self._headers = [
            struct.unpack_from("<IIQQQQIIQQ", data, sections + i * size) for i in range(count)
        ]

    def section(self, kind):
        """(offset, size, offset of its strings), or None."""
        for header in self._headers:
            if header[1] == kind:
                return header[4], header[5], self._headers[header[6]][4]
        return None

    def text(self, offset):
        return bytes(self.data[offset : self.data.index(0, offset)])

    def needed(self):
        """(offset of the entry, index, offset of the name) of every version that is needed."""
        found = self.section(VERNEED)
        file = found[0] if found else None
        while file is not None:
            _, _, _, first, next_file = struct.unpack_from("<HHIII", self.data, file)
            entry = file + first
            while entry is not None:
                _, _, index, name, following = struct.unpack_from("<IHHII", self.data, entry)
                yield entry, index, found[2] + name
                entry = entry + following if following else None
            file = file + next_file if next_file else None

    def symbols_of(self, index):
        versions, size, _ = self.section(VERSYM)
        symbols, _, names = self.section(DYNSYM)
        for i in range(size // 2):
            if struct.unpack_from("<H", self.data, versions + 2 * i)[0] & 0x7FFF == index:
                yield self.text(names + struct.unpack_from("<I", self.data, symbols + 24 * i)[0])


def mended(path):
    """Whether it had to be."""
    data = path.read_bytes()
    if data[:6] != b"\x7fELF\x02\x01":
        return False
    elf = Elf(data)
    entries = [entry for entry in elf.needed() if elf.text(entry[2]) == NEW]
    for entry, index, name in entries:
        others = [symbol.decode() for symbol in elf.symbols_of(index) if symbol != WAIT]
        if others:
            sys.exit(f"{path} needs libstdc++ of GCC 12 for {others[0]}; write it without")
        elf.data[name : name + len(OLD)] = OLD
        struct.pack_into("<I", elf.data, entry, hash_of(OLD))
    if entries:
        path.write_bytes(elf.data)
    return bool(entries)


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    for path in map(pathlib.Path, sys.argv[1:]):
        if mended(path):
            print(f"{path.name}: waits as GCC 11 knows it", file=sys.stderr)


if __name__ == "__main__":
    main()
