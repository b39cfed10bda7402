#!/usr/bin/env python3
# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""The binaries in surroundings as supervisors, terminals and containers give them.

    surroundings_test.py FOLDER-OF-THE-BINARIES
"""

import json
import os
import resource
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import binaries  # noqa: E402  (in the folder above)

TIMEOUT = 30
PUBLISHED = "published"


def write_safetensors(path, name, size=64):
    header = json.dumps({name: {"dtype": "U8", "shape": [size],
                                "data_offsets": [0, size]}}).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(header)) + header + name.encode().ljust(size))


# A network whose DNS server is silent, and a name that /etc/hosts has an IPv4 address for.
SILENT_DNS = """
set -e
mount --make-rprivate /
ip link set lo up
ip link add d0 type veth peer name d1
ip link set d1 up
ip addr add 10.99.0.1/24 dev d0
ip link set d0 up
ip neigh add 10.99.0.53 lladdr 02:00:00:00:00:01 dev d0
echo 127.0.0.1 hub.example > hosts
echo nameserver 10.99.0.53 > resolv
mount --bind hosts /etc/hosts
mount --bind resolv /etc/resolv.conf
"$1" --listen 127.0.0.1:7071 2> /dev/null &
trap 'kill $!' EXIT
for name in tool worker; do
  if [ $name = tool ]; then verb=status; else verb="publish m 1 in --for 1ms"; fi
  "$2" --server hub.example:7071 $verb
done
"""


class SurroundingsTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.model = os.path.join(self.folder, "in")
        os.mkdir(self.model)

    def start(self, *words, **how):
        process = subprocess.Popen([binaries.path(words[0]), *words[1:]], text=True,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, **how)
        for step in (process.stderr.close, process.stdout.close, process.wait, process.kill):
            self.addCleanup(step)
        return process

    def serve(self, *words, listen="127.0.0.1:0", **how):
        self.server = self.start("tensorhub-server", "--listen", listen, *words, **how)
        self.address = self.server.stdout.readline().split()[-1]

    def publish(self, *words, **how):
        process = self.start("tensorhubctl", "--server", self.address, "publish", "m", "1",
                             self.model, *words, **how)
        line = process.stdout.readline()
        self.assertTrue(line.startswith(PUBLISHED), line or process.stderr.read())
        return process

    def fetch(self, into, **how):
        words = ("--server", self.address, "fetch", "m", "1", os.path.join(self.folder, into))
        run = subprocess.run([binaries.path("tensorhubctl"), *words], text=True, check=False,
                             capture_output=True, timeout=TIMEOUT, **how)
        self.assertEqual(run.returncode, 0, run.stderr)

    def test_a_program_started_without_standard_streams_has_null_ones(self):
        if os.environ.get("TENSORHUB_SANITIZE"):
            # What has to come before gRPC's own descriptors would come before the sanitizers, too.
            print("skipped: null standard streams: not in a sanitizer build")
            self.skipTest("a sanitizer build")
        write_safetensors(os.path.join(self.model, "model.safetensors"), "w")
        data = os.path.join(self.folder, "data")
        self.serve("--data-dir", data, "--log-level", "debug",
                   preexec_fn=lambda: (os.close(0), os.close(2)))
        publisher = self.publish(preexec_fn=lambda: os.close(0),
                                 env={**os.environ, "TENSORHUB_LOG_LEVEL": "debug"})
        for process, closed in ((self.server, (0, 2)), (publisher, (0,))):
            for fd in closed:
                self.assertEqual(os.readlink(f"/proc/{process.pid}/fd/{fd}"), "/dev/null")
        self.fetch("out", preexec_fn=lambda: (os.close(0),))
        self.assertEqual(os.path.getsize(os.path.join(data, "LOCK")), 0)

    def test_more_shards_than_files_that_may_be_open(self):
        for shard in range(1, 101):
            write_safetensors(os.path.join(self.model, f"m-{shard:05}-of-00100.safetensors"),
                              f"w{shard}")
        self.serve()
        few = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (96, 96))}
        publisher = self.publish(**few)
        open_files = [os.readlink(entry.path) for entry in
                      os.scandir(f"/proc/{publisher.pid}/fd") if os.path.lexists(entry.path)]
        self.assertEqual([name for name in open_files if name.startswith(self.folder)], [])
        self.fetch("out", **few)
        self.assertEqual(len(os.listdir(os.path.join(self.folder, "out"))), 100)

    def test_a_terminal_that_goes_ends_tools_and_not_daemons(self):
        write_safetensors(os.path.join(self.model, "model.safetensors"), "w")
        self.serve()
        agent = self.start("tensorhub-agent", "--server", self.address, "--model", "m")
        publisher = self.publish()
        ignoring = self.publish("--group", "nohup",
                                preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        self.assertIn("holding", agent.stdout.readline())
        for process in (self.server, agent, ignoring, publisher):
            process.send_signal(signal.SIGHUP)
        self.assertEqual(publisher.wait(TIMEOUT), 0)
        self.assertEqual([self.server.poll(), agent.poll(), ignoring.poll()], [None] * 3)

    def test_the_librarys_users_have_their_signals(self):
        worker = self.start("tensorhub-test-worker")
        with open(f"/proc/{worker.pid}/status", encoding="ascii") as status:
            caught = next(line for line in status if line.startswith("SigCgt")).split()[1]
        self.assertEqual(int(caught, 16) >> (signal.SIGHUP - 1) & 1, 0, "UCX has taken SIGHUP")

    def test_settings_of_ucx_that_are_there_for_others(self):
        """NIXL's and MPI's, which TensorHub would not live with: of one side, of both."""
        write_safetensors(os.path.join(self.model, "w.safetensors"), "w", 1 << 20)
        self.serve()
        for number, others in enumerate((
                {"UCX_TCP_RX_SEG_SIZE": "8k", "UCX_TCP_TX_SEG_SIZE": "512"},
                {"UCX_TCP_TX_SEG_SIZE": "1m", "UCX_TCP_PUT_ENABLE": "y"},
                {"UCX_RNDV_THRESH": "1k", "UCX_KEEPALIVE_INTERVAL": "inf", "UCX_TCP_CONN_NB": "n"},
                {"UCX_TLS": "posix,self", "UCX_POSIX_SEG_SIZE": "1m", "UCX_POSIX_FIFO_SIZE": "8"})):
            ways = {"UCX_TLS": "tcp,self", **os.environ}
            changed = {**ways, **others}
            if "UCX_TLS" in others:
                ways["UCX_TLS"] = others["UCX_TLS"]
            for side, (mine, theirs) in enumerate(((ways, changed), (changed, ways),
                                                   (changed, changed))):
                publisher = self.publish(env=mine)
                self.fetch(f"out-{number}-{side}", env=theirs)
                publisher.terminate()
                self.assertEqual(publisher.wait(TIMEOUT), 0)

    def end_of_limited_server(self, limit, number, **how):
        """Its exit code and what it said; told to end once it listens."""
        server = self.start("tensorhub-server", "--listen", "127.0.0.1:0", "--log-level", "warn",
                            preexec_fn=lambda: resource.setrlimit(limit, (number, number)), **how)
        if server.stdout.readline():
            server.terminate()
        return server.wait(TIMEOUT), server.stderr.read().splitlines()

    def check_limit(self, limit, numbers, word, **how):
        codes = []
        for number in numbers:
            code, lines = self.end_of_limited_server(limit, number, **how)
            codes.append(code)
            if code:
                self.assertEqual((code, len(lines)), (1, 1), (number, lines))
                self.assertIn(word, lines[0])
        self.assertEqual(codes, sorted(codes, reverse=True), "where a lower one was enough")
        self.assertEqual((codes[0], codes[-1]), (1, 0))

    def test_a_server_without_address_space_says_so_and_ends(self):
        if os.environ.get("TENSORHUB_SANITIZE"):
            print("skipped: limits of address space: sanitizers need terabytes of it")
            self.skipTest("a sanitizer build")
        self.check_limit(resource.RLIMIT_AS,
                         [mib << 20 for mib in (60, 100, 150, 200, 300, 400, 600, 1000, 4000)],
                         "ulimit -v")

    def test_a_server_without_threads_says_so_and_ends(self):
        # The leak sanitizer looks from a process of its own, which the limit forbids.
        options = f"{os.environ.get('ASAN_OPTIONS', '')}:detect_leaks=0"
        nobody = {"user": 65534, "group": 65534, "extra_groups": [],
                  "env": {**os.environ, "ASAN_OPTIONS": options}}
        try:
            subprocess.run([binaries.path("tensorhub-server"), "--help"], check=True,
                           capture_output=True, **nobody)
        except (OSError, subprocess.SubprocessError):
            print("skipped: limits of threads: needs root, who becomes somebody else")
            self.skipTest("needs root, and binaries that all may read")
        self.check_limit(resource.RLIMIT_NPROC, (1, 2, 4, 6, 8, 12, 16, 1000), "ulimit -u",
                         **nobody)

    def test_a_name_that_only_etc_hosts_knows(self):
        if subprocess.run(["unshare", "-nm", "true"], check=False, capture_output=True).returncode:
            print("skipped: namespaces need root", file=sys.stderr)
            self.skipTest("namespaces need root")
        write_safetensors(os.path.join(self.model, "w.safetensors"), "w")
        run = subprocess.run(["unshare", "-nm", "bash", "-c", SILENT_DNS, "-",
                              os.path.abspath(binaries.path("tensorhub-server")),
                              os.path.abspath(binaries.path("tensorhubctl"))],
                             cwd=self.folder, check=False, text=True, capture_output=True,
                             timeout=TIMEOUT)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("published m", run.stdout)

    def test_an_agent_says_that_its_server_is_away(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
        agent = self.start("tensorhub-agent", "--server", f"127.0.0.1:{port}", "--model", "m",
                           "--connect-timeout", "200ms")
        self.assertIn("is not reached", agent.stderr.readline())
        self.start("tensorhub-server", "--listen", f"127.0.0.1:{port}")
        self.assertIn("is back", agent.stderr.readline())

    def test_an_agent_keeps_a_versions_files_for_a_server_that_restarts(self):
        write_safetensors(os.path.join(self.model, "w.safetensors"), "w")
        with open(os.path.join(self.model, "config.json"), "w", encoding="ascii") as file:
            file.write("{}")
        self.serve("--lease", "500ms")
        publisher = self.publish()
        agent = self.start("tensorhub-agent", "--server", self.address, "--model", "m")
        self.assertIn("holding", agent.stdout.readline())
        for process in (publisher, self.server):
            process.terminate()
            self.assertEqual(process.wait(TIMEOUT), 0)
        self.serve("--lease", "500ms", listen=self.address)
        until = time.monotonic() + TIMEOUT
        while "/0 joined" not in self.server.stderr.readline():
            self.assertLess(time.monotonic(), until)
        self.fetch("out")
        self.assertEqual(sorted(os.listdir(os.path.join(self.folder, "out"))),
                         ["config.json", "w.safetensors"])


if __name__ == "__main__":
    binaries.main()
