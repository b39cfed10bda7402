#!/usr/bin/env python3
# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""The JSON API of tensorhub-server: it says what tensorhubctl says, by the same names, and a wrong
request hears in one line what is wrong with it.

    api_test.py FOLDER-OF-THE-BINARIES
"""

import http.client
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import urllib.parse

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import binaries  # noqa: E402  (in the folder above)
from served import ServedTest  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
# What tensorhubctl says, and who has no certificate is not to hear (docs/security.md).
KEPT_BACK = {"incarnation", "generation", "publication", "layouts", "attachments", "store_id",
             "data_dir", "listen", "server", "certificate"}
MOVING = {"uptime_ms", "lease_left_ms", "running_ms"}


class ApiTest(ServedTest):
    MODEL = 'team/<b>"actor"&100%'

    def json(self, path):
        text, kind = self.get(path)
        self.assertEqual(kind, "application/json")
        self.assertEqual(text.count("\n"), 1)
        return json.loads(text)

    def ctl(self, *words):
        done = subprocess.run([binaries.path("tensorhubctl"), "--server", self.address,
                               "-o", "json", *words], capture_output=True, text=True, check=True)
        return json.loads(done.stdout)

    def versions_path(self):
        return f"/api/v1/models/{urllib.parse.quote(self.MODEL, safe='')}/versions"

    def same(self, ours, theirs):
        """Each thing that tensorhubctl says is said here, but for what is kept back."""
        self.assertEqual(set(theirs) - set(ours) - KEPT_BACK, set())
        for key in set(ours) & set(theirs) - MOVING:
            self.assertEqual(ours[key], theirs[key], key)
        self.assertEqual(set(ours) & KEPT_BACK, set())

    def raw(self, request):
        """(status, body) of what is sent as it is."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=20) as client:
            client.sendall(request)
            answer = http.client.HTTPResponse(client)
            answer.begin()
            return answer.status, answer.read().decode()

    def asked(self, path, method="GET", body=None):
        client = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        self.addCleanup(client.close)
        client.request(method, path, body=body)
        answer = client.getresponse()
        return answer.status, answer.read().decode(), answer

    def both(self):
        trainer = self.worker("trainer")
        self.do(trainer, "publish 3")
        rollout = self.worker("rollout")
        self.do(rollout, "fetch latest")
        return trainer, rollout

    def test_it_says_what_tensorhubctl_says(self):
        self.both()
        self.same(self.json("/api/v1/status"), self.ctl("status"))
        for ours, theirs in ((self.json("/api/v1/models")["models"], self.ctl("models")["models"]),
                             (self.json(self.versions_path())["versions"],
                              self.ctl("versions", self.MODEL)["versions"]),
                             (self.json("/api/v1/workers")["workers"],
                              self.ctl("workers")["workers"])):
            self.assertEqual(len(ours), len(theirs))
            self.assertGreater(len(ours), 0)
            for our, their in zip(ours, theirs):
                self.same(our, their)

    def test_replicas_are_those_of_tensorhubctl(self):
        self.both()
        model = urllib.parse.quote(self.MODEL)
        tree = self.json(f"/api/v1/versions?model={model}")
        self.assertEqual((tree["version"], tree["members"], tree["complete"]), (3, 2, 2))
        theirs = self.ctl("replicas", self.MODEL, "3")["replicas"]
        for our, their in zip(tree["replicas"], theirs):
            their.pop("version")  # said once, above
            self.same(our, their)
        self.assertEqual(len(tree["replicas"]), len(theirs))

    def test_alerts_are_those_of_the_rules(self):
        trainer, _ = self.both()
        self.do(trainer, "unpublish force")
        self.do(trainer, "publish 4")
        self.do(trainer, "unpublish force")
        rules = (ROOT / "deploy" / "prometheus" / "rules.yml").read_text(encoding="utf-8")
        alerts = self.json("/api/v1/status")["alerts"]
        self.assertEqual([alert["name"] for alert in alerts], ["TensorHubVersionLost"])
        self.assertEqual(alerts[0]["model"], self.MODEL)
        rule = rules[rules.index("alert: TensorHubVersionLost"):]
        self.assertEqual(re.search(r"remedy: (.*)", rule).group(1), alerts[0]["remedy"])

    def test_each_alert_has_the_words_of_its_rule(self):
        rules = (ROOT / "deploy" / "prometheus" / "rules.yml").read_text(encoding="utf-8")
        source = (ROOT / "server" / "http" / "alerts.cc").read_text(encoding="utf-8")
        found = re.findall(r'\{"(TensorHub\w+)",\s*k(\w+),\s*(\d+),', source)
        self.assertGreater(len(found), 5)
        for name, severity, seconds in found:
            rule = rules[rules.index(f"alert: {name}\n"):].split("- alert:")[0]
            with self.subTest(rule=name):
                self.assertIn(f"severity: {severity.lower()}", rule)
                lasts = re.search(r"for: (\d+)([ms])", rule)
                waits = int(lasts.group(1)) * (60 if lasts.group(2) == "m" else 1) if lasts else 0
                self.assertEqual(int(seconds), waits)
                self.assertIn(re.search(r"remedy: (.*)", rule).group(1), source)

    def test_a_worker_that_went_away_is_listed_until_its_lease_ends(self):
        _, rollout = self.both()
        rollout.send_signal(signal.SIGKILL)
        self.assertEqual(rollout.wait(20), 128 + signal.SIGKILL)
        gone = []
        while not gone:
            gone = self.json("/api/v1/workers?state=disconnected")["workers"]
        self.assertEqual([worker["group"] for worker in gone], ["rollout"])

    def test_by_parts(self):
        for number in range(3):
            self.worker(f"w{number}")
        seen, path = [], "/api/v1/workers?limit=1"
        while path:
            part = self.json(path)
            seen += [worker["group"] for worker in part["workers"]]
            more = urllib.parse.urlencode({"limit": 1, "after": part["next"]})
            path = part["next"] and f"/api/v1/workers?{more}"
        self.assertEqual(seen, ["w0", "w1", "w2"])

    def test_wrong_requests_hear_what_is_wrong(self):
        self.worker("trainer")
        for path, code, words in (
                ("/api/v1/models?limit=none", 400, "limit: \"none\"; give a number"),
                ("/api/v1/versions?model=nobody", 404, "model \"nobody\""),
                ("/api/v1/nothing", 404, "/api/v1/status"),
                ("/api/v1/models/%zz/versions", 400, "%25"),
                ("/api/v1/models/%0a/versions", 400, "model"),
                ("/nothing", 404, "no such path"),
                ("/api/v1/workers?after=1", 400, "next")):
            with self.subTest(path=path):
                status, text, answer = self.asked(path)
                self.assertEqual(status, code)
                self.assertEqual(answer.headers["Content-Type"], "application/json")
                self.assertEqual(text.count("\n"), 1)
                fault = json.loads(text)
                self.assertEqual(fault["status"], code)
                self.assertIn(words, fault["error"])

    def test_nothing_can_be_changed(self):
        for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS"):
            for body in (None, b"x" * 100_000):
                with self.subTest(method=method, body=body is not None):
                    status, text, answer = self.asked("/api/v1/models", method, body)
                    self.assertEqual((status, answer.headers["Allow"]), (405, "GET, HEAD"))
                    self.assertIn("tensorhubctl", json.loads(text)["error"])

    def test_requests_that_are_none(self):
        for request, code in ((b"GET /api/v1/status HTTP/1.1\r\nX: " + b"a" * 20_000, 431),
                              (b"GET /api/v1/status", 408),
                              (b"NONSENSE\r\n\r\n", 400),
                              (b"GET /" + b"a" * 9_000 + b" HTTP/1.1\r\n\r\n", 414)):
            with self.subTest(code=code):
                status, text = self.raw(request)
                self.assertEqual(status, code)
                self.assertEqual(json.loads(text)["status"], code)

    def test_head_and_what_guards_an_answer(self):
        status, text, answer = self.asked("/api/v1/status", "HEAD")
        self.assertEqual((status, text), (200, ""))
        self.assertEqual(answer.headers["Cache-Control"], "no-store")
        self.assertEqual(answer.headers["X-Content-Type-Options"], "nosniff")
        self.assertIsNone(answer.headers["Access-Control-Allow-Origin"])


if __name__ == "__main__":
    binaries.main()
