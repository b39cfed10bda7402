#!/usr/bin/env python3
# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""TLS, certificates, tokens and rights, between real processes: who is welcome works as without,
who is not hears why by name, and others go on meanwhile.

    security_test.py FOLDER-OF-THE-BINARIES
"""

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import binaries  # noqa: E402  (in the folder above)
from certificates import Authority, openssl  # noqa: E402
from driven import TestWorker  # noqa: E402  (in the folder above)

MODEL = "team/actor"
TOKEN = "a-token-that-nobody-guesses"
HERE = "DNS:localhost,IP:127.0.0.1"


def rules(*more):
    sha256 = hashlib.sha256(TOKEN.encode()).hexdigest()
    return "\n".join(["uri:spiffe://test/trainer publish team/*", "cn:reader read team/*",
                      "cn:ops admin *", f"token:robot read team/* sha256={sha256}", *more, ""])


class World:
    """The files, made once: they cost most of the test."""

    def __init__(self, folder):
        self.folder = folder
        self.ca = Authority(folder, "ca")
        self.other = Authority(folder, "other-ca")
        self.server = self.ca.issue("hub", HERE)
        self.renewed = self.ca.issue("hub-renewed", HERE)
        self.elsewhere = self.ca.issue("hub-elsewhere", "DNS:elsewhere.example")
        self.trainer = self.ca.issue("trainer", "URI:spiffe://test/trainer")
        self.reader = self.ca.issue("reader")
        self.ops = self.ca.issue("ops")
        self.ended = self.ca.issue("ended", ended=True)
        self.stranger = self.other.issue("stranger")

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        """By a rename, as operators are told to."""
        with open(self.path(name + ".new"), "w", encoding="utf-8") as file:
            file.write(text)
        os.rename(self.path(name + ".new"), self.path(name))
        return self.path(name)

    def variables(self, certificate=None, ca=None, token=None):
        """The environment of a client."""
        variables = {"TENSORHUB_TLS_CA": ca or self.ca.certificate}
        if certificate:
            variables.update(TENSORHUB_TLS_CERT=certificate[0], TENSORHUB_TLS_KEY=certificate[1])
        if token:
            variables["TENSORHUB_TOKEN_FILE"] = self.write("token", token + "\n")
        return variables


class SecurityTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.world = World(cls.enterClassContext(tempfile.TemporaryDirectory())
                          if hasattr(cls, "enterClassContext") else tempfile.mkdtemp())

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.world.folder, ignore_errors=True)

    def setUp(self):
        world = self.world
        shutil.copy(world.server[0], world.path("live.pem"))
        shutil.copy(world.server[1], world.path("live.key"))
        self.log = tempfile.TemporaryFile("w+")  # noqa: SIM115
        self.addCleanup(self.log.close)

    def serve(self, *flags, client_auth="required", tls=True):
        world = self.world
        if tls:
            flags += ("--tls-cert", world.path("live.pem"), "--tls-key", world.path("live.key"),
                      "--tls-client-auth", client_auth)
            flags += () if client_auth == "none" else ("--tls-ca", world.ca.certificate)
        self.server = subprocess.Popen(
            [binaries.path("tensorhub-server"), "--listen", "127.0.0.1:0", "--lease", "2s", *flags],
            text=True, stdout=subprocess.PIPE, stderr=self.log)
        for step in (self.server.stdout.close, self.server.wait, self.server.kill):
            self.addCleanup(step)
        self.address = self.server.stdout.readline().split()[-1]

    def worker(self, variables):
        worker = TestWorker(environment=variables)
        self.addCleanup(worker.end)
        return worker

    def do(self, worker, line):
        return worker.do(self, line)

    def refused(self, worker, line, *words):
        answer = worker.ask(line)
        self.assertTrue(answer.startswith("error"), f"{line}: {answer}")
        for word in words:
            self.assertIn(word, answer)

    def joined(self, variables, group):
        worker = self.worker(variables)
        self.do(worker, f"connect server={self.address} model={MODEL} group={group}")
        self.do(worker, "register")
        return worker

    def ctl(self, variables, *words, server=None, patience="20s"):
        return subprocess.run([binaries.path("tensorhubctl"), "--server", server or self.address,
                               "--connect-timeout", patience, *words], capture_output=True,
                              text=True, check=False, env=os.environ | variables)

    def ctl_refused(self, words, variables, *texts, server=None, patience="20s"):
        done = self.ctl(variables, *words, server=server, patience=patience)
        self.assertNotEqual(done.returncode, 0, done.stdout)
        for text in texts:
            self.assertIn(text, done.stderr)

    def no_connection(self, words, variables, *texts):
        """It is tried again until its time is over."""
        self.ctl_refused(words, variables, *texts, patience="300ms")

    def serve_both(self):
        """A trainer that has published version 1, and a reader, by the rules."""
        world = self.world
        self.serve("--access", world.write("access", rules()))
        trainer = self.joined(world.variables(world.trainer), "trainer")
        for line in ("fill 1", "publish 1"):
            self.do(trainer, line)
        return trainer, self.joined(world.variables(world.reader), "reader")

    def status(self):
        done = self.ctl(self.world.variables(self.world.ops), "status", "-o", "json")
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(done.stdout)
        return found[0] if isinstance(found, list) else found

    def eventually(self, condition, what):
        until = time.monotonic() + 15
        while not condition():
            self.assertLess(time.monotonic(), until, what)

    def test_mutual_tls_works_and_others_hear_why_not(self):
        world = self.world
        trainer, reader = self.serve_both()
        self.assertIn("version=1", self.do(reader, "fetch latest"))
        self.do(reader, "check 1")
        status = self.ctl(world.variables(world.ops), "status")
        self.assertIn("TLS, client certificates required", status.stdout)
        self.assertIn("dns:localhost", status.stdout)

        look = ("models",)
        self.no_connection(look, {}, "the server speaks TLS")
        self.no_connection(look, world.variables(), "wants a client certificate")
        self.no_connection(look, world.variables(world.reader, ca=world.other.certificate),
                           "not by an authority that is trusted here")
        self.no_connection(look, world.variables(world.stranger), "does not know the authority")
        self.ctl_refused(look, world.variables(world.ended), "ended at", world.ended[0])
        self.ctl_refused(("pin", MODEL, "1", "--name", "keep"), world.variables(world.reader),
                         "cn:reader may not admin", MODEL)
        connect = f"connect server={self.address} model={MODEL} group=x timeout=1s"
        self.refused(self.worker({}), connect, "UNAVAILABLE", "the server speaks TLS")
        self.refused(self.worker(world.variables(world.stranger)), connect, "UNAVAILABLE",
                     "does not know the authority")
        self.refused(self.worker(world.variables(world.ended)), connect, "INVALID_ARGUMENT",
                     "ended at")
        self.do(reader, "unpublish")
        self.refused(reader, "publish 2", "PERMISSION_DENIED", "cn:reader may not publish")
        self.assertIn(f'audit: PinRequest of model "{MODEL}" by cn:reader', self.server_log())
        self.assertIn(f'audit: PublishRequest of model "{MODEL}" by uri:spiffe://test/trainer',
                      self.server_log())
        foreign = self.worker(world.variables(world.trainer))
        self.refused(foreign, f"connect server={self.address} model=other/one group=g",
                     "PERMISSION_DENIED", "uri:spiffe://test/trainer may not read", "other/one")
        # Nobody lost anything by it.
        self.assertIn("version=1", self.do(reader, "fetch latest"))
        self.do(trainer, "health")

    def test_a_token_is_enough_over_tls(self):
        world = self.world
        self.serve("--access", world.write("access", rules()), client_auth="optional")
        known = self.ctl(world.variables(token=TOKEN), "models")
        self.assertEqual(known.returncode, 0, known.stderr)
        self.ctl_refused(("models",), world.variables(token="another"), "the token is not known")
        self.ctl_refused(("models",), world.variables(), "wants to know who calls")
        self.ctl_refused(("pin", MODEL, "1", "--name", "keep"), world.variables(token=TOKEN),
                         "token:robot may not admin")
        token_only = {"TENSORHUB_TOKEN_FILE": world.write("token", TOKEN)}
        self.ctl_refused(("models",), token_only, "over TLS only", server="10.0.0.1:7070")
        robot = self.joined(world.variables(token=TOKEN), "robot")
        self.refused(robot, "fetch latest timeout=1s", "NOT_FOUND")

    def test_a_server_of_another_name(self):
        world = self.world
        shutil.copy(world.elsewhere[0], world.path("live.pem"))
        shutil.copy(world.elsewhere[1], world.path("live.key"))
        self.serve(client_auth="none")
        self.no_connection(("status",), world.variables(), "dns:elsewhere.example",
                           "not of 127.0.0.1")

    def test_renewal_under_open_sessions(self):
        world = self.world
        trainer, reader = self.serve_both()
        # A key that does not fit: new connections are served by the old pair.
        shutil.copy(world.renewed[1], world.path("live.key"))
        self.server.send_signal(signal.SIGHUP)
        self.eventually(lambda: self.status()["reloads_failed"] == 1, "it was not refused")
        self.assertIn("is not the key of the certificate", self.server_log())
        # What the files say next is in force without a word from anybody.
        shutil.copy(world.renewed[0], world.path("live.pem"))
        renewed = openssl("x509", "-in", world.renewed[0], "-noout", "-serial")
        self.eventually(lambda: self.shown_serial() == renewed, "it was not put in force")
        self.assertEqual(self.status()["reloads_failed"], 1)
        self.assertIn("version=1", self.do(reader, "fetch latest"))
        # Rights that are taken away end what is open; others go on.
        world.write("access", rules().replace("cn:reader read", "cn:nobody read"))
        self.server.send_signal(signal.SIGHUP)
        self.eventually(lambda: "PERMISSION_DENIED" in reader.ask("health"), "it goes on")
        self.do(trainer, "health")
        world.write("access", "nonsense\n")
        self.server.send_signal(signal.SIGHUP)
        self.eventually(lambda: self.status()["reloads_failed"] == 2, "it was not refused")
        self.assertIn("line 1", self.server_log())
        self.do(trainer, "unpublish")

    def shown_serial(self):
        shown = subprocess.run(["openssl", "s_client", "-connect", self.address],
                               stdin=subprocess.DEVNULL, capture_output=True, text=True,
                               check=False, timeout=20).stdout
        return openssl("x509", "-noout", "-serial", input=shown)

    def server_log(self):
        self.log.seek(0)
        return self.log.read()

    def test_doctor_names_the_fault(self):
        world = self.world
        self.serve(tls=False)
        self.no_connection(("status",), world.variables(), "does not speak TLS")
        done = self.ctl(world.variables(), "doctor", "-o", "json", patience="300ms")
        found = {row["check"]: row for row in json.loads(done.stdout)["checks"]}
        self.assertEqual(found["server"]["result"], "FAILED")
        self.assertIn("does not speak TLS", found["server"]["detail"])

    def test_flags_that_contradict(self):
        world = self.world
        access = world.write("access", rules())
        for flags, text in (
                (("--access", access), "beyond the loopback"),
                (("--insecure-loopback", "--listen", "0.0.0.0:0"), "beyond the loopback"),
                (("--tls-cert", world.server[0]), "give both, or neither"),
                (("--tls-client-auth", "required"), "need TLS"),
        ):
            done = binaries.run("tensorhub-server", *flags)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(text, done.stderr)
        bad = ("--listen", "127.0.0.1:0", "--tls-cert", world.server[0], "--tls-key",
               world.renewed[1])
        done = binaries.run("tensorhub-server", *bad)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("is not the key", done.stderr)


if __name__ == "__main__":
    binaries.main()
