#!/usr/bin/env python3
# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""A planted violation of each house rule must be caught, and a sound tree must pass."""

import os
import sys
import tempfile
import unittest

import check
import declaration_rules
import document_rules
import draw_rules
import function_rules
import message_rules
import source_tree
import text_rules

LICENCE = "".join(f"// {line}\n" for line in text_rules.LICENCE)
def header(path, body):
    guard = text_rules.guard_of(path)
    return LICENCE + f"#ifndef {guard}\n#define {guard}\n{body}\n#endif  // {guard}\n"


def row(name, rules="R1"):
    return f"| `{name}` | a | b | c | d | {rules} |\n"


PROTO = """
service Hub {
  // rpc Gone(GoneRequest) returns (GoneResponse);
  rpc Publish(PublishRequest) returns (PublishResponse);
}
message WorkerMessage {
  oneof body {
    Heartbeat heartbeat = 1;
  }
}
message HubMessage {
  oneof body {
    Welcome welcome = 1;
  }
}
"""
KINDS = """
enum class PeerKind : uint8_t {
  kHello = 1,  // kGone = 0: first
  kOpen =
      2,
};
"""
HEAD = "| message | sent when |\n| --- | --- |\n"
CALLS = "# Messages\n\n## Calls\n\n" + HEAD + row("Publish")
SESSION = ("## Session up\n\n" + HEAD + row("Heartbeat")
           + "## Session down\n\n" + HEAD + row("Welcome"))
PEERS = "## Between agents\n\n" + HEAD + row("kHello", "R4, R8") + row("kOpen")
DOCUMENT = message_rules.DOCUMENT
CARDS = ("| R1.1 | It holds. |\n\n| Enforced at | `server/core/hub.cc`, `kText` |\n"
         "| Planted bugs | `a_bug`, `b_bug` |\n")
SCENARIO = "tests/unit/server/core/scenarios/holds.txt"
BUGS = "# planted_bug(NAME S)\nplanted_bug(a_bug hub.cc R1)\nforeach(name b_bug)\nendforeach()\n"

SOUND = {
    "CMakeLists.txt": "add_subdirectory(server)\nadd_subdirectory(common)\n"
                      "add_subdirectory(tests/sim/planted)\n",
    "common/CMakeLists.txt": "add_library(common ids.cc)\n",
    "common/ids.cc": LICENCE + '#include "common/ids.h"\n',
    "common/ids.h": LICENCE + "#ifndef TENSORHUB_COMMON_IDS_H_\n#define TENSORHUB_COMMON_IDS_H_\n"
                              "#endif  // TENSORHUB_COMMON_IDS_H_\n",
    DOCUMENT: CALLS + SESSION + PEERS,
    document_rules.CARDS: CARDS,
    document_rules.PLANTED: BUGS,
    SCENARIO: "# It holds.\n# Covers: R1.1\n> open a/0\n",
    "README.md": "One `a; b`.\n```\nint i; int j;\n```\n",
    message_rules.PROTO: LICENCE + PROTO,
    message_rules.PEER_WIRE: header(message_rules.PEER_WIRE, KINDS),
    "server/CMakeLists.txt": "add_library(hub core/hub.cc)\n",
    "server/core/hub.cc": LICENCE + '#include "common/ids.h"\n'
                                    "// R1 R2 R3 R4 R5 R6 R7 R8 R9; system_clock in a comment\n"
                                    'const char* kText = "std::cout << assert(1)";\n',
}


# (what is planted: the rule it breaks, {path: text}); a text of None takes a file away.
PLANTED = (
    ("prose: a semicolon", {"README.md": "One thing; another.\n"}),
    ("prose: a semicolon", {"SECURITY.md": "| a | b; c |\n"}),
    ("prose: \"Whoever\"", {"README.md": "Whoever reads it.\n"}),
    ("prose: a sentence of 31 words", {"README.md": "word " * 20 + "\n" + "word " * 11 + ".\n"}),
    ("rule-card: no such planted bug: c_bug",
     {document_rules.CARDS: CARDS + "| Planted bugs | `c_bug` |\n"}),
    ("rule-card: the planted bug a_bug is on no card",
     {document_rules.CARDS: "| Planted bugs | `b_bug` |\n"}),
    ("rule-card: the planted bug b_bug is on no card",
     {document_rules.CARDS: "| Planted bugs | `a_bug` |\n"}),
    ("code-name: nothing is called A::B",
     {document_rules.CARDS: CARDS + "| Enforced at | `A::B` |\n"}),
    ("code-name: no such file",
     {document_rules.CARDS: CARDS + "| Checker | `server/core/gone.cc` |\n"}),
    ("code-name: no file is called gone.cc",
     {document_rules.SPECIFICATION + "x.md": "It is in `gone.cc`.\n"}),
    ("comment-subject: it begins with \"Of\"",
     {"common/ids.cc": LICENCE + "\n// Of the worker.\nint id = 0;\n"}),
    ("comment-subject: it begins with \"Of\": begin with what it is about (one of 26 in server",
     {"server/core/hub.cc": LICENCE + "\n// Of the worker.\nint id = 0;\n" * 26}),
    ("coverage: no scenario and no test covers R1.2",
     {document_rules.CARDS: "| R1.1 | A. |\n| R1.2 | B. |\n" + CARDS.split("\n\n")[1]}),
    ("coverage: R1.3 is sentence 2", {document_rules.CARDS: CARDS + "| R1.3 | A. |\n"}),
    ("coverage: no rule has a sentence R2.1",
     {"tests/unit/a_test.cc": LICENCE + "// Covers: R1.1, R2.1\n"}),
    ("coverage: say which sentences", {SCENARIO: "# It holds.\n> open a/0\n"}),
    ("coverage: no scenario and no test covers R1.1",
     {SCENARIO: "# It holds.\n> open a/0\n# Covers: R1.1\n"}),
    ("link: no such document: gone.md", {"SECURITY.md": "[a](gone.md)\n"}),
    ("link: no such document: ../gone", {"docs/" "a.md": "[a](../gone)\n"}),
    ("link: no such section: README.md#gone", {"SECURITY.md": "# Gone\n[a](README.md#gone)\n"}),
    ("link: no such section: #gone", {"SECURITY.md": "```\n# Gone\n```\n[a](#gone)\n"}),
    ("link: no such document: docs/" "gone.md",
     {"server/core/hub.cc": LICENCE + "// docs/" "gone.md\n"}),
    ("rule-card: docs/protocol/rules.md", {document_rules.CARDS: None}),
    ("core-include", {"server/core/hub.cc": LICENCE + "#include <grpcpp/grpcpp.h>\n"}),
    ("core-include", {"server/core/hub.cc": LICENCE + "#include <ucp/api/ucp.h>\n"}),
    ("core-include", {"server/core/hub.cc": LICENCE + "#include <cuda.h>\n"}),
    ("core-include", {"server/core/hub.cc": LICENCE + "#include <sqlite3.h>\n"}),
    ("core-include", {"server/core/hub.cc": LICENCE + '#include "spdlog/spdlog.h"\n'}),
    ("core-include", {"server/core/hub.cc": LICENCE + '#include "tensorhub/v1/hub.pb.h"\n'}),
    ("core-include", {"server/core/hub.cc": LICENCE + "#include <thread>\n"}),
    ("core-include", {"server/core/hub.cc": LICENCE + "#include <mutex>\n"}),
    ("core-include", {"server/core/hub.cc": LICENCE + "#include <condition_variable>\n"}),
    ("core-include", {"server/core/hub.cc": LICENCE + "#include <chrono>\n"}),
    ("core-include", {"server/core/hub.cc": LICENCE + '#include "absl/time/clock.h"\n'}),
    ("core-include", {"server/core/hub.cc": LICENCE + '#include "absl/synchronization/mutex.h"\n'}),
    ("through common/ids.h", {"common/ids.h": header("common/ids.h", "#include <chrono>")}),
    ("dependency", {"common/ids.cc": LICENCE + '#include "server/core/hub.h"\n'}),
    ("dependency", {"server/core/hub.cc": LICENCE + '#include "server/rpc/shell.h"\n'}),
    ("dependency", {"server/core/hub.cc": LICENCE + '#include "protocol/codec/calls.h"\n'}),
    ("dependency", {"protocol/messages/a.h": header("protocol/messages/a.h",
                                                    '#include "tensorhub/v1/hub.pb.h"')}),
    ("dependency", {"protocol/messages/a.h": header("protocol/messages/a.h",
                                                    '#include "protocol/codec/calls.h"')}),
    ("dependency", {"protocol/codec/a.h": header("protocol/codec/a.h",
                                                 '#include "server/core/hub.h"')}),
    ("dependency", {"server/core/hub.cc": LICENCE + '#include "worker_agent/agent.h"\n'}),
    ("dependency", {"worker_agent/a.h": header("worker_agent/a.h", '#include "server/h.h"')}),
    ("dependency", {"worker_agent/a.h": header("worker_agent/a.h", '#include "libros/client.h"')}),
    ("dependency", {"libros/a.h": header("libros/a.h", '#include "tools/ctl/table.h"')}),
    ("dependency", {"tools/ctl/a.h": header("tools/ctl/a.h", '#include "server/core/hub.h"')}),
    ("public-header", {"libros/include/tensorhub/a.h":
                       header("libros/include/tensorhub/a.h", '#include "common/ids.h"')}),
    ("banned: `system_clock`", {"server/core/hub.cc": LICENCE + "system_clock::now();\n"}),
    ("steady_clock", {"server/core/hub.cc": LICENCE + "steady_clock::now();\n"}),
    ("absl::Now", {"server/core/hub.cc": LICENCE + "auto t = absl::Now();\n"}),
    ("std::thread", {"server/core/hub.cc": LICENCE + "std::thread t;\n"}),
    ("sleep_for", {"tests/a.h": header("tests/a.h", "std::this_thread::sleep_for(x);")}),
    ("random_device", {"common/ids.cc": LICENCE + "std::random_device device;\n"}),
    ("absl::Mutex", {"common/ids.cc": LICENCE + "absl::Mutex mutex;\n"}),
    ("std::mutex", {"common/ids.cc": LICENCE + "std::mutex mutex;\n"}),
    ("std::cout", {"common/ids.cc": LICENCE + 'std::cout << "x";\n'}),
    ("printf", {"server/core/hub.cc": LICENCE + 'printf("x");\n'}),
    ("assert", {"common/ids.cc": LICENCE + "assert(x);\n"}),
    ("throw", {"common/ids.cc": LICENCE + "throw 1;\n"}),
    ("leftover", {"common/ids.cc": LICENCE + "// TO" "DO: later\n"}),
    ("leftover", {"common/CMakeLists.txt": "# FIX" "ME\nadd_library(common ids.cc)\n"}),
    ("licence", {"common/ids.cc": "int x;\n"}),
    ("licence", {"tools/a.sh": "#!/bin/bash\necho\n"}),
    ("guard", {"common/ids.h": header("common/other.h", "")}),
    ("guard", {"common/ids.h": LICENCE + "#pragma once\n"}),
    ("file-length", {"common/ids.cc": LICENCE + "int x;\n" * 599}),
    ("line-length", {"tools/a.py": LICENCE + "# " + "x" * 100 + "\n"}),
    ("function-length: Long", {"common/ids.cc":
                               LICENCE + "int Long() {\n" + "  F();\n" * 70 + "}\n"}),
    ("function-length: A::A", {"common/ids.cc":
                               LICENCE + "A::A(int a) : a_{a}, b_(2) {\n"
                               + "  F();\n" * 70 + "}\n"}),
    ("function-length: Inner", {"common/ids.h": header("common/ids.h",
                                "class A {\n public:\n  class B {\n   public:\n    int Inner() {\n"
                                + "  F();\n" * 70 + "    }\n  };\n};")}),
    ("ids.cc:3: order-of-draws", {"common/ids.cc":
                                  LICENCE + "F(dice.Below(2), G(random_.Next()));\n"}),
    ("declarations: Hub::State has 501", {"server/core/state.h": header(
        "server/core/state.h", "class Hub::State {\n" + "  int a_ = 0;\n" * 501 + "};")}),
    ("names this source", {"common/lost.cc": LICENCE}),
    ("names this test", {"tests/unit/common/lost_test.cc": LICENCE}),
    ("unregistered", {"common/cli/CMakeLists.txt": "add_library(cli)\n"}),
    ("message-table: kOpen of worker_agent/core/peer_wire.h has no row",
     {DOCUMENT: CALLS + SESSION + PEERS.replace(row("kOpen"), "")}),
    ("message-table: Heartbeat of proto/tensorhub/v1/hub.proto has no row",
     {DOCUMENT: CALLS + PEERS}),
    ("message-table: Leave of proto/tensorhub/v1/hub.proto has no row",
     {message_rules.PROTO: LICENCE
                           + PROTO.replace("  // rpc Gone", "  rpc Leave(A) returns (B);\n//")}),
    ("message-table: Gone is in the table \"Calls\" and not in",
     {DOCUMENT: CALLS + row("Gone") + SESSION + PEERS}),
    ("message-table: Welcome is in the table \"Calls\" and not in",
     {DOCUMENT: CALLS + row("Welcome") + SESSION + PEERS}),
    ("message-table: kGone is in the table \"Between agents\" and not in",
     {DOCUMENT: CALLS + SESSION + PEERS + row("kGone")}),
    ("message-table: Publish has a row already",
     {DOCUMENT: CALLS + row("Publish") + SESSION + PEERS}),
    ("message-table: kOpen has 5 cells",
     {DOCUMENT: CALLS + SESSION + PEERS.replace(row("kOpen"), "| `kOpen` | a | b | c | d |\n")}),
    ("message-table: kOpen names its rules as \"R10\"",
     {DOCUMENT: CALLS + SESSION + PEERS.replace(row("kOpen"), row("kOpen", "R10"))}),
    ("message-table: no messages found for the table \"Session up\"",
     {message_rules.PROTO: LICENCE + PROTO.replace("WorkerMessage", "Renamed")}),
    ("message-table: `kHello` is in \"Others\"",
     {DOCUMENT: CALLS + SESSION + PEERS + "## Others\n\n" + HEAD + row("kHello")}),
    ("message-table: this file is not there", {DOCUMENT: None}),
    ("rule-number", {"server/core/hub.cc": LICENCE + "// R1 R2 R3 R4 R5 R6 R7 R8\n"}),
)


def violations(changes):
    with tempfile.TemporaryDirectory() as root:
        for path, text in {**SOUND, **changes}.items():
            if text is None:
                continue
            os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
            with open(os.path.join(root, path), "w", encoding="utf-8") as stream:
                stream.write(text)
        return check.violations(source_tree.load_tree(root))


class HouseRules(unittest.TestCase):
    def test_a_sound_tree_passes(self):
        self.assertEqual(violations({}), [])

    def test_every_planted_violation_is_caught(self):
        for wanted, changes in PLANTED:
            with self.subTest(wanted=wanted, changes=list(changes)):
                found = violations(changes)
                self.assertTrue(any(wanted in line for line in found), found)

    def test_every_check_has_a_planted_violation(self):
        planted = " ".join(wanted for wanted, _ in PLANTED)
        for rule in check.CHECKS:
            name = rule.__doc__.split(":")[0]
            self.assertTrue(name in planted, f"no planted violation of {name}")

    def test_functions_are_measured(self):
        text = "namespace n {\nint F(int a,\n      int b) {\n  if (a) {\n    b = 1;\n  }\n}\n}\n"
        functions = function_rules.functions_of(source_tree.SourceFile("a.cc", text))
        self.assertEqual([(f.name, f.first_line, f.line_count()) for f in functions], [("F", 2, 6)])

    def test_draws_whose_order_the_language_says_pass(self):
        for text in ("F(dice.Below(dice.Below(2)));", "Id{random.Next(), random.Next()};",
                     "After(dice.Time(0, 1), [&] { dice.Below(2); });",
                     "for (int i = dice.Below(2); i < dice.Below(3); ++i) F(i, i);"):
            self.assertEqual(list(draw_rules.unordered_draws(text)), [], text)

    def test_declarations_are_counted(self):
        text = ("class A;\nclass A {\n public:\n  A(int a) : a_{a} {\n    F();\n  }\n"
                "  void F(B b = {}, const C& c = C());\n  // void G();\n"
                "  template <typename T>\n  void G(T t) { H(t); }\n private:\n"
                "  enum class E { kOne };\n  struct B;\n  int a_ = 0, b_{1};\n};\nint c;\n")
        file = source_tree.SourceFile("a.h", text)
        found = declaration_rules.declarations_of(file, "A")
        self.assertEqual([line.split()[0] for line in found],
                         ["A(int", "void", "template", "enum", "struct", "int"], found)
        self.assertEqual(list(declaration_rules.check_declarations({"a.h": file}, {"a.h:A": 6})),
                         [])
        self.assertEqual(
            len(list(declaration_rules.check_declarations({"a.h": file}, {"a.h:A": 5}))), 1)

    def test_the_ratchet_holds_and_is_cleared(self):
        files = {"a.cc": source_tree.SourceFile("a.cc", "int F() {\n" + "G();\n" * 80 + "}\n")}
        self.assertEqual(list(function_rules.check_functions(files, {"a.cc:F": 82})), [])
        self.assertEqual(len(list(function_rules.check_functions(files, {"a.cc:F": 81}))), 1)
        self.assertEqual(len(list(function_rules.check_functions({}, {"a.cc:F": 82}))), 1)


if __name__ == "__main__":
    sys.exit(unittest.main())
