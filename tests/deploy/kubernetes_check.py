#!/usr/bin/env python3
# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""What deploy/kubernetes renders is valid, and fits the programs. No cluster is asked.

    kubernetes_check.py BIN     the folder with tensorhub-server and tensorhub-agent

Needs `kubectl` and the package `kubernetes-validate` (tools/check_deploy.sh brings both). With
TENSORHUB_REWRITE=1, the alerts of overlays/monitoring are written anew from deploy/prometheus.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import unittest

import jsonschema
import kubernetes_validate
import yaml

TOP = pathlib.Path(__file__).resolve().parents[2]
ROOT = TOP / "deploy" / "kubernetes"
SCHEMAS = TOP / "tests" / "deploy" / "schemas"
ALERTS = [TOP / "deploy" / "prometheus" / name for name in ("rules.yml", "rules_workers.yml")]
KUSTOMIZATIONS = sorted(path.parent for path in ROOT.rglob("kustomization.yaml"))
# An old one that is still met, and a recent one.
KUBERNETES = ("1.27", "1.33")
# Of others' makers, whose schemas are not here.
FOREIGN = {"cert-manager.io/v1", "kustomize.config.k8s.io/v1beta1"}
# Of others' makers, with a schema of what is used in tests/deploy/schemas.
OPERATOR = "monitoring.coreos.com/v1"

bin_folder = ""


def rendered(folder):
    text = subprocess.run(
        ["kubectl", "kustomize", str(folder)], check=True, capture_output=True, text=True
    ).stdout
    return list(yaml.safe_load_all(text))


def everything():
    """Each document with where it is from."""
    for folder in KUSTOMIZATIONS:
        for document in rendered(folder):
            yield str(folder.relative_to(ROOT)), document
    for path in sorted((ROOT / "examples").glob("*.yaml")):
        for document in yaml.safe_load_all(path.read_text(encoding="utf-8")):
            yield str(path.relative_to(ROOT)), document


def pods():
    for where, document in everything():
        if "template" in document.get("spec", {}):
            yield where, document["spec"]["template"]["spec"]


def flags_of(program):
    """By name, as --help lists them."""
    text = subprocess.run(
        [f"{bin_folder}/{program}", "--help"], check=True, capture_output=True, text=True
    ).stdout
    return set(re.findall(r"--([a-z][a-z-]*)", text))


def alerts_of_operator():
    """The alerts of deploy/prometheus as one PrometheusRule, comments and all."""
    lines = ["# Copyright 2026 The TensorHub Authors.", "# SPDX-License-Identifier: Apache-2.0",
             "#", "# Written from deploy/prometheus by tests/deploy/kubernetes_check.py.",
             f"apiVersion: {OPERATOR}", "kind: PrometheusRule", "metadata:", "  name: tensorhub",
             "spec:", "  groups:"]
    for path in ALERTS:
        text = path.read_text(encoding="utf-8")
        lines += [f"  {line}" for line in text[text.index("groups:\n"):].splitlines()[1:]]
    return "\n".join(lines) + "\n"


class KubernetesTest(unittest.TestCase):
    def test_there_is_something_to_check(self):
        self.assertGreaterEqual(len(KUSTOMIZATIONS), 4)

    def test_all_documents_fit_the_schemas(self):
        for where, document in everything():
            if document["apiVersion"] in FOREIGN:
                continue
            if document["apiVersion"] == OPERATOR:
                with self.subTest(where=where, kind=document["kind"]):
                    schema = (SCHEMAS / f"{document['kind']}.json").read_text(encoding="utf-8")
                    jsonschema.validate(document, json.loads(schema))
                continue
            for version in KUBERNETES:
                with self.subTest(where=where, kind=document["kind"], kubernetes=version):
                    kubernetes_validate.validate(document, version, strict=True)

    def test_programs_know_the_flags(self):
        seen = 0
        for where, pod in pods():
            for container in pod["containers"]:
                if not container["image"].startswith("tensorhub-"):
                    continue
                known = flags_of(container["image"].split(":")[0])
                for argument in container["args"]:
                    seen += 1
                    with self.subTest(where=where, argument=argument):
                        self.assertIn(argument.removeprefix("--").split("=")[0], known)
        self.assertGreater(seen, 10)

    def test_the_agents_configuration_has_its_flags(self):
        known = flags_of("tensorhub-agent")
        text = (ROOT / "agent" / "agent.conf").read_text(encoding="utf-8")
        names = re.findall(r"^([a-z-]+) =", text, re.MULTILINE)
        self.assertGreater(len(names), 2)
        self.assertLessEqual(set(names), known)

    def test_what_is_mounted_is_there(self):
        for where, document in everything():
            spec = document.get("spec", {})
            if "template" not in spec:
                continue
            pod = spec["template"]["spec"]
            claims = [claim["metadata"]["name"] for claim in spec.get("volumeClaimTemplates", [])]
            volumes = {volume["name"] for volume in pod.get("volumes", [])} | set(claims)
            for container in pod["containers"]:
                mounted = {mount["name"] for mount in container.get("volumeMounts", [])}
                with self.subTest(where=where):
                    self.assertEqual(mounted, volumes)

    def test_ports_agree(self):
        for where, document in everything():
            if document["kind"] == "StatefulSet":
                container = document["spec"]["template"]["spec"]["containers"][0]
                ports = {port["name"]: port["containerPort"] for port in container["ports"]}
                listen = [each for each in container["args"] if each.startswith("--listen=")]
                with self.subTest(where=where):
                    self.assertEqual(listen[0].rsplit(":", 1)[1], str(ports["grpc"]))
                    self.assertEqual(document["spec"]["serviceName"], "tensorhub")

    def test_the_operators_alerts_are_those_of_prometheus(self):
        path = ROOT / "overlays" / "monitoring" / "rules.yaml"
        text = alerts_of_operator()
        if os.environ.get("TENSORHUB_REWRITE"):
            path.write_text(text, encoding="utf-8")
        self.assertEqual(path.read_text(encoding="utf-8"), text)
        groups = [group for file in ALERTS
                  for group in yaml.safe_load(file.read_text(encoding="utf-8"))["groups"]]
        self.assertGreater(len(groups), 2)
        self.assertEqual(yaml.safe_load(text)["spec"]["groups"], groups)

    def test_what_is_scraped_has_the_port_and_the_labels(self):
        documents = rendered(ROOT / "overlays" / "monitoring")
        monitors = [each["spec"] for each in documents if each["kind"] == "PodMonitor"]
        scraped = set()
        for name, template in ((each["metadata"]["name"], each["spec"]["template"])
                               for each in documents if "template" in each.get("spec", {})):
            ports = {port["name"] for container in template["spec"]["containers"]
                     for port in container.get("ports", [])}
            for monitor in monitors:
                wanted = monitor["selector"]["matchLabels"].items()
                if wanted <= template["metadata"]["labels"].items():
                    self.assertLessEqual({each["port"] for each in monitor["podMetricsEndpoints"]},
                                         ports, name)
                    scraped.add(name)
        self.assertEqual(scraped, {"tensorhub-server", "tensorhub-agent"})

    def test_containers_have_no_rights_that_they_do_not_need(self):
        for where, pod in pods():
            for container in pod["containers"]:
                if not container["image"].startswith("tensorhub-"):
                    continue
                with self.subTest(where=where, container=container["name"]):
                    security = container["securityContext"]
                    self.assertFalse(security["allowPrivilegeEscalation"])
                    self.assertTrue(security["readOnlyRootFilesystem"])
                    self.assertEqual(security["capabilities"]["drop"], ["ALL"])
                    self.assertTrue(pod["securityContext"]["runAsNonRoot"])

    def test_the_example_is_a_program(self):
        path = ROOT / "examples" / "rollout.py"
        compile(path.read_text(encoding="utf-8"), str(path), "exec")


if __name__ == "__main__":
    bin_folder = sys.argv.pop(1)
    unittest.main()
