#!/usr/bin/env python3
# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""What happens when the server that leads ends, stops, or is cut off: another one leads, with one
epoch per leader, no mark is lost, and workers follow.

    failover_test.py FOLDER-OF-THE-BINARIES
"""

import os
import signal
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from several_servers import (MODEL, PATIENCE, SeveralServersTest, binaries,  # noqa: E402
                             eventually)


class FailoverTest(SeveralServersTest):
    def setUp(self):
        super().setUp()
        self.trainer = self.worker("trainer")
        self.rollout = self.worker("rollout")
        self.trainer.publish(1)
        self.rollout.fetch("latest", 1)
        self.first = self.leading()

    def check_that_work_goes_on(self, leader):
        """With the workers from before, and one that comes now."""
        self.rollout.fetch("latest", 1)
        self.trainer.do("unpublish")
        self.trainer.publish(2)
        self.rollout.fetch("newer=1", 2)
        self.worker("late").fetch("latest", 2)
        self.assertIs(self.leading(), leader)
        self.check_epochs()
        listed = binaries.run("tensorhubctl", "--server", self.addresses(), "versions", MODEL)
        self.assertEqual(listed.returncode, 0, listed.stderr)
        self.assertIn("2", listed.stdout)

    def test_told_to_end(self):
        self.first.signal(signal.SIGTERM)
        leader = self.await_another(self.first)
        self.assertEqual(self.first.process.wait(PATIENCE), 0)
        self.check_that_work_goes_on(leader)

    def test_killed(self):
        self.first.signal(signal.SIGKILL)
        self.check_that_work_goes_on(self.await_another(self.first))

    def test_killed_again_and_again(self):
        for _ in range(3):
            leader = self.leading()
            leader.signal(signal.SIGKILL)
            leader.process.wait(PATIENCE)
            self.await_another(leader)
            leader.start()
        self.check_that_work_goes_on(self.leading())

    def test_stopped(self):
        """What goes on later does not know that it was replaced: it keeps nothing, and ends."""
        self.first.signal(signal.SIGSTOP)
        leader = self.await_another(self.first)
        self.check_that_work_goes_on(leader)
        self.first.signal(signal.SIGCONT)
        self.assertEqual(self.first.process.wait(PATIENCE), 1)
        self.assertIn("does not lead any more", self.first.log())
        self.check_epochs()

    def test_cut_off_from_etcd(self):
        """Its agents leave it, although it answers them."""
        self.first.cut_from_etcd()
        leader = self.await_another(self.first)
        eventually(lambda: "another server may lead by now" in self.first.log(), "its doubt")
        self.check_that_work_goes_on(leader)
        self.assertIsNone(self.first.process.poll())
        self.first.mend()
        self.assertEqual(self.first.process.wait(PATIENCE), 1)
        self.check_epochs()

    def test_etcds_leader_is_killed_with_it(self):
        for member in self.members[:1]:
            member.kill()
            member.wait()
        self.first.signal(signal.SIGKILL)
        leader = self.await_another(self.first)
        self.members[0] = self.start_member(0)
        self.check_that_work_goes_on(leader)

    def test_cut_off_from_its_agents(self):
        """It leads on, and nobody else does: they come back to it."""
        self.first.from_agents.cut()
        listed = binaries.run("tensorhubctl", "--server", f"127.0.0.1:{self.first.port}", "models")
        self.assertEqual(listed.returncode, 0, listed.stderr)
        self.first.from_agents.mend()
        self.check_that_work_goes_on(self.first)


class ProofTest(SeveralServersTest):
    """A lease that nobody would wait for."""

    LEASE = "60s"
    PROXIED = False

    def await_watch(self, leader):
        """Of a leader that no other server has reached there is no proof of death."""
        line = f"the server at {leader.address} is watched"
        others = [server for server in self.servers if server is not leader]
        eventually(lambda: any(line in server.log() for server in others), line)

    def test_a_dead_leaders_lease_is_not_waited_for(self):
        trainer = self.worker("trainer")
        trainer.publish(1)
        first = self.leading()
        self.await_watch(first)
        first.signal(signal.SIGKILL)
        leader = self.await_another(first)
        self.assertIn("is dead: its lease is not waited for", leader.log())
        self.worker("late").fetch("latest", 1)
        self.check_epochs()


if __name__ == "__main__":
    binaries.main()
