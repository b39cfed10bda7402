# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""A fleet of 10,000 workers that is made up, as the API would tell of it: for the page alone.

Served with a real server's page, so that a browser sees one origin and the page's own policy.
"""

import http.server
import json
import threading
import urllib.parse

MODEL = "qwen3-235b/actor"
VERSION = 1207
RACKS = 157
PER_RACK = 64
CHUNKS = 4096
SILENCE = {"status": 503, "error": "the hub does not answer"}


def member(group, state, valid, source=None, tier="rack", location="us/dc0", readers=0):
    row = {"group": group, "rank": 0, "state": state, "valid_chunks": valid, "chunks": CHUNKS,
           "readers": readers, "medium": "host", "location": location, "reads": source is not None,
           "running_ms": 5400, "sources": 1 if source else 0, "below_left_out": 0}
    if source:
        row |= {"source_group": source, "source_rank": 0, "tier": tier, "way": "one-sided over rc"}
    return row


def fleet():
    """Level by level: the trainer, the first of each rack, then chains within the racks."""
    rows = [member("trainer", "complete", CHUNKS, readers=4)]
    heads = [f"rollout-r{rack:03}-00" for rack in range(RACKS)]
    for rack, head in enumerate(heads):
        source = "trainer" if rack < 4 else heads[rack - 4]
        tier = "remote" if rack in (1, 2) else "datacenter"
        rows.append(member(head, "filling", CHUNKS - 40 - 20 * (rack // 4), source, tier,
                           f"us/dc{rack % 4}/r{rack}/h0", 2))
    for step in range(1, PER_RACK):
        for rack in range(RACKS):
            row = member(f"rollout-r{rack:03}-{step:02}", "filling",
                         max(0, CHUNKS - 100 - 20 * (rack // 4) - 30 * step),
                         f"rollout-r{rack:03}-{step - 1:02}", "host" if step % 8 else "rack",
                         f"us/dc{rack % 4}/r{rack}/h{step // 8}", 1)
            rows.append(row)
    rows[7] |= {"reads": True, "sources": 0, "state": "filling"}
    for key in ("source_group", "source_rank", "tier", "way"):
        rows[7].pop(key)
    return rows


class Fleet:
    def __init__(self):
        self.rows = fleet()
        self.parent = {row["group"]: row.get("source_group") for row in self.rows}

    def workers(self, query):
        limit = int(query.get("limit", 100))
        first = int(query["after"]) if "after" in query else 0
        names = sorted(self.rows, key=lambda row: row["group"])
        listed = [self.worker(number, row) for number, row in enumerate(names)]
        state = query.get("state", "all")
        wanted = {"all": lambda row: True, "stalled": lambda row: row["stalled_ms"] > 0,
                  "filling": lambda row: row["state"] == "filling",
                  "disconnected": lambda row: not row["connected"]}.get(state, lambda row: False)
        listed = [row for row in listed if wanted(row)]
        more = len(listed) > first + limit
        return {"workers": listed[first:first + limit],
                "next": str(first + limit) if more else None}

    @staticmethod
    def worker(number, row):
        return {"model": MODEL, "group": row["group"], "rank": 0, "world_size": 1,
                "version": VERSION, "state": row["state"], "valid_chunks": row["valid_chunks"],
                "chunks": CHUNKS, "connected": number % 997 != 5, "spot": number % 3 == 0,
                "lease_left_ms": 4200, "stalled_ms": 9000 if number % 1999 == 7 else 0,
                "withdrawn": number % 1777 == 3, "readers": 0,
                "location": row["location"]}

    def tree(self, query):
        limit = int(query.get("limit", 100))
        listed = [dict(row) for row in self.rows[:limit]]
        shown = {row["group"]: row for row in listed}
        for row in self.rows[limit:]:
            above = row.get("source_group")
            while above is not None:
                if above in shown:
                    shown[above]["below_left_out"] += 1
                above = self.parent[above]
        return {"model": MODEL, "version": VERSION, "members": len(self.rows), "complete": 1,
                "replicas": listed, "left_out": len(self.rows) - len(listed), "idle_left_out": 0}

    def models(self, query):
        limit = int(query.get("limit", 100))
        rows = [{"model": MODEL, "latest": VERSION, "latest_held": True, "versions": 2,
                 "replicas": 1, "workers": len(self.rows), "behind": 6120, "lag_max": 3,
                 "keep_latest": 1, "term": 0}]
        rows += [{"model": f"ablation-{i:02}/critic", "latest": 40 + i, "latest_held": i != 3,
                  "versions": 1, "replicas": 2, "workers": 12, "behind": 0, "lag_max": 0,
                  "keep_latest": 1, "term": 0} for i in range(60)]
        return {"models": rows[:limit], "next": rows[limit - 1]["model"]}

    def versions(self, _query):
        rows = [{"version": VERSION - i, "state": "visible" if i < 2 else "lost", "term": 0,
                 "world_size": 8, "bytes": 470_000_000_000 if i < 2 else 0, "chunk_bytes": 1 << 27,
                 "complete_replicas": 1 if i < 2 else 0, "filling_replicas": 9984 if i == 0 else 0,
                 "kept_by": ["latest"] if i == 0 else [],
                 "identity": f"{i + 0xabc:032x}" if i < 2 else None}
                for i in range(10)]
        return {"model": MODEL, "versions": rows, "next": VERSION - 9}

    def status(self, _query):
        alert = {"for_s": 60, "severity": "warning", "model": None}
        return {"server_version": "0.1.0", "epoch": 12, "uptime_ms": 7_300_000, "recovering": False,
                "models": 61, "workers": len(self.rows) + 720, "connected": 10_690, "stalled": 5,
                "references": 10_000, "transfers": len(self.rows) - 1,
                "transfers_by_tier": {"host": 8600, "rack": 1228, "datacenter": 153, "remote": 2,
                                      "none": 1},
                "oldest_transfer_ms": 61_000, "decisions": 1_204_331, "refused": {}, "security":
                "TLS, client certificates required; rights by model",
                "certificate_ends": "2026-12-01 10:00:00 UTC", "reloads_failed": 0, "answer_ms": 3,
                "alerts": [alert | {"name": "TensorHubVersionLost", "severity": "critical",
                                    "model": "ablation-03/critic", "for_s": 30,
                                    "summary": "nobody holds its latest version, 43, whole",
                                    "remedy": "Its trainer has to publish again."},
                           alert | {"name": "TensorHubReadersWait",
                                    "summary": "1 reader has no source",
                                    "remedy": "Their sources are silent or gone."}],
                "alerts_leave_out_models": 0}

    def answer(self, target):
        parts = urllib.parse.urlsplit(target)
        query = dict(urllib.parse.parse_qsl(parts.query))
        if parts.path.endswith("/versions") and parts.path != "/api/v1/versions":
            return self.versions(query)
        return {"/api/v1/status": self.status, "/api/v1/models": self.models,
                "/api/v1/versions": self.tree, "/api/v1/workers": self.workers}[parts.path](query)


def serve(html, policy, answers=True):
    """(server, port): a server of this fleet with that page. Whoever calls shuts it down. Without
    `answers` its hub does not answer."""
    made_up = Fleet()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):  # noqa: N802  (the library's name)
            page = self.path == "/"
            body = html if page else json.dumps(made_up.answer(self.path) if answers else SILENCE)
            body = body.encode()
            self.send_response(200 if page or answers else 503)
            kind = "text/html; charset=utf-8" if page else "application/json"
            self.send_header("Content-Type", kind)
            if page:
                self.send_header("Content-Security-Policy", policy)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server, server.server_address[1]
