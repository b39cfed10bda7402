# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Which file may include which: the arrows between folders, and what a core must not know."""

import re

# A core is deterministic: no I/O, threads or clocks, whether named directly or brought in by one
# of our own headers. (what matches, what to do instead)
CORE_BANNED = (
    (re.compile(r"^(grpcpp|grpc|grpc\+\+|google/protobuf|tensorhub/v1)/"),
     "gRPC and protobuf stay in the rpc shell"),
    (re.compile(r"^(ucp|uct|ucs|ucm)/"), "UCX stays in worker_agent/ucx"),
    (re.compile(r"^(cuda|nvml|driver_types)"), "CUDA stays behind the memory interface"),
    (re.compile(r"^sqlite3"), "SQLite stays in server/store"),
    (re.compile(r"^(httplib|prometheus/)"), "HTTP stays in common/http"),
    (re.compile(r"^(spdlog|fmt)/"), "return what is to be logged as an effect"),
    (re.compile(r"^(thread|mutex|shared_mutex|condition_variable|future|stop_token|semaphore|latch"
                r"|barrier)$"), "a core has one owner and no threads"),
    (re.compile(r"^absl/synchronization/"), "a core has one owner and no threads"),
    (re.compile(r"^(chrono|ctime|time\.h|sys/time\.h|absl/time/clock\.h)$"),
     "time is an integer that comes with the event"),
    (re.compile(r"^random$"), "use common/random.h, seeded by the owner"),
)

# What each folder may include of ours; the longest prefix counts. Tests may include anything.
ARROWS = {
    "common": ("common",),
    # What hub and agent say to each other: plain structs, which know no wire.
    "protocol": ("common", "protocol/messages"),
    "protocol/codec": ("common", "protocol", "tensorhub/v1"),
    "server": ("common", "server", "tensorhub/v1"),
    "server/core": ("common", "protocol/messages", "server/core"),
    "server/http": ("common", "server/core", "server/http"),
    "server/record": ("common", "protocol/messages", "server/core", "server/record"),
    "server/rpc": ("common", "protocol", "server/core", "server/record", "server/rpc",
                   "server/store", "tensorhub/v1"),
    "server/store": ("common", "server/core", "server/store"),
    "worker_agent": ("common", "worker_agent"),
    "worker_agent/core": ("common", "protocol/messages", "worker_agent/core"),
    "worker_agent/cuda": ("common", "worker_agent/core/effects.h", "worker_agent/core/events.h",
                          "worker_agent/core/transport.h", "worker_agent/cuda",
                          "worker_agent/memory",
                          "worker_agent/transport/shared_memory_description.h"),
    "worker_agent/hub": ("common", "protocol", "worker_agent/core", "worker_agent/hub",
                         "worker_agent/runtime", "tensorhub/v1"),
    "worker_agent/loop": ("common", "worker_agent/core", "worker_agent/hub", "worker_agent/loop",
                          "worker_agent/memory", "worker_agent/runtime", "worker_agent/seen",
                          "worker_agent/transport"),
    "worker_agent/memory": ("common", "worker_agent/core", "worker_agent/memory",
                            "worker_agent/runtime"),
    "worker_agent/runtime": ("common", "worker_agent/runtime"),
    "worker_agent/seen": ("common", "worker_agent/core", "worker_agent/runtime",
                          "worker_agent/seen"),
    "worker_agent/tcp": ("common", "worker_agent/core/transport.h", "worker_agent/runtime",
                         "worker_agent/tcp"),
    "worker_agent/transport": ("common", "worker_agent/core", "worker_agent/memory",
                               "worker_agent/runtime", "worker_agent/transport"),
    "worker_agent/ucx": ("common", "worker_agent/core/transport.h", "worker_agent/ucx"),
    "worker_agent/ways": ("common", "worker_agent/core/transport.h", "worker_agent/runtime",
                          "worker_agent/tcp", "worker_agent/ucx", "worker_agent/ways"),
    "libros": ("common", "worker_agent", "libros", "tensorhub"),
    "libros/include": ("tensorhub/ros",),
    # It describes versions as tensorhubctl does.
    "python": ("common", "libros", "tensorhub/ros", "python", "tools/ctl"),
    "tools": ("common", "worker_agent", "libros", "tensorhub", "tools"),
    # The simulator runs the hub's own core.
    # `tensorhub-bench decision` measures the hub without the network.
    "bench": ("bench", "common", "server/core", "server/rpc", "worker_agent", "libros",
              "tensorhub", "tools"),
    # `tensorhub-sim check` is the simulation of tests/sim, for everybody.
    "tools/sim": ("common", "protocol/messages", "server/core", "server/record", "worker_agent",
                  "libros", "tensorhub", "tools", "tests/sim", "bench/figures.h"),
}
_OURS = ("bench", "common", "proto", "protocol", "server", "worker_agent", "libros", "python",
         "tools", "tests", "tensorhub")


def in_core(path):
    return path.startswith(("server/core/", "worker_agent/core/"))


def check_core_includes(files):
    """core-include: a header that a core must not know."""
    for path, file in files.items():
        if not file.is_code() or not in_core(path):
            continue
        for number, _, name in file.includes():
            for banned, via, instead in _banned_below(files, name, ()):
                yield f"{path}:{number}: core-include: <{banned}>{via} in a core: {instead}"


def _banned_below(files, name, chain):
    for pattern, instead in CORE_BANNED:
        if pattern.search(name):
            yield name, f" (through {' -> '.join(chain)})" if chain else "", instead
            return
    if name in files and name not in chain:
        for _, _, below in files[name].includes():
            yield from _banned_below(files, below, chain + (name,))


def check_arrows(files):
    """dependency: an include against the direction of docs/architecture.md."""
    for path, file in files.items():
        home = _home(path)
        if not file.is_code() or home is None:
            continue
        for number, _, name in file.includes():
            if name.split("/", 1)[0] not in _OURS or "/" not in name:
                continue
            if not any(_below(name, allowed) for allowed in ARROWS[home]):
                yield (f"{path}:{number}: dependency: {home} may not include {name}; "
                       f"it may include {', '.join(ARROWS[home])}")


def _home(path):
    fitting = [folder for folder in ARROWS if path.startswith(folder + "/")]
    return max(fitting, key=len, default=None)


def _below(name, allowed):
    return name == allowed or name.startswith(allowed + "/") or \
        (allowed == "tensorhub/ros" and name.startswith("tensorhub/ros"))


def check_public_headers(files):
    """public-header: what is installed stands alone."""
    for path, file in files.items():
        if not path.startswith("libros/include/") or not file.is_code():
            continue
        for number, kind, name in file.includes():
            if kind == '"' and not name.startswith(("absl/status/", "absl/types/")) \
                    and not name.startswith("tensorhub/ros"):
                yield (f"{path}:{number}: public-header: {name}: an installed header includes the "
                       "standard library and absl/status only")
