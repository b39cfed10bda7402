# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""The tests of a checkout; tools/test.sh installs what they need and starts this.

    tools/test.sh            what decides whether a change lands: each test compiled and run once,
                             and what the branch touches looked at more closely
    tools/test.sh full       everything, before a release: also planted bugs, chaos at full length,
                             the thread sanitizer on everything, all tests in the release build,
                             clang-tidy of all files, packages, a bare Debian, deployment, engines
    tools/test.sh quick      format, house rules, unit and integration tests with sanitizers
    tools/test.sh for FILE…  what includes these files, built, and its tests run
    tools/test.sh times      the slowest tests of the last run: seconds waited, seconds computed
    tools/test.sh engines    the plug-ins in real engines alone (tools/test_engines.sh)

TENSORHUB_JOBS=N      how many things at once (default: the processors)
TENSORHUB_BASE=REV    what the branch is compared with (default: where it left origin/main; on main
                      itself, main as it was eight hours before its newest commit)

Goes on after a failure, so that one run shows all of them. What has been built, and environments
of Python, are kept, and a run that was interrupted goes on with them. Logs are in build/test.
The last line is `N passed, N failed`, counting each test program and each other step once; the
exit status is 1 if anything failed.
"""

import os
import sys

from changes import Changes
from places import Places
from report import Report
from runner import Runner
from selection import selected
from steps import steps_of
from times import print_times

MODES = ("ordinary", "full", "quick", "engines")


def usage(why):
    print(f"tools/test.sh: {why}; see tools/test.sh --help", file=sys.stderr)
    sys.exit(2)


def steps(words, places):
    mode = words[0] if words else "ordinary"
    if mode == "for":
        if len(words) < 2:
            usage("`for` needs a file")
        return selected(words[1:], places)
    if mode not in MODES or len(words) > 1:
        usage(f"there is no `{' '.join(words)}`")
    return steps_of(mode, Changes(places.root), places)


def main():
    words = sys.argv[1:]
    if words in (["-h"], ["--help"]):
        print(__doc__.split("\n\n", 1)[1].rstrip())
        return 0
    places = Places(os.getcwd())
    if words == ["times"]:
        return print_times(places)
    report = Report(places, words[0] if words else "ordinary")
    Runner(places, report).run(steps(words, places))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
