# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Members of a real etcd, servers of one hub, their workers, and what can be done to them."""

import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
import binaries  # noqa: E402  (two folders above)
from driven import TestWorker  # noqa: E402

ETCD = "/usr/bin/etcd"
MODEL = "team/actor"
PREFIX = "hubs/test"
PATIENCE = 60
TOLD = 25  # lines of each log, where a test failed


def free_port():
    """Not one of those that the system gives to connections: one of these could have it by the time
    it is listened at, for the first time or again."""
    while True:
        port = random.randrange(20000, 32000)
        with socket.socket() as one:
            try:
                one.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port


def eventually(condition, what, patience=PATIENCE):
    until = time.monotonic() + patience
    while not condition():
        if time.monotonic() > until:
            raise AssertionError(f"never came: {what}")
        time.sleep(0.02)


class Proxy:
    """A way to a port that can be cut: what is sent stays unanswered, in both directions."""

    def __init__(self, port):
        self.to = port
        self.open = threading.Event()
        self.open.set()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self):
        self.open.clear()

    def mend(self):
        self.open.set()

    def close(self):
        self.mend()
        self.listener.close()

    def _accept(self):
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(near,), daemon=True).start()

    def _serve(self, near):
        self.open.wait()
        try:
            far = socket.create_connection(("127.0.0.1", self.to))
        except OSError:
            near.close()
            return
        threading.Thread(target=self._copy, args=(far, near), daemon=True).start()
        self._copy(near, far)

    def _copy(self, source, sink):
        try:
            while data := source.recv(1 << 16):
                self.open.wait()
                sink.sendall(data)
        except OSError:
            pass
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        source.close()


class Server:
    """A process of tensorhub-server with ways of its own to etcd, and one from its agents, who may
    also reach it without a proxy: only then its port is refused when it is dead."""

    def __init__(self, folder, name, etcd_ports, lease, proxied):
        self.to_etcd = [Proxy(port) for port in etcd_ports]
        self.port = free_port()
        self.from_agents = Proxy(self.port)
        self.address = self.from_agents.address if proxied else f"127.0.0.1:{self.port}"
        self.log_path = os.path.join(folder, f"{name}.log")
        place = ",".join(proxy.address for proxy in self.to_etcd)
        self.words = [binaries.path("tensorhub-server"), "--listen", f"127.0.0.1:{self.port}",
                      "--advertise", self.address, "--store", f"etcd://{place}/{PREFIX}",
                      "--leader-lease", lease, "--keep-latest", "0"]
        self.process = None

    def start(self):
        with open(self.log_path, "a", encoding="utf-8") as log:
            self.process = subprocess.Popen(self.words, stdout=subprocess.PIPE, stderr=log,
                                            text=True)
        self.process.stdout.readline()
        return self

    def signal(self, number):
        self.process.send_signal(number)

    def cut_from_etcd(self):
        for proxy in self.to_etcd:
            proxy.cut()

    def mend(self):
        for proxy in [*self.to_etcd, self.from_agents]:
            proxy.mend()

    def log(self):
        with open(self.log_path, encoding="utf-8") as log:
            return log.read()

    def epochs(self):
        """Of the times that it led."""
        return [int(epoch) for epoch in re.findall(r"hub [0-9a-f]{32} epoch (\d+)", self.log())]

    def leads(self):
        return self.process.poll() is None and self.log().count("this server leads") > 0

    def end(self):
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
            self.process.wait()
        if self.process is not None:
            self.process.stdout.close()
        for proxy in [*self.to_etcd, self.from_agents]:
            proxy.close()


class Worker(TestWorker):
    def __init__(self, test, group, servers):
        super().__init__()
        self.test = test
        test.addCleanup(self.end)
        self.do(f"connect server={servers} model={MODEL} group={group} timeout=20000")
        self.do("register")

    def do(self, line):
        return super().do(self.test, line)

    def publish(self, version):
        self.do(f"fill {version}")
        self.do(f"publish {version} wait=1")

    def fetch(self, selector, version):
        self.test.assertIn(f"version={version} ", self.do(f"fetch {selector}"))
        self.do(f"check {version}")


class SeveralServersTest(unittest.TestCase):
    MEMBERS = 3
    SERVERS = 2
    ETCD_FLAGS = ()
    LEASE = "2s"
    PROXIED = True

    def run(self, result=None):
        self.result = result
        return super().run(result)

    def setUp(self):
        if not os.access(ETCD, os.X_OK):
            self.fail(f"there is no {ETCD}: install the package etcd-server")
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.addCleanup(self.tell)
        self.etcd_ports = [free_port() for _ in range(self.MEMBERS)]
        self.peer_ports = [free_port() for _ in range(self.MEMBERS)]
        self.members = [self.start_member(index) for index in range(self.MEMBERS)]
        self.addCleanup(self.end_members)
        eventually(lambda: self.etcdctl("get", "x").returncode == 0, "etcd's leader")
        self.servers = []
        self.addCleanup(lambda: [server.end() for server in self.servers])
        for index in range(self.SERVERS):
            self.servers.append(Server(self.folder, f"s{index}", self.etcd_ports, self.LEASE,
                                       self.PROXIED).start())
        eventually(lambda: self.leading() is not None, "the first leader")

    def start_member(self, index, scheme="http", flags=()):
        cluster = ",".join(f"e{i}=http://127.0.0.1:{port}"
                           for i, port in enumerate(self.peer_ports))
        client = f"{scheme}://127.0.0.1:{self.etcd_ports[index]}"
        peer = f"http://127.0.0.1:{self.peer_ports[index]}"
        with open(os.path.join(self.folder, f"e{index}.log"), "a", encoding="utf-8") as log:
            return subprocess.Popen(
                [ETCD, "--name", f"e{index}", "--data-dir", os.path.join(self.folder, f"e{index}"),
                 "--listen-client-urls", client, "--advertise-client-urls", client,
                 "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
                 "--initial-cluster", cluster, *self.ETCD_FLAGS, *flags],
                stdout=log, stderr=log)

    def tell(self):
        """What servers and members said last, where the test failed."""
        if not any(test is self for test, _ in self.result.failures + self.result.errors):
            return
        for name in sorted(os.listdir(self.folder)):
            if name.endswith(".log"):
                with open(os.path.join(self.folder, name), encoding="utf-8") as log:
                    said = "".join(log.readlines()[-TOLD:])
                print(f"=== {name}, its last {TOLD} lines\n{said}", file=sys.stderr)

    def end_members(self):
        for member in self.members:
            member.send_signal(signal.SIGCONT)
            member.kill()
            member.wait()

    def etcdctl(self, *words):
        endpoints = ",".join(f"127.0.0.1:{port}" for port in self.etcd_ports)
        return subprocess.run(["etcdctl", "--endpoints", endpoints, *words], text=True,
                              capture_output=True, check=False,
                              env={**os.environ, "ETCDCTL_API": "3"})

    def leading(self):
        """Of those that led, the one with the highest epoch, if it lives."""
        led = [server for server in self.servers if server.epochs()]
        if not led:
            return None
        last = max(led, key=lambda server: server.epochs()[-1])
        return last if last.process.poll() is None else None

    def addresses(self):
        return ",".join(server.address for server in self.servers)

    def worker(self, group):
        return Worker(self, group, self.addresses())

    def await_another(self, before):
        eventually(lambda: self.leading() not in (None, before), "another leader")
        return self.leading()

    def check_epochs(self):
        """Each leader had an epoch of its own, and no epoch had two."""
        epochs = sorted(epoch for server in self.servers for epoch in server.epochs())
        self.assertEqual(epochs, list(range(1, len(epochs) + 1)))
        kept = self.etcdctl("get", "--print-value-only", f"{PREFIX}/epoch").stdout.strip()
        self.assertEqual(int(kept), len(epochs))
