# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""vLLMs that a trainer drives by HTTP. Their workers are stand-ins, the hub and HTTP are real."""

import http.server
import importlib
import json
import re
import socket
import threading
import types

import pytest
import tensorhub

torch = pytest.importorskip("torch", reason="torch is not installed in this environment")

import fake_vllm  # noqa: E402
from fake_ranks import Model, holds, weights_of  # noqa: E402


class Vllm:
    """One that serves: its routes for updates, and what of them was called."""

    def __init__(self, worker, host, port):
        self.worker, self.calls, self.paused = worker, [], False
        self.answers = {}
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self._answer({"is_paused": outer.paused})

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                self._answer(outer.post(self.path, body))

            def _answer(self, said):
                status, said = (said, {}) if isinstance(said, int) else (200, said)
                self.send_response(status)
                self.end_headers()
                self.wfile.write(json.dumps(said).encode())

            def log_message(self, *_):
                pass

        self._server = http.server.ThreadingHTTPServer((host, port), Handler)
        self.url = f"http://{host}:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def post(self, path, body):
        path, _, query = path.partition("?")
        self.calls.append(path if path != "/collective_rpc" else body["method"])
        given = self.answers.get(self.calls[-1])
        if given:
            return given.pop(0)
        if path == "/collective_rpc":
            found = getattr(self.worker, body["method"])(*body["args"])
            return {"results": [found if isinstance(found, (dict, type(None))) else str(found)]}
        if path in ("/pause", "/resume"):
            self.paused = path == "/pause"
        return {"query": query}

    def end(self):
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def make_vllm(monkeypatch, server, connect):
    """make_vllm(): one that has joined nothing."""
    fake_vllm.install(monkeypatch, "0.32.0")
    monkeypatch.setenv("TENSORHUB_SERVER", server)
    monkeypatch.setenv("TENSORHUB_MODEL", connect.model)
    importlib.import_module("tensorhub.integrations.vllm").register()
    module = importlib.import_module("tensorhub.integrations._vllm_engine")
    receivers = importlib.import_module("tensorhub.integrations._receiver")
    # In processes of their own they would have one each.
    monkeypatch.setattr(module._vllm_ranks, "joined", lambda settings: (
        receivers.Receiver(settings, receivers.Peers()), None))  # fmt: skip
    monkeypatch.setattr(module._vllm_ranks, "taken", lambda: None)
    config = fake_vllm.vllm_config(types.SimpleNamespace(quantization=None))
    made = []

    def make(host="127.0.0.1", port=0):
        engine = module.TensorHubWeightTransferEngine(
            None, config, torch.device("cpu"), Model(0, 1)
        )
        made.append(Vllm(fake_vllm.WorkerBase(engine), host, port))
        return made[-1]

    yield make
    for one in made:
        one.end()
        engine = one.worker.weight_transfer_engine
        if engine is not None:
            if engine._receiver is not None:
                engine._receiver.close()
            engine.shutdown()


@pytest.fixture
def publish(connect):
    def publish(version):
        trainer = connect(f"trainer-{version}")
        trainer.register(weights_of(version))
        trainer.publish(version)

    return publish


@pytest.fixture
def make_fleet(make_vllm):
    return importlib.import_module("tensorhub.vllm").Fleet


def test_all_take_a_version_and_again_does_nothing(make_vllm, make_fleet, publish):
    vllms = [make_vllm() for _ in range(3)]
    fleet = make_fleet([one.url for one in vllms])
    for version in (1, 2):
        publish(version)
        found = fleet.update(version if version == 1 else None)
        assert [(one.url, one.version, one.error) for one in found] == [
            (one.url, version, None) for one in vllms
        ]
        assert all(one.receipt and one.pause > 0 for one in found)
        assert all(holds(one.worker.weight_transfer_engine.model, version) for one in vllms)
    takes = [one.calls.count("tensorhub_take") for one in vllms]
    assert [one.pause for one in fleet.update(2)] == [0, 0, 0]
    assert takes == [one.calls.count("tensorhub_take") for one in vllms] == [2, 2, 2]
    assert not any(one.paused for one in vllms)
    assert re.search(r"version 2, stood still for \d", str(found[0]))


def test_an_engine_that_cannot_is_told_of_and_the_others_go_on(make_vllm, make_fleet, publish):
    good, dead, older, other, alone = (make_vllm() for _ in range(5))
    publish(1)
    dead.end()
    older.answers["tensorhub_join"] = [404] * 9
    other.worker.weight_transfer_engine = None
    alone.answers["tensorhub_take"] = [500]
    urls = [one.url for one in (good, dead, older, other, alone)]
    found = make_fleet(urls, timeout=20).update(1)
    assert found[0].version == 1
    said = [str(one.error) for one in found[1:]]
    assert "it has ended, hangs, or is not there" in said[0]
    assert "VLLM_SERVER_DEV_MODE=1" in said[1]
    assert "AttributeError" in said[2] or "--weight-transfer-config" in said[2]
    assert "/collective_rpc answered 500" in said[3]
    assert not any(one.paused for one in (good, older, other, alone))
    assert make_fleet(urls[-1:]).update(1)[0].version == 1


def test_one_that_did_not_hear_it_goes_on_at_the_next_update(make_vllm, make_fleet, publish):
    vllm = make_vllm()
    publish(1)
    fleet = make_fleet([vllm.url])
    vllm.answers["/resume"] = [500, 500]
    (found,) = fleet.update(1)
    assert "/resume answered 500" in str(found.error)
    assert vllm.paused
    vllm.answers.clear()
    (found,) = fleet.update(1)
    assert (found.version, found.error, vllm.paused) == (1, None, False)


def test_what_somebody_else_has_paused_stays_so(make_vllm, make_fleet, publish):
    vllm = make_vllm()
    publish(1)
    vllm.paused = True
    (found,) = make_fleet([vllm.url]).update()
    assert (found.version, vllm.paused) == (1, True)
    assert "/reset_prefix_cache" in vllm.calls


def test_a_vllm_without_labels_takes_versions_too(make_vllm, make_fleet, publish):
    vllm = make_vllm()
    publish(1)
    vllm.answers["/update_weight_version"] = [404]
    (found,) = make_fleet(vllm.url).update(1)
    assert (found.version, found.error) == (1, None)


def test_a_version_that_nobody_has(make_vllm, make_fleet, publish):
    vllm = make_vllm()
    publish(1)
    fleet = make_fleet([vllm.url])
    assert fleet.update(1)[0].version == 1
    (found,) = fleet.update(77)
    assert isinstance(found.error, tensorhub.NotFoundError)
    assert "/pause" not in vllm.calls[vllm.calls.index("/resume") + 1 :]
    assert holds(vllm.worker.weight_transfer_engine.model, 1)


def test_a_name_for_all_of_them(make_vllm, make_fleet, publish, monkeypatch):
    first = make_vllm()
    port = int(first.url.rpartition(":")[2])
    second = make_vllm("127.0.0.2", port)
    publish(1)
    known = {"rollouts": ["127.0.0.2", "127.0.0.1"], "one": ["127.0.0.1"]}
    look_up = socket.getaddrinfo

    def found(host, *rest, **more):
        if host == "nobody":
            raise OSError("no such name")
        return [one for name in known.get(host, [host]) for one in look_up(name, *rest, **more)]

    monkeypatch.setattr(socket, "getaddrinfo", found)
    outcomes = make_fleet(f"http://rollouts:{port}").update(1)
    assert [(one.url, one.version) for one in outcomes] == [(first.url, 1), (second.url, 1)]
    (outcome,) = make_fleet(f"http://one:{port}").update(1)
    assert (outcome.url, outcome.version) == (f"http://one:{port}", 1)
    with pytest.raises(tensorhub.UnavailableError, match="no such name; give their URLs"):
        make_fleet("http://nobody:1").update(1)


@pytest.mark.parametrize("urls", [[], ["hub:7070"], "hub:7070", [7], ["http://"]])
def test_what_is_no_url(make_fleet, urls):
    with pytest.raises(tensorhub.InvalidArgumentError, match=r"give http|give the URL"):
        make_fleet(urls)


def test_what_a_fleet_is_made_with(make_fleet):
    with pytest.raises(tensorhub.InvalidArgumentError, match="keep, wait or abort"):
        make_fleet("http://a:1", mode="stop")
    with pytest.raises(ValueError, match="timeout"):
        make_fleet("http://a:1", timeout=-1)
    with pytest.raises(ValueError, match="version"):
        make_fleet("http://a:1").update(-1)
