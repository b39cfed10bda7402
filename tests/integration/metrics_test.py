#!/usr/bin/env python3
# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""What tensorhub-server shows by HTTP: each metric is documented, and says what is so. Who misuses
the port gets an error or is hung up on, and others go on.

    metrics_test.py FOLDER-OF-THE-BINARIES
"""

import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import binaries  # noqa: E402  (in the folder above)
from served import ServedTest  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODEL = 'team/"actor"'


def series(text):
    """By name with labels, as the page has them."""
    return {
        line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1])
        for line in text.splitlines() if not line.startswith("#")
    }


def names(text):
    found = {re.match(r"[a-z_]+", name).group() for name in series(text)}
    return {re.sub(r"_(bucket|sum|count)$", "", name) for name in found}


class MetricsTest(ServedTest):
    MODEL = MODEL

    def metrics(self):
        return self.get("/metrics")[0]

    def test_a_model_and_who_is_behind(self):
        trainer = self.worker("trainer")
        rollout = self.worker("rollout")
        self.do(trainer, "publish 3")
        self.do(rollout, "fetch latest")
        self.do(trainer, "unpublish")
        self.do(trainer, "publish 5")
        text, kind = self.get("/metrics")
        self.assertIn("version=0.0.4", kind)
        found = series(text)
        label = '{model="team/\\"actor\\""}'
        self.assertEqual(found[f"tensorhub_model_latest_version{label}"], 5)
        self.assertEqual(found[f"tensorhub_model_latest_held{label}"], 1)
        self.assertEqual(found[f"tensorhub_model_workers{label}"], 2)
        self.assertEqual(found[f"tensorhub_model_workers_behind{label}"], 1)
        self.assertEqual(found[f"tensorhub_model_lag_versions{label}"], 2)
        self.assertEqual(found["tensorhub_sessions"], 2)
        self.assertEqual(found["tensorhub_source_decisions_total"], 1)
        self.assertEqual(found['tensorhub_transfers{tier="none"}'], 0)
        self.assertEqual(found['tensorhub_fetches_total{outcome="ok"}'], 1)
        self.assertEqual(found['tensorhub_fetches_total{outcome="failed"}'], 0)
        for phase in ("join", "drain", "assign", "read", "commit"):
            self.assertIn(f'tensorhub_fetch_phase_seconds_total{{phase="{phase}"}}', found)
        read = {name: value for name, value in found.items() if "read_bytes" in name}
        self.assertEqual([name for name in read if 'tier="host"' not in name], [])
        self.assertGreater(sum(read.values()), 0)
        self.assertEqual(found['tensorhub_call_seconds_count{call="JoinFetch"}'], 1)
        self.assertEqual(found['tensorhub_call_seconds_bucket{call="JoinFetch",le="+Inf"}'], 1)
        self.do(trainer, "unpublish force")
        self.assertEqual(series(self.metrics())[f"tensorhub_model_latest_held{label}"], 0)

    def test_what_workers_wrote_is_put_together(self):
        there = tempfile.TemporaryDirectory()
        self.addCleanup(there.cleanup)
        folder = there.name
        trainer = self.worker("trainer", TENSORHUB_TRACE=folder)
        rollout = self.worker("rollout", TENSORHUB_TRACE=folder)
        self.do(trainer, "publish 3")
        self.do(rollout, "fetch latest")
        self.do(rollout, "leave")
        self.do(trainer, "leave")
        self.assertEqual(len(os.listdir(folder)), 2)
        words = [binaries.path("tensorhubctl"), "--server", self.address, "trace", MODEL]
        output = subprocess.run([*words, "3", "--workers", folder], capture_output=True, text=True,
                                check=True).stdout
        events = [event for event in json.loads(output) if event.get("cat") == MODEL]
        slices = {event["name"]: event for event in events if event["ph"] == "X"}
        for name in ("fetch version 3", "read", "reads trainer/0", "serves"):
            self.assertIn(name, slices)
        self.assertGreater(slices["reads trainer/0"]["args"]["bytes"], 0)
        self.assertEqual(slices["reads trainer/0"]["args"]["tier"], "host")
        arrow = {event["ph"]: event for event in events if event["name"] == "source"}
        self.assertEqual(arrow["s"]["id"], arrow["f"]["id"])
        for end, name in (("s", "serves"), ("f", "reads trainer/0")):
            self.assertEqual(arrow[end]["pid"], slices[name]["pid"])
            self.assertEqual(arrow[end]["tid"], slices[name]["tid"])
        self.assertLess(arrow["s"]["ts"], arrow["f"]["ts"])
        # The server's view has the same clock.
        of_server = [event for event in json.loads(output)
                     if event["ph"] == "X" and event["name"] == "fetch version 3"]
        self.assertEqual(len(of_server), 2)
        apart = abs(of_server[0]["ts"] - of_server[1]["ts"])
        self.assertLess(apart, 3600 * 1_000_000)
        none = subprocess.run([*words, "--workers", f"{folder}/none"], capture_output=True,
                              text=True, check=False)
        self.assertNotEqual(none.returncode, 0)
        self.assertIn("--workers", none.stderr)

    def test_promtool_has_nothing_against_it(self):
        self.worker("trainer")
        done = subprocess.run(["promtool", "check", "metrics"], input=self.metrics(), text=True,
                              capture_output=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)

    def test_each_metric_is_documented_and_each_documented_one_is_there(self):
        self.worker("trainer")
        # What is there only if there is a reason.
        subprocess.run([binaries.path("tensorhubctl"), "--server", self.address, "pin", "no-model",
                        "1", "x"], capture_output=True, check=False)
        sometimes = {"tensorhub_certificate_expiry_timestamp_seconds", "tensorhub_refused_total",
                     "tensorhub_read_bytes_total", "tensorhub_call_seconds",
                     "tensorhub_bounds_met_total"}
        page = (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")
        documented = set(re.findall(r"^\| `(tensorhub_[a-z_]+)", page, re.MULTILINE))
        of_workers = {name for name in documented if name.startswith("tensorhub_worker_")}
        shown = names(self.metrics())
        self.assertEqual(shown - documented, set())
        self.assertEqual(documented - of_workers - shown - sometimes, set())

    def test_what_workers_show(self):
        trainer = self.worker("trainer", TENSORHUB_WORKER_HTTP="127.0.0.1:0")
        rollout = self.worker("rollout", TENSORHUB_WORKER_HTTP="127.0.0.1:0")
        self.do(trainer, "publish 3")
        self.do(rollout, "fetch latest")
        port = self.port_of(rollout)
        self.assertEqual(self.get("/livez", port)[0], "ok\n")
        text, kind = self.get("/metrics", port)
        self.assertIn("version=0.0.4", kind)
        found = series(text)
        model = 'model="team/\\"actor\\""'
        for name, value in (("ranks", 1), ("ranks_stalled", 0), ("ranks_connected", 1),
                            ("ranks_holding", 1), ("held_version", 3), ("sources", 0),
                            ("readers", 0), ("other_sources_total", 0),
                            ("failed_sources_total", 0)):
            self.assertEqual(found[f"tensorhub_worker_{name}{{{model}}}"], value, name)
        self.assertEqual(found[f'tensorhub_worker_fetches_total{{{model},outcome="ok"}}'], 1)
        read = {name: value for name, value in found.items() if "read_bytes" in name}
        self.assertEqual([name for name in read if 'tier="host"' not in name], [])
        page = (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")
        documented = set(re.findall(r"^\| `(tensorhub_worker_[a-z_]+)", page, re.MULTILINE))
        self.assertEqual(names(text) - documented, set())
        sometimes = {"tensorhub_worker_served_bytes_total", "tensorhub_worker_reads_ended_total"}
        self.assertEqual(documented - names(text) - sometimes, set())
        promtool = subprocess.run(["promtool", "check", "metrics"], input=text, text=True,
                                  capture_output=True, check=False)
        self.assertEqual((promtool.returncode, promtool.stderr), (0, ""), promtool.stdout)
        # What the reader got is what the source sent, unless it took it without a word. A worker
        # counts when it has a moment.
        got = sum(value for name, value in read.items() if "served over" in name)
        deadline = time.monotonic() + 20
        while True:
            served = series(self.get("/metrics", self.port_of(trainer))[0])
            sent = sum(value for name, value in served.items() if "served_bytes" in name)
            if sent == got or time.monotonic() > deadline:
                break
            time.sleep(0.05)
        self.assertEqual(sent, got)
        self.assertEqual(served[f"tensorhub_worker_readers{{{model}}}"], 0)
        self.assertGreater(sum(read.values()), 0)

    def test_probes(self):
        self.assertEqual(self.get("/livez")[0], "ok\n")
        self.assertEqual(self.get("/readyz")[0], "ok\n")

    def test_nothing_else_is_there(self):
        for path, method, code in (("/index.html", "GET", 404), ("/metrics", "POST", 405),
                                   ("/../etc/passwd", "GET", 404)):
            request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", method=method)
            with self.subTest(path=path, method=method):
                with self.assertRaises(urllib.error.HTTPError) as error:
                    urllib.request.urlopen(request, timeout=20)
                self.assertEqual(error.exception.code, code)
                error.exception.close()

    def test_bad_and_slow_clients_hinder_nobody(self):
        slow = [socket.create_connection(("127.0.0.1", self.port)) for _ in range(40)]
        for client in slow:
            self.addCleanup(client.close)
            client.sendall(b"GET /metrics HT")
        with socket.create_connection(("127.0.0.1", self.port)) as long:
            try:
                long.sendall(b"GET /metrics HTTP/1.1\r\nX: " + b"a" * 1_000_000)
                answer = long.recv(100)
            except (BrokenPipeError, ConnectionResetError):
                answer = b""
            self.assertNotIn(b"200", answer)
        self.assertIn("tensorhub_workers", self.metrics())
        self.worker("trainer")

    def test_who_says_little_for_ever_is_hung_up_on(self):
        with socket.create_connection(("127.0.0.1", self.port)) as slow:
            slow.settimeout(0.2)
            for _ in range(100):
                try:
                    slow.sendall(b"a")
                    if not slow.recv(100):
                        return
                except TimeoutError:
                    continue
                except (BrokenPipeError, ConnectionResetError):
                    return
            self.fail("still connected after 20 s")

    def test_ranges_and_long_paths_are_not_looked_into(self):
        """The library would copy the page for each range, and recurse over a path or a digit."""
        for request in (b"GET /metrics HTTP/1.1\r\nRange: bytes=" + b"0-," * 2600 + b"0-\r\n\r\n",
                        b"GET /metrics HTTP/1.1\r\nrange:bytes=" + b"0" * 7900 + b"-\r\n\r\n",
                        b"GET /api/" + b"a" * 8000 + b" HTTP/1.1\r\n\r\n"):
            with socket.create_connection(("127.0.0.1", self.port), timeout=20) as client:
                client.sendall(request)
                answer = b""
                while more := client.recv(1 << 16):
                    answer += more
            status = 404 if b"/api/" in request else 200
            self.assertEqual(answer.split(b" ")[1], str(status).encode(), answer[:200])
            self.assertLess(len(answer), 1 << 20)

    def test_headers_without_end_take_no_memory(self):
        with socket.create_connection(("127.0.0.1", self.port)) as endless:
            sent = 0
            try:
                endless.sendall(b"GET /metrics HTTP/1.1\r\n")
                while sent < 64 << 20:
                    sent += endless.send(b"X: y\r\n" * 1000)
            except (BrokenPipeError, ConnectionResetError):
                pass
            self.assertLess(sent, 64 << 20)
        self.assertIn("tensorhub_workers", self.metrics())

    def test_a_port_that_is_taken(self):
        done = subprocess.run(
            [binaries.path("tensorhub-server"), "--listen", "127.0.0.1:0", "--http",
             f"127.0.0.1:{self.port}"], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"--http: cannot listen on 127.0.0.1:{self.port}", done.stderr)
        wrong = subprocess.run(
            [binaries.path("tensorhub-server"), "--http", "nonsense"], capture_output=True,
            text=True, timeout=60, check=False)
        self.assertEqual(wrong.returncode, 2)
        self.assertIn("--http", wrong.stderr)


if __name__ == "__main__":
    binaries.main()
