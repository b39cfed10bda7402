#!/usr/bin/env python3
# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""The house rules, as a test: prints what breaks them, one line each, and exits 1 if anything does.

    check.py [ROOT]
"""

import sys

import comment_rules
import coverage_rules
import declaration_rules
import document_rules
import draw_rules
import function_rules
import include_rules
import message_rules
import registration_rules
import source_tree
import text_rules

CHECKS = (
    include_rules.check_core_includes,
    include_rules.check_arrows,
    include_rules.check_public_headers,
    text_rules.check_banned,
    text_rules.check_leftovers,
    text_rules.check_licence,
    text_rules.check_guards,
    text_rules.check_file_length,
    text_rules.check_line_length,
    function_rules.check_functions,
    declaration_rules.check_declarations,
    draw_rules.check_draws,
    registration_rules.check_sources_registered,
    registration_rules.check_folders_registered,
    registration_rules.check_rules_named,
    message_rules.check_message_table,
    document_rules.check_prose,
    document_rules.check_cards,
    document_rules.check_names,
    document_rules.check_links,
    coverage_rules.check_coverage,
    comment_rules.check_comments,
)


def violations(files):
    return [line for check in CHECKS for line in check(files)]


def main(arguments):
    root = arguments[1] if len(arguments) > 1 else "."
    files = source_tree.load_tree(root)
    if not files:
        print(f"{root}: no sources found; give the project's root folder")
        return 2
    for line in text_rules.warn_file_length(files):
        print(f"note: {line}")
    broken = violations(files)
    for line in broken:
        print(line)
    print(f"{len(files)} files, {len(broken)} violations of the house rules")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
