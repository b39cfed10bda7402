#!/usr/bin/env python3
# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""What happens to the servers of a hub when etcd is in trouble: nothing is lost, nothing is decided
twice, and work goes on once etcd does.

    etcd_outage_test.py FOLDER-OF-THE-BINARIES
"""

import os
import re
import signal
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from several_servers import (PREFIX, Server, SeveralServersTest, binaries,  # noqa: E402
                             eventually)
from certificates import Authority  # noqa: E402  (a folder above)


class OutageTest(SeveralServersTest):
    def setUp(self):
        super().setUp()
        self.trainer = self.worker("trainer")
        self.rollout = self.worker("rollout")
        self.trainer.publish(1)
        self.rollout.fetch("latest", 1)

    def publish_without_etcd(self):
        """Cannot be decided before etcd is back."""
        self.trainer.do("unpublish")
        self.trainer.do("fill 2")
        self.trainer.send("publish 2 wait=1 timeout=120000")
        try:
            eventually(lambda: any("a commit waits for etcd" in server.log()
                                   for server in self.servers), "a commit that waits")
        except AssertionError as problem:
            logs = "\n".join(server.log() for server in self.servers)
            raise AssertionError(f"{problem}; the servers said:\n{logs}") from None

    def check_that_it_was_published(self):
        self.assertTrue(self.trainer.answer().startswith("ok"))
        self.rollout.fetch("newer=1", 2)
        self.worker("late").fetch("latest", 2)
        self.check_epochs()

    @staticmethod
    def shows(address, role):
        shown = binaries.run("tensorhubctl", "--server", address, "status")
        return re.search(rf"Role: +{role}\n", shown.stdout) is not None

    def check_that_doubt_is_told(self):
        """By who leads; the other one stands by."""
        leader = self.leading()
        for server in self.servers:
            words = "leader, in doubt" if server is leader else "standby"
            eventually(lambda at=server.address, said=words: self.shows(at, said), words)

    def test_all_members_are_killed_and_come_back(self):
        for member in self.members:
            member.kill()
            member.wait()
        self.publish_without_etcd()
        self.members = [self.start_member(index) for index in range(self.MEMBERS)]
        self.check_that_it_was_published()

    def test_there_is_no_quorum_for_longer_than_the_lease(self):
        for member in self.members[:2]:
            member.kill()
            member.wait()
        eventually(lambda: any("another server may lead by now" in server.log()
                               for server in self.servers), "doubt")
        self.check_that_doubt_is_told()
        self.publish_without_etcd()
        self.members[:2] = [self.start_member(index) for index in range(2)]
        self.check_that_it_was_published()

    def test_all_members_stand_still(self):
        """Leases may end in that time: then the next epoch begins."""
        for member in self.members:
            member.send_signal(signal.SIGSTOP)
        self.publish_without_etcd()
        for member in self.members:
            member.send_signal(signal.SIGCONT)
        eventually(lambda: self.leading() is not None, "a leader")
        self.check_that_it_was_published()


class QuotaTest(SeveralServersTest):
    MEMBERS = 1
    ETCD_FLAGS = ("--quota-backend-bytes", str(4 << 20))

    def test_etcd_has_no_room(self):
        trainer = self.worker("trainer")
        trainer.publish(1)
        filler = "x" * (100 << 10)
        for number in range(100):
            if self.etcdctl("put", f"filler/{number}", filler).returncode != 0:
                break
        self.assertIn("NOSPACE", self.etcdctl("alarm", "list").stdout)
        trainer.do("unpublish")
        trainer.do("fill 2")
        trainer.send("publish 2 wait=1 timeout=120000")
        eventually(lambda: any("database space exceeded" in server.log()
                               for server in self.servers), "etcd's refusal")
        self.assertEqual(self.etcdctl("del", "--prefix", "filler/").returncode, 0)
        revision = self.etcdctl("get", PREFIX + "/id", "-w", "json").stdout
        revision = revision.split('"revision":')[1].split(",")[0].split("}")[0]
        for words in (("compact", revision), ("defrag",), ("alarm", "disarm")):
            done = self.etcdctl(*words)
            self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(trainer.answer().startswith("ok"))
        self.worker("late").fetch("latest", 2)
        self.check_epochs()


class RefusedTest(SeveralServersTest):
    MEMBERS = 1
    SERVERS = 1

    def refused(self, *flags):
        listen = () if "--listen" in flags else ("--listen", "127.0.0.1:0")
        done = binaries.run("tensorhub-server", *listen, *flags)
        self.assertNotEqual(done.returncode, 0)
        return done.stderr

    def place(self, prefix):
        return f"etcd://127.0.0.1:{self.etcd_ports[0]}/{prefix}"

    def test_places_that_are_not_this_hubs(self):
        self.etcdctl("put", "registry/pods/a", "x")
        self.assertIn("no hub's", self.refused("--store", self.place("registry")))
        self.assertIn("inside the prefix of another hub",
                      self.refused("--store", self.place(PREFIX + "/more")))
        self.etcdctl("put", "newer/id", "tensorhub 00000000000000010000000000000002")
        self.etcdctl("put", "newer/schema", "99")
        self.assertIn("has schema 99", self.refused("--store", self.place("newer")))

    def test_a_member_whose_certificate_has_ended(self):
        authority = Authority(self.folder, "authority")
        certificate, key = authority.issue("etcd", "IP:127.0.0.1", ended=True)
        self.end_members()
        self.members = [self.start_member(0, scheme="https", flags=(
            "--cert-file", certificate, "--key-file", key))]
        server = Server(self.folder, "tls", self.etcd_ports, "2s", proxied=False)
        server.words += ["--store-tls-ca", authority.certificate]
        self.servers.append(server.start())
        eventually(lambda: "has ended (its own does at" in server.log(), "the reason")

    def test_flags_that_contradict_each_other(self):
        etcd = ("--store", self.place("x"))
        for flags, what in (
                ((*etcd, "--data-dir", self.folder), "--data-dir"),
                ((*etcd, "--listen", "0.0.0.0:0"), "--advertise"),
                ((*etcd, "--advertise", "[::]:7070"), "--advertise"),
                ((*etcd, "--leader-lease", "1s"), "--leader-lease"),
                ((*etcd, "--leader-lease", "2500ms"), "--leader-lease"),
                ((*etcd, "--store-tls-cert", "x"), "--store-tls-key"),
                (("--advertise", "h:1"), "--advertise"),
                (("--hub-name", "h"), "--hub-name"),
                ((*etcd, "--hub-name", "a b"), "--hub-name"),
                (("--store", "sqlite", "--leader-lease", "3s"), "--leader-lease"),
                (("--store", "etcd://h:1"), "names no prefix")):
            self.assertIn(what, self.refused(*flags), flags)
        self.assertIn("absent.pem", self.refused(*etcd, "--store-tls-ca", "absent.pem"))


if __name__ == "__main__":
    binaries.main()
