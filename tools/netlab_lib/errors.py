# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""What can go wrong, by the exit code it ends the program with. The text is one line for people."""


class NetlabError(Exception):
    """Something failed, or does not exist."""
    exit_code = 1


class UsageError(NetlabError):
    """The command line or the specification is wrong."""
    exit_code = 2


class Unsupported(NetlabError):
    """This machine or this user cannot have a laboratory; tests skip (ctest: SKIP_RETURN_CODE)."""
    exit_code = 77
