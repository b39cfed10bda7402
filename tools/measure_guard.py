#!/usr/bin/env python3
# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""What TLS with certificates of both sides and guarded reads cost, beside neither.

    tools/measure_guard.py [--scenario read] [--rounds 5] [--binaries build/release/bin] [-- WORDS]

Rounds of `tensorhub-bench SCENARIO WORDS`, interleaved: bare (no TLS, --guard-reads=false), guarded
(the default, no TLS), and both (TLS, client certificates, guarded). Of each figure the median, and
that of the ratios to the bare one's of the same round. `broadcast` needs root.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
                                "tests", "integration"))
from certificates import Authority  # noqa: E402  (in the folder of the tests)
from interleaved import Rounds  # noqa: E402  (in this one)

KINDS = ("bare", "guarded", "both")
# Where the server may be: on this host, and in the laboratory of `broadcast` (tools/netlab).
ADDRESSES = ["127.0.0.1"] + [f"10.77.0.{place}" for place in range(1, 100)]


def certificate_variables(folder):
    """One certificate for the server and for its clients: both read these variables."""
    authority = Authority(folder, "ca")
    names = ",".join(["DNS:localhost"] + [f"IP:{address}" for address in ADDRESSES])
    certificate, key = authority.issue("bench", names)
    return {"TENSORHUB_TLS_CERT": certificate, "TENSORHUB_TLS_KEY": key,
            "TENSORHUB_TLS_CA": authority.certificate}


def variables_of(kind, tls):
    variables = {"TENSORHUB_GUARD_READS": "false" if kind == "bare" else "true"}
    return variables | (tls if kind == "both" else {})


def run(arguments, variables, units):
    words = [os.path.join(arguments.binaries, "tensorhub-bench"), arguments.scenario, "-o", "json",
             *arguments.words]
    done = subprocess.run(words, env=os.environ | variables, text=True, check=False,
                          stdout=subprocess.PIPE)
    # A figure that misses its target is no reason to stop.
    if not done.stdout:
        raise SystemExit(f"{' '.join(words)} measured nothing (status {done.returncode})")
    figures = json.loads(done.stdout)["figures"]
    units.update((figure["name"], figure["unit"]) for figure in figures)
    return {figure["name"]: figure["value"] for figure in figures}


def show(rounds, units):
    print(f"{'':44} {'unit':>8} {'bare':>10} {'guarded':>10} {'of bare':>8} {'both':>10} "
          f"{'of bare':>8}")
    for name in rounds.names():
        medians = {kind: rounds.median(kind, name) for kind in KINDS}
        ratios = {kind: rounds.of_bare(kind, name) for kind in KINDS}
        print(f"{name:44} {units[name]:>8} {medians['bare']:10.3f} {medians['guarded']:10.3f} "
              f"{ratios['guarded']:8.3f} {medians['both']:10.3f} {ratios['both']:8.3f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scenario", default="read", choices=("read", "publish", "broadcast"))
    parser.add_argument("--binaries", default="build/release/bin")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("words", nargs="*", help="for tensorhub-bench, behind --")
    arguments = parser.parse_args()
    units = {}
    with tempfile.TemporaryDirectory() as folder:
        tls = certificate_variables(folder)
        rounds = Rounds(KINDS, arguments.rounds,
                        lambda kind: run(arguments, variables_of(kind, tls), units))
    show(rounds, units)


if __name__ == "__main__":
    main()
