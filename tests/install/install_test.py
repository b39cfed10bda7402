#!/usr/bin/env python3
# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Installs into an empty folder; builds and runs a program against it, by CMake and by pkg-config,
and one that has a gRPC of its own in it.

Usage: install_test.py BUILD CMAKE COMPILER
"""

import os
import pathlib
import subprocess
import sys
import tempfile

PROGRAM = """
#include <tensorhub/ros.h>

#include <iostream>

int main() {
  const auto client = tensorhub::Client::Connect({.server = "127.0.0.1:1",
                                            .model = "m",
                                            .group = "g",
                                            .connect_timeout = std::chrono::milliseconds(100)});
  std::cout << client.status() << std::endl;
}
"""
WITH_GRPC = PROGRAM.replace("int main() {", """#include <grpcpp/grpcpp.h>

int main() {
  const auto own = grpc::CreateChannel("127.0.0.1:1", grpc::InsecureChannelCredentials());
  std::cout << grpc::Version() << own->GetState(true) << std::endl;
""")
GRPC = ("grpc++", "grpc", "gpr", "upb", "address_sorting")
CMAKE_LINES = """
cmake_minimum_required(VERSION 3.25)
project(consumer LANGUAGES CXX)
find_package(TensorHub 0.1 REQUIRED)
add_executable(consumer main.cc)
target_link_libraries(consumer PRIVATE TensorHub::ros)
"""


def run(*command, **options):
    print(" ".join(map(str, command)), flush=True)
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE, **options).stdout


def check_program(program, libraries):
    said = run(program, env={**os.environ, "LD_LIBRARY_PATH": str(libraries)})
    if "UNAVAILABLE" not in said or "127.0.0.1:1" not in said:
        sys.exit(f"the program said {said!r}")


def check_symbols(library):
    """Of what it defines only the public face is to be seen."""
    listed = run("nm", "--dynamic", "--defined-only", "--demangle", "--format=posix", library)
    names = [line.rsplit(maxsplit=3)[0] for line in listed.splitlines()]
    foreign = [name for name in names
               if "tensorhub::Client" not in name and name != "tensorhub::Version()"]  # fmt: skip
    if foreign or not any(name.startswith("tensorhub::Client::Connect") for name in names):
        sys.exit(f"{library} shows {foreign[:10]} of {len(names)} symbols")


def check_hidden(library):
    """That gRPC is in it. Whether one can be is the machine's affair."""
    needed = run("objdump", "-p", library)
    hidden = "libgrpc" not in needed
    print(f"gRPC is {'inside' if hidden else 'the system one'}")
    return hidden


def check_beside_grpc(compiler, folder, libraries, flags):
    """A program that links gRPC statically, and shows its symbols to all libraries, or to none."""
    source = folder / "with_grpc.cc"
    source.write_text(WITH_GRPC, encoding="utf-8")
    rest = [flag for flag in run("pkg-config", "--libs", "--static", "grpc++").split()
            if flag.removeprefix("-l") not in GRPC]  # fmt: skip
    archives = [f"-l:lib{name}.a" for name in GRPC]
    for option in ((), ("-Wl,--exclude-libs,ALL",)):
        run(compiler, "-std=c++20", source, "-o", folder / "with_grpc", *flags, *option, *archives,
            *rest)  # fmt: skip
        check_program(folder / "with_grpc", libraries)


def main():
    build, cmake, compiler = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="tensorhub-install-") as name:
        folder = pathlib.Path(name)
        prefix = folder / "prefix"
        run(cmake, "--install", build, "--prefix", prefix)
        libraries = next(prefix.rglob("libtensorhub.so")).parent
        check_symbols(libraries / "libtensorhub.so")

        source = folder / "consumer"
        source.mkdir()
        (source / "main.cc").write_text(PROGRAM, encoding="utf-8")
        (source / "CMakeLists.txt").write_text(CMAKE_LINES, encoding="utf-8")
        run(cmake, "-S", source, "-B", source / "build", "-G", "Ninja",
            f"-DCMAKE_CXX_COMPILER={compiler}", f"-DCMAKE_PREFIX_PATH={prefix}")  # fmt: skip
        run(cmake, "--build", source / "build")
        check_program(source / "build" / "consumer", libraries)

        where = {**os.environ, "PKG_CONFIG_PATH": str(libraries / "pkgconfig")}
        flags = run("pkg-config", "--cflags", "--libs", "tensorhub", env=where).split()
        run(compiler, "-std=c++20", source / "main.cc", "-o", folder / "program", *flags)
        check_program(folder / "program", libraries)
        if check_hidden(libraries / "libtensorhub.so"):
            check_beside_grpc(compiler, folder, libraries, flags)

        for program in ("tensorhub-server", "tensorhubctl", "tensorhub-agent"):
            print(run(prefix / "bin" / program, "--version").strip())


if __name__ == "__main__":
    main()
