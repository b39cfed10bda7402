#!/usr/bin/env python3
# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Makes a library without code for each of NVIDIA's that torch's own link and that is not there.

    torch_stubs.py SITE_PACKAGES/torch/lib

The loader wants every name that is linked, under the version that it was linked with; nobody calls
them on a machine without a GPU.
"""

import collections
import pathlib
import re
import subprocess
import sys
import tempfile

# Small, and installed: torch asks them things also without a GPU.
REAL = re.compile(r"lib(cudart|cupti)\.")
NVIDIA = re.compile(r"lib(cu|nccl|nv)")
# Of names without a version: whose they are, by how they begin; the longer beginning first.
OWNERS = (("cublasLt", "cublasLt"), ("cublas", "cublas"), ("cufft", "cufft"),
          ("cusparseLt", "cusparseLt"), ("cusparse", "cusparse"), ("cusolver", "cusolver"),
          ("cudnn", "cudnn"), ("cuFile", "cufile"), ("pnccl", "nccl"), ("nccl", "nccl"),
          ("nvrtc", "nvrtc"), ("nvshmem", "nvshmem_host"))


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def versions_of(library):
    """{version node: the library that has it}, of what a library needs."""
    found, owner = {}, None
    for line in output("readelf", "-V", "-W", str(library)).splitlines():
        if match := re.search(r"File: (\S+)", line):
            owner = match.group(1)
        if (match := re.search(r"Name: (\S+)", line)) and owner:
            found[match.group(1)] = owner
    return found


def owner_of(name, wanted):
    for prefix, stem in OWNERS:
        if name.startswith(prefix) or (prefix == "nvshmem" and prefix in name):
            return next((soname for soname in wanted if soname.startswith(f"lib{stem}.")), None)
    return None


def wanted_names(libraries):
    """{soname: {version node, or "": names}} of all that is missing."""
    needed, undefined, versions = set(), set(), {}
    for library in libraries:
        needed |= set(re.findall(r"NEEDED.*\[(.*)\]", output("readelf", "-d", str(library))))
        listed = output("nm", "-D", "--undefined-only", str(library)).splitlines()
        undefined |= {line.split()[-1] for line in listed}
        versions |= versions_of(library)
    wanted = {name: collections.defaultdict(set) for name in needed
              if NVIDIA.match(name) and not REAL.match(name)}
    for symbol in undefined:
        name, _, version = symbol.partition("@")
        version = version.lstrip("@")
        owner = versions.get(version) if version else owner_of(name, wanted)
        if owner in wanted and re.fullmatch(r"\w+", name):
            wanted[owner][version].add(name)
    return wanted


def make(folder, soname, names):
    with tempfile.TemporaryDirectory() as work:
        source, nodes = pathlib.Path(work, "stub.c"), pathlib.Path(work, "stub.map")
        every = sorted(set().union(*names.values()))
        source.write_text("int tensorhub_stub;\n"
                          + "".join(f"int {name}(void) {{ return 999; }}\n" for name in every))
        nodes.write_text("\n".join(
            f"{version} {{ global: {' '.join(f'{name};' for name in sorted(listed))} }};"
            for version, listed in names.items() if version))
        command = ["gcc", "-w", "-shared", "-fPIC", "-fno-builtin", f"-Wl,-soname,{soname}",
                   "-o", str(folder / soname), str(source)]
        if any(names):
            command.append(f"-Wl,--version-script={nodes}")
        (folder / soname).unlink(missing_ok=True)
        subprocess.run(command, check=True)


def main(arguments):
    if len(arguments) != 2:
        print(__doc__)
        return 2
    folder = pathlib.Path(arguments[1])
    for soname, names in sorted(wanted_names(sorted(folder.glob("lib*torch*.so"))
                                             + sorted(folder.glob("libc10*.so"))).items()):
        make(folder, soname, names)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
