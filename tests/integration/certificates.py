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

    def issue(self, name, alternatives="", ended=False):
        """(certificate, key) of CN=name; `alternatives` as in subjectAltName."""
        stem = os.path.join(self.folder, name)
        openssl("req", *_NEW_KEY, "-keyout", stem + ".key", "-subj", f"/CN={name}",
                "-out", stem + ".csr")
        extensions = f"subjectAltName={alternatives}\n" if alternatives else "\n"
        with open(stem + ".ext", "w", encoding="utf-8") as file:
            file.write(extensions)
        self._sign(stem, _ENDED if ended else ("-days", "1"))
        return stem + ".pem", stem + ".key"

    def _sign(self, stem, dates):
        """By `ca`, the one command that takes dates in every OpenSSL; others refuse `-days -1`."""
        with open(stem + ".index", "w", encoding="utf-8"), \
                open(stem + ".ca", "w", encoding="utf-8") as file:
            file.write(_CA.format(stem=stem))
        openssl("ca", "-batch", "-notext", "-config", stem + ".ca", *dates,
                "-cert", self.certificate, "-keyfile", self.key, "-in", stem + ".csr",
                "-extfile", stem + ".ext", "-outdir", self.folder, "-out", stem + ".pem")


_NEW_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
_ENDED = ("-startdate", "20200101000000Z", "-enddate", "20200102000000Z")
_CA = """[ca]
default_ca = one
[one]
database = {stem}.index
rand_serial = yes
default_md = sha256
policy = any
email_in_dn = no
unique_subject = no
[any]
commonName = supplied
"""
