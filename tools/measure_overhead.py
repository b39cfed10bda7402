#!/usr/bin/env python3
# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""What a server's metrics and its record cost, beside one without them.

    tools/measure_overhead.py [--binaries build/release/bin] [--rounds 7] [--seconds 6]

Rounds of `tensorhub-bench server`, interleaved: bare, with metrics that are scraped once a second,
with a record, with both. Of each the median of the rates and of the server's processor time per
call, and both against the bare one's of the same round, as the median of those ratios. The rate
suffers from whatever else the machine does, the processor time hardly.
"""

import argparse
import json
import os
import socket
import subprocess
import tempfile
import threading
import urllib.request

from interleaved import Rounds

KINDS = {"bare": (), "metrics": ("http",), "record": ("record",), "both": ("http", "record")}


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def scrape(port, done, scrapes):
    while not done.wait(1):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
                answer.read()
            scrapes.append(port)
        except OSError:
            continue  # the server is not there yet, or not any more


def run(arguments, parts, folder):
    environment = dict(os.environ)
    port = free_port()
    if "http" in parts:
        environment["TENSORHUB_HTTP"] = f"127.0.0.1:{port}"
    record = os.path.join(folder, "record")
    if "record" in parts:
        environment["TENSORHUB_RECORD"] = record
    done, scrapes = threading.Event(), []
    scraper = threading.Thread(target=scrape, args=(port, done, scrapes))
    if "http" in parts:
        scraper.start()
    words = [os.path.join(arguments.binaries, "tensorhub-bench"), "server", "-o", "json",
             "--seconds", str(arguments.seconds), "--workers", str(arguments.workers)]
    try:
        output = subprocess.run(words, env=environment, text=True, check=True,
                                stdout=subprocess.PIPE).stdout
    finally:
        done.set()
        if "http" in parts:
            scraper.join()
    if "http" in parts and not scrapes:
        raise SystemExit("the metrics were never scraped: is --seconds too small?")
    size = os.path.getsize(record) if "record" in parts else 0
    if "record" in parts and size == 0:
        raise SystemExit("nothing was recorded")
    figures = {figure["name"]: figure["value"] for figure in json.loads(output)["figures"]}
    return {"calls": figures["calls"], "cpu": figures["server.cpu"], "size": size}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binaries", default="build/release/bin")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=6)
    parser.add_argument("--workers", type=int, default=200)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rounds = Rounds(list(KINDS), arguments.rounds,
                        lambda kind: run(arguments, KINDS[kind], folder))
    print(f"{'':8} {'calls/s':>9} {'of bare':>8} {'cpu/call':>10} {'of bare':>8} {'record':>12}")
    for kind in KINDS:
        print(f"{kind:8} {rounds.median(kind, 'calls'):9.0f} {rounds.of_bare(kind, 'calls'):8.3f} "
              f"{rounds.median(kind, 'cpu'):10.2f} {rounds.of_bare(kind, 'cpu'):8.3f} "
              f"{rounds.median(kind, 'size'):12.0f}")


if __name__ == "__main__":
    main()
