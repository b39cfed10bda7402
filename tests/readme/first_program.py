#!/usr/bin/env python3
# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Configures README.md's first program with README.md's CMake lines, and compiles its one file.

The checkout is a folder of that project, as README.md says; it is configured but not built.

Usage: first_program.py CHECKOUT CMAKE COMPILER
"""

import os
import re
import subprocess
import sys
import tempfile


def snippet(readme, language):
    found = re.findall(rf"^```{language}\n(.*?)^```$", readme, re.MULTILINE | re.DOTALL)
    if len(found) != 1:
        sys.exit(f"README.md has {len(found)} snippets of {language}, not one")
    return found[0]


def run(*command):
    print(" ".join(command), flush=True)
    subprocess.run(command, check=True)


def main():
    checkout, cmake, compiler = sys.argv[1:]
    with open(os.path.join(checkout, "README.md"), encoding="utf-8") as file:
        readme = file.read()
    with tempfile.TemporaryDirectory(prefix="tensorhub-readme-") as folder:
        for name, language in (("main.cc", "cpp"), ("CMakeLists.txt", "cmake")):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(snippet(readme, language))
        os.symlink(checkout, os.path.join(folder, "tensorhub"))
        build = os.path.join(folder, "build")
        run(cmake, "-S", folder, "-B", build, "-G", "Ninja", f"-DCMAKE_CXX_COMPILER={compiler}")
        run(cmake, "--build", build, "--target", "CMakeFiles/my_program.dir/main.cc.o")
        if os.path.exists(os.path.join(build, "tensorhub", "tests", "unit")):
            sys.exit("the checkout's tests are part of the other project")


if __name__ == "__main__":
    main()
