# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Rules on a file's own text: banned identifiers, licence, guards, length."""

import re

from include_rules import in_core

LICENCE = ("Copyright 2026 The TensorHub Authors.", "SPDX-License-Identifier: Apache-2.0")
FILE_LINES_MAX = 600
FILE_LINES_WARN = 400
LINE_COLUMNS_MAX = 100


def _library(path):
    # A program's main may print: results go to standard output. check.h prints why it aborts, and
    # common/cli is how programs print their help.
    return path.startswith(("common/", "protocol/", "server/", "worker_agent/", "libros/")) \
        and not path.endswith("main.cc") and path != "common/check.h" \
        and not path.startswith("common/cli/")


def _test(path):
    return path.startswith("tests/")


# (pattern in code without comments and strings, where it is banned, what to use)
BANNED = (
    (r"\b(system_clock|steady_clock|high_resolution_clock)\b|\babsl::(Now|GetCurrentTimeNanos)\b"
     r"|\b(gettimeofday|clock_gettime)\s*\(|\bstd::time\s*\(", in_core,
     "a core takes `now` from its caller"),
    (r"\bstd::(thread|jthread|async|atomic)\b|\bthread_local\b", in_core,
     "a core has one owner and no threads"),
    (r"\b(sleep_for|sleep_until|SleepFor|usleep|nanosleep)\s*\(|\bsleep\s*\(", _test,
     "wait for a condition, as Eventually of tests/integration/harness/eventually.h does"),
    (r"\brandom_device\b", lambda path: path != "common/random.cc",
     "use RandomSeed() of common/random.h"),
    (r"\b(rand|srand|random|drand48)\s*\(\s*\)|\bstd::mt19937(_64)?\b",
     lambda path: path != "common/random.cc", "use Random of common/random.h, with a seed"),
    (r"\babsl::(Mutex|MutexLock|CondVar)\b", lambda path: True,
     "use Mutex of common/mutex.h, which the thread sanitizer understands"),
    (r"\bstd::(mutex|lock_guard|scoped_lock|shared_mutex|recursive_mutex)\b",
     lambda path: path != "common/mutex.h" and not _test(path),
     "use Mutex of common/mutex.h, which the thread-safety analysis understands"),
    (r"\bstd::(cout|cerr|clog)\b|\b(printf|puts|putchar|fprintf)\s*\(", _library,
     "return an absl::Status, or log through spdlog"),
    (r"\b(assert)\s*\(", lambda path: True, "use TH_CHECK, which is always on"),
    (r"\bthrow\b", lambda path: not path.startswith("python/"), "return an absl::Status"),
    (r"\bstrcpy\s*\(|\bsprintf\s*\(|\bstrcat\s*\(", lambda path: True, "use absl::StrFormat"),
)
# Spelled in two halves so that this file does not find itself.
_LEFTOVER = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b")


def check_banned(files):
    """banned: an identifier for which the project has a better one."""
    rules = [(re.compile(pattern), where, instead) for pattern, where, instead in BANNED]
    for path, file in files.items():
        if not file.is_code():
            continue
        active = [(pattern, instead) for pattern, where, instead in rules if where(path)]
        for number, line in enumerate(file.code_lines(), 1):
            for pattern, instead in active:
                match = pattern.search(line)
                if match:
                    yield f"{path}:{number}: banned: `{match.group(0).strip()}`: {instead}"


def check_leftovers(files):
    """leftover: a note to self."""
    for path, file in files.items():
        for number, line in enumerate(file.lines, 1):
            match = _LEFTOVER.search(line)
            if match:
                yield (f"{path}:{number}: leftover: {match.group(0)}: do it, or open an issue and "
                       "say in words why it is not done")


def check_licence(files):
    """licence: the two lines at the top."""
    for path, file in files.items():
        if file.suffix not in (".cc", ".h", ".proto", ".py", ".sh"):
            continue
        top = "\n".join(file.lines[:12])
        for line in LICENCE:
            if line not in top:
                yield f"{path}:1: licence: add the line `{line}`"


def guard_of(path):
    for prefix in ("libros/include/", ""):
        if path.startswith(prefix):
            path = path[len(prefix):]
            break
    name = re.sub(r"[^A-Z0-9]", "_", path.upper()) + "_"
    return name if name.startswith("TENSORHUB_") else "TENSORHUB_" + name


def check_guards(files):
    """guard: named after the path."""
    for path, file in files.items():
        if file.suffix != ".h":
            continue
        guard = guard_of(path)
        directives = [line for line in file.lines if line.lstrip().startswith("#")]
        if directives[:2] != [f"#ifndef {guard}", f"#define {guard}"] \
                or not directives[-1].startswith("#endif"):
            yield f"{path}:1: guard: use the include guard {guard}"


def check_file_length(files):
    """file-length: long files are several things."""
    for path, file in files.items():
        if (file.is_code() or file.suffix in (".py", ".sh")) and len(file.lines) > FILE_LINES_MAX:
            yield (f"{path}:{len(file.lines)}: file-length: {len(file.lines)} lines; split it, "
                   f"{FILE_LINES_MAX} is the most")


def warn_file_length(files):
    for path, file in files.items():
        if file.is_code() and FILE_LINES_WARN < len(file.lines) <= FILE_LINES_MAX:
            yield f"{path}: {len(file.lines)} lines: consider splitting it"


def check_line_length(files):
    """line-length: of what clang-format does not see."""
    for path, file in files.items():
        if file.suffix != ".py":
            continue
        for number, line in enumerate(file.lines, 1):
            # An address cannot be broken.
            if len(line) > LINE_COLUMNS_MAX and "://" not in line:
                yield f"{path}:{number}: line-length: {len(line)} columns"
