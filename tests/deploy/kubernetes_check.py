#!/usr/bin/env python3
# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""What deploy/kubernetes renders is valid, and fits the programs. No cluster is asked.

    kubernetes_check.py BIN     the folder with tensorhub-server and tensorhub-agent

Needs `kubectl` and the package `kubernetes-validate` (tools/check_deploy.sh brings both).
"""

import pathlib
import re
import subprocess
import sys
import unittest

import kubernetes_validate
import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2] / "deploy" / "kubernetes"
KUSTOMIZATIONS = sorted(path.parent for path in ROOT.rglob("kustomization.yaml"))
# An old one that is still met, and a recent one.
KUBERNETES = ("1.27", "1.33")
# Of others' makers, whose schemas are not here.
FOREIGN = {"cert-manager.io/v1", "kustomize.config.k8s.io/v1beta1"}

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


class KubernetesTest(unittest.TestCase):
    def test_there_is_something_to_check(self):
        self.assertGreaterEqual(len(KUSTOMIZATIONS), 4)

    def test_all_documents_fit_the_schemas(self):
        for where, document in everything():
            if document["apiVersion"] in FOREIGN:
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
