# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""What a branch touches: that is looked at more closely than the rest."""

import os
import subprocess

_HOURS = 8


class Changes:
    """Files that differ from where the branch began, and what is not committed yet."""

    def __init__(self, root):
        self._root = root
        self.base = self._base()
        self.files = self._files()

    def under(self, *prefixes):
        return [file for file in self.files if file.startswith(prefixes)]

    def describe(self):
        if self.base is None:
            return "there is no history to compare with: every file counts as touched"
        return f"{len(self.files)} files are touched since {self.base[:10]}"

    def _git(self, *words):
        done = subprocess.run(
            ["git", "-c", "safe.directory=*", *words],
            cwd=self._root,
            text=True,
            capture_output=True,
            check=False,
        )
        return done.stdout.strip() if done.returncode == 0 else None

    def _base(self):
        """None where nobody can say."""
        named = os.environ.get("TENSORHUB_BASE")
        if named:
            return self._git("rev-parse", "--verify", f"{named}^{{commit}}")
        head = self._git("rev-parse", "HEAD")
        left = self._git("merge-base", "HEAD", "origin/main")
        if left and left != head:
            return left
        newest = self._git("log", "-1", "--format=%ct")
        if newest is None:
            return None
        return (
            self._git("rev-list", "-1", f"--before={int(newest) - _HOURS * 3600}", "HEAD") or None
        )

    def _files(self):
        if self.base is None:
            listed = self._git("ls-files") or ""
        else:
            listed = "\n".join(
                (
                    self._git("diff", "--name-only", self.base) or "",
                    self._git("ls-files", "--others", "--exclude-standard") or "",
                )
            )
        return sorted(
            {
                file
                for file in listed.splitlines()
                if os.path.exists(os.path.join(self._root, file))
            }
        )
