# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Which UCX carries the bytes: chosen once, before the library that needs it is loaded.

In this order: the folder that TENSORHUB_UCX_DIR names (an HPC-X or DOCA one, for RDMA); one that
this process has loaded already, since two in one process disturb each other; the package
libucx-cu13 or libucx-cu12, if it is installed; the one in this wheel; the system's.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib.util
import os
import pathlib
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["Ucx", "choose", "in_use", "load", "settings"]

# In the order in which they need each other. libucm comes with libucs, and cannot without.
_LIBRARIES = ("libucs.so.0", "libuct.so.0", "libucp.so.0")
_VARIABLE = "TENSORHUB_UCX_DIR"
_BUNDLED = pathlib.Path(__file__).parent / "_ucx"
# UCX would rewrite the code of mmap and its like while it loads, to hear of memory that is
# unmapped: that takes 0.4 s, and TensorHub registers memory itself. (Its other way, "reloc", is
# quick, and torch then frees what it did not allocate.)
_NO_HOOKS = {"UCX_MEM_MMAP_HOOK_MODE": "none"}


@dataclass(frozen=True)
class Ucx:
    """The UCX in use."""

    path: str
    """The folder of its libraries; empty: the loader's own search."""
    reason: str
    """Why this one."""
    version: str = ""


def choose() -> Ucx:
    """Which one it is to be; loads nothing."""
    if named := os.environ.get(_VARIABLE):
        return Ucx(_folder_of(named), f"{_VARIABLE} names it")
    if loaded := _loaded():
        return Ucx(loaded, "another package of this process had loaded it")
    if package := _package():
        return Ucx(str(package), "the package libucx is installed")
    if (_BUNDLED / "libucp.so.0").exists():
        return Ucx(str(_BUNDLED), "it came with this wheel")
    return Ucx("", "it is the system's, and this package was built with it")


_in_use: Ucx | None = None


def in_use() -> Ucx:
    """The one that was loaded, and why."""
    return _in_use or choose()


def settings(ucx: Ucx) -> dict[str, str]:
    """What it is told by variables that the user has not set.

    One that other packages may share, or that a user chose, keeps its own choices.
    """
    return _NO_HOOKS if ucx.path == str(_BUNDLED) else {}


def load() -> Ucx:
    """Loads it, so that whatever needs it by name gets this one."""
    global _in_use
    chosen = choose()
    if chosen.path and not _loaded():
        with _variables(settings(chosen)):
            for name in _LIBRARIES:
                ctypes.CDLL(str(pathlib.Path(chosen.path) / name), os.RTLD_LOCAL | os.RTLD_NOW)
    _in_use = Ucx(chosen.path, chosen.reason, _version(chosen.path))
    return _in_use


@contextlib.contextmanager
def _variables(wanted: dict[str, str]) -> Iterator[None]:
    """The environment with these as well, but for what the user has set."""
    added = {name: value for name, value in wanted.items() if name not in os.environ}
    os.environ.update(added)
    try:
        yield
    finally:
        for name in added:
            del os.environ[name]


def _folder_of(named: str) -> str:
    for folder in (pathlib.Path(named) / "lib", pathlib.Path(named)):
        if (folder / "libucp.so.0").exists():
            return str(folder)
    raise ImportError(
        f"{_VARIABLE} is {named!r}, and there is no libucp.so.0 in it or in its lib; name UCX's "
        "folder, or unset the variable"
    )


def _loaded() -> str:
    with contextlib.suppress(OSError), open("/proc/self/maps", encoding="utf-8") as maps:
        for line in maps:
            path = line.rstrip().partition("/")[2]
            if os.path.basename(path).startswith("libucp.so.0"):
                return os.path.dirname("/" + path)
    return ""


def _package() -> pathlib.Path | None:
    with contextlib.suppress(ImportError, ValueError):
        spec = importlib.util.find_spec("libucx")
        for folder in (spec.submodule_search_locations or []) if spec else []:
            if (pathlib.Path(folder) / "lib" / "libucp.so.0").exists():
                return pathlib.Path(folder) / "lib"
    return None


def _version(path: str) -> str:
    try:
        name = "libucp.so.0"
        library = ctypes.CDLL(str(pathlib.Path(path) / name) if path else name, os.RTLD_LOCAL)
    except OSError:
        return ""
    library.ucp_get_version_string.restype = ctypes.c_char_p
    found: bytes = library.ucp_get_version_string()
    return found.decode()
