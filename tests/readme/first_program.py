#!/usr/bin/env python3
# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Builds README.md's first program as README.md says, against an installed library, and runs it: a
server, a trainer, a rollout. And with the checkout as a folder of the project, which is configured.

The program's server is at localhost:7070, in the test's own network.

Usage: first_program.py CHECKOUT BUILD CMAKE COMPILER
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

FOUND = "find_package(TensorHub REQUIRED)"
READ = "version 1, 1, "  # what the rollout says first


def snippet(readme, language):
    found = re.findall(rf"^```{language}\n(.*?)^```$", readme, re.MULTILINE | re.DOTALL)
    if len(found) != 1:
        sys.exit(f"README.md has {len(found)} snippets of {language}, not one")
    return found[0]


def run(*command):
    print(*command, flush=True)
    subprocess.run(command, check=True)


def configure(folder, lines, program, *words):
    folder.mkdir()
    (folder / "main.cc").write_text(program, encoding="utf-8")
    (folder / "CMakeLists.txt").write_text(lines, encoding="utf-8")
    run(*words, "-S", folder, "-B", folder / "build", "-G", "Ninja")


def check_program(prefix, program):
    """The trainer serves until Enter."""
    piped = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([prefix / "bin/tensorhub-server"], **piped) as server:
        server.stdout.readline()
        with subprocess.Popen([program, "trainer"], **piped) as trainer:
            done = subprocess.run([program, "rollout"], text=True, capture_output=True,
                                  timeout=120, check=False)  # fmt: skip
            trainer.communicate("\n", timeout=60)
        server.terminate()
    print(done.stdout, done.stderr, sep="", flush=True)
    if not done.stdout.startswith(READ) or trainer.returncode != 0:
        sys.exit(f"the rollout does not say {READ!r}, or the trainer ends with an error")


def main():
    checkout, built, cmake, compiler = sys.argv[1:]
    readme = (pathlib.Path(checkout) / "README.md").read_text(encoding="utf-8")
    program, lines = snippet(readme, "cpp"), snippet(readme, "cmake")
    if FOUND not in lines:
        sys.exit(f"README.md's lines of CMake have no {FOUND}")
    words = (cmake, f"-DCMAKE_CXX_COMPILER={compiler}")
    with tempfile.TemporaryDirectory(prefix="tensorhub-readme-") as name:
        folder = pathlib.Path(name)
        prefix = folder / "prefix"
        run(cmake, "--install", built, "--prefix", prefix)
        os.environ["LD_LIBRARY_PATH"] = str(next(prefix.rglob("libtensorhub.so")).parent)
        configure(folder / "mine", lines, program, *words, f"-DCMAKE_PREFIX_PATH={prefix}")
        run(cmake, "--build", folder / "mine/build")
        check_program(prefix, folder / "mine/build/my_program")

        os.symlink(checkout, folder / "tensorhub")
        within = lines.replace(FOUND, "add_subdirectory(../tensorhub tensorhub)")
        configure(folder / "whole", within, program, *words)
        if (folder / "whole/build/tensorhub/tests/unit").exists():
            sys.exit("the checkout's tests are part of the other project")


if __name__ == "__main__":
    main()
