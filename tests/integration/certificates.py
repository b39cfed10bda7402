# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Certificates for tests, made by openssl when they are needed."""

import os
import subprocess


def openssl(*words, **options):
    return subprocess.run(["openssl", *words], check=True, capture_output=True, text=True,
                          **options).stdout


class Authority:
    """One that signs; its files are in `folder`."""

    def __init__(self, folder, name):
        self.folder = folder
        self.certificate = os.path.join(folder, f"{name}.pem")
        self.key = os.path.join(folder, f"{name}.key")
        openssl("req", "-x509", *_NEW_KEY, "-keyout", self.key, "-out", self.certificate,
                "-days", "2", "-subj", f"/CN={name}")

    def issue(self, name, alternatives="", days=1):
        """(certificate, key) of CN=name; `alternatives` as in subjectAltName; days -1: ended."""
        stem = os.path.join(self.folder, name)
        openssl("req", *_NEW_KEY, "-keyout", stem + ".key", "-subj", f"/CN={name}",
                "-out", stem + ".csr")
        extensions = f"subjectAltName={alternatives}\n" if alternatives else "\n"
        with open(stem + ".ext", "w", encoding="utf-8") as file:
            file.write(extensions)
        openssl("x509", "-req", "-in", stem + ".csr", "-CA", self.certificate, "-CAkey", self.key,
                "-CAcreateserial", "-days", str(days), "-extfile", stem + ".ext",
                "-out", stem + ".pem")
        return stem + ".pem", stem + ".key"


_NEW_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
