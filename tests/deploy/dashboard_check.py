# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""The Grafana dashboard and the alerts: they ask for metrics and labels that there are.

docs/metrics.md is held to live scrapes by metrics_test, so they are held to that page. promtool
holds the alerts to PromQL, and this the dashboard.
usage: dashboard_check.py DASHBOARD METRICS.md RULES...
"""

import json
import re
import subprocess
import sys
import tempfile

LABELS = {"instance", "job", "model", "tier", "way", "code", "phase", "outcome", "call", "le"}
METRIC = re.compile(r"\btensorhub_[a-z_]+")


def queries(dashboard):
    """Of panels, variables and annotations, with where each stands."""
    for panel in dashboard["panels"]:
        for target in panel.get("targets", []):
            yield f"panel {panel['title']!r}", target["expr"]
    for annotation in dashboard["annotations"]["list"]:
        yield f"annotation {annotation['name']!r}", annotation["expr"]


def alerts(path):
    """Expressions, with where each stands. A rule has its expression on one line."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    for name, expression in re.findall(r"- alert: (\w+)\n +expr: (.*)", text):
        yield f"{path}, {name}", expression


def metrics_of(page):
    named = re.findall(r"^\| `(tensorhub_[a-z_]+)` \| ([a-z]+)", page, re.MULTILINE)
    series = {f"{name}_bucket" for name, kind in named if kind == "histogram"}
    return series | {name for name, _ in named}


def problems_of_queries(asked, known):
    for place, expression in asked:
        names = set(METRIC.findall(expression))
        if not names and not re.match(r"up\{", expression):
            yield f"{place} asks for no metric"
        for name in sorted(names - known):
            yield f"{place}: there is no metric {name}"
        for label in re.findall(r"([a-z_]+)\s*[!=][=~]?\s*\"", expression):
            if label not in LABELS:
                yield f"{place}: no metric has the label {label}"
        for labels in re.findall(r"\b(?:by|without) \(([a-z_, ]+)\)", expression):
            for label in labels.split(","):
                if label.strip() not in LABELS:
                    yield f"{place}: no metric has the label {label.strip()}"


def problems_of_panels(dashboard):
    panels = dashboard["panels"]
    if len({panel["id"] for panel in panels}) != len(panels):
        yield "two panels have one id"
    cells = {}
    for panel in panels:
        grid = panel["gridPos"]
        if panel["type"] != "row" and not panel["description"]:
            yield f"panel {panel['title']!r} does not say what it shows"
        for x in range(grid["x"], grid["x"] + grid["w"]):
            for y in range(grid["y"], grid["y"] + grid["h"]):
                if x >= 24 or (x, y) in cells:
                    yield f"panel {panel['title']!r} has no room at {x}, {y}"
                    return
                cells[x, y] = panel["title"]


def problems_of_variables(dashboard):
    named = {variable["name"] for variable in dashboard["templating"]["list"]}
    used = set(re.findall(r"\$\{?([a-z]+)\}?", json.dumps(dashboard)))
    yield from (f"${name} is not a variable" for name in sorted(used - named))


def is_promql(expressions):
    """By promtool, as recording rules."""
    rules = [{"record": f"check:{number}", "expr": re.sub(r"\$[a-z]+", ".*", expression)}
             for number, expression in enumerate(expressions)]
    document = {"groups": [{"name": "dashboard", "rules": rules}]}
    with tempfile.NamedTemporaryFile("w", suffix=".yml") as file:
        json.dump(document, file)  # JSON is YAML
        file.flush()
        checked = subprocess.run(["promtool", "check", "rules", file.name], check=False)
        return checked.returncode == 0


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        dashboard = json.load(file)
    with open(sys.argv[2], encoding="utf-8") as file:
        known = metrics_of(file.read())
    ruled = [rule for path in sys.argv[3:] for rule in alerts(path)]
    problems = [*problems_of_queries([*queries(dashboard), *ruled], known),
                *problems_of_panels(dashboard), *problems_of_variables(dashboard)]
    if len(ruled) < 10:
        problems.append(f"only {len(ruled)} alerts were found")
    if not known:
        problems.append(f"{sys.argv[2]} has no table of metrics")
    if not is_promql([expression for _, expression in queries(dashboard)]):
        problems.append("promtool does not take a query")
    shown = {name for _, expression in queries(dashboard) for name in METRIC.findall(expression)}
    print(f"{sys.argv[1]}: {len(dashboard['panels'])} panels, {len(shown)} of {len(known)} metrics",
          f"{len(ruled)} alerts", sep=", ")
    for problem in problems:
        print(f"{sys.argv[1]}: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
