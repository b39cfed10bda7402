# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Which translation units clang-tidy is to read, one a line, long ones first, so that none is
left to the end.

    python3 tidy.py BUILD [FILE…]     all of the product, or those that show these files

How they are compiled goes to BUILD/tidy, less the precompiled headers: clang-tidy looks at
headers that it reads. Of a header the first unit that includes it is enough. Tests have the
compilers' warnings.
"""

import json
import os
import pathlib
import re
import sys

import compiled

_PRODUCT = ("bench/", "common/", "protocol/", "server/", "worker_agent/", "libros/", "tools/")


def write_commands(build):
    text = (build / "compile_commands.json").read_text(encoding="utf-8")
    entries = json.loads(text)
    for entry in entries:
        entry["command"] = re.sub(r"-Xclang -include-pch -Xclang \S+", "", entry["command"])
    (build / "tidy").mkdir(exist_ok=True)
    (build / "tidy/compile_commands.json").write_text(json.dumps(entries), encoding="utf-8")


def that_show(files, units):
    chosen = [unit for unit in units if set(unit.sources) & set(files)]
    for file in files:
        if file.endswith(".h") and not any(file in unit.includes for unit in chosen):
            chosen += [unit for unit in units if file in unit.includes][:1]
    return chosen


def main():
    build, files = pathlib.Path(sys.argv[1]), sys.argv[2:]
    root = os.getcwd()
    write_commands(build)
    units = [unit for unit in compiled.units(build, root) if unit.sources[0].startswith(_PRODUCT)]
    if files:
        units = that_show(files, units)
    sizes = {unit.file: sum(os.path.getsize(source) for source in unit.sources) for unit in units}
    print("\n".join(sorted(sizes, key=sizes.get, reverse=True)))


if __name__ == "__main__":
    main()
