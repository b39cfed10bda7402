# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""How far behind a vLLM may be: it says so by itself, and by HTTP it takes no prompts then.

vLLM is a stand-in (fake_vllm.py). The hub is real.
"""

import asyncio
import dataclasses
import importlib
import json
import types

import pytest
import tensorhub

torch = pytest.importorskip("torch", reason="torch is not installed in this environment")

from fake_ranks import Llm, eventually, update  # noqa: E402


@pytest.fixture
def plugin(make_ranks):
    return importlib.import_module("tensorhub.integrations.vllm")


@pytest.fixture
def staleness(plugin):
    """staleness(llm): waits until it is stale, and gives what it says."""

    def wait(llm):
        eventually(lambda: plugin.lag(llm).stale)
        return plugin.lag(llm)

    return wait


@pytest.mark.parametrize("ranks", [1, 2])
def test_more_versions_behind_than_it_may_be(make_ranks, publish_slices, plugin, staleness, ranks):
    threads, engines = make_ranks(ranks, max_lag=1)
    llm = Llm(threads, engines)
    plugin.require_fresh(llm)  # there is nothing that it could have
    publish_slices(1)
    assert staleness(llm).version is None
    update(threads, engines)
    for version in (20, 21):
        assert not plugin.lag(llm).stale
        publish_slices(version)
    assert (staleness(llm).version, staleness(llm).newest) == (1, 21)
    with pytest.raises(plugin.StaleError, match="has version 1, more than 1 behind version 21"):
        plugin.require_fresh(llm)
    update(threads, engines, version=20)
    plugin.require_fresh(llm)
    assert plugin.lag(llm).version == 20


def test_without_a_bound_nothing_is_stale(make_ranks, publish_slices, plugin):
    publish_slices(1)
    threads, engines = make_ranks(1, share=True)
    update(threads, engines)
    for version in (2, 3, 4):
        publish_slices(version)
    plugin.require_fresh(Llm(threads, engines))


def test_what_a_new_term_has_superseded_is_stale(make_ranks, connect, plugin, staleness):
    from fake_ranks import weights_of

    trainer = connect("trainer")
    trainer.register(weights_of(5))
    trainer.publish(5)
    threads, engines = make_ranks(1, max_lag=3)
    update(threads, engines)
    plugin.require_fresh(Llm(threads, engines))
    trainer.unpublish()
    trainer.publish(2, supersede=True)
    assert "which is superseded" in str(staleness(Llm(threads, engines)))


def test_an_update_that_failed_midway_is_stale(
    make_ranks, publish_slices, plugin, staleness, monkeypatch
):
    publish_slices(1)
    threads, engines = make_ranks(2, in_place=True, max_lag=7)
    update(threads, engines)
    publish_slices(2)
    update(threads, engines)
    stages = importlib.import_module("tensorhub.integrations._stage")
    fetch = stages.Fetching._fetch

    def break_off(fetching, client):
        result = fetch(fetching, client)
        if client.rank == 1:
            raise tensorhub.UnavailableError("it broke")
        return result

    publish_slices(3)
    monkeypatch.setattr(stages.Fetching, "_fetch", break_off)
    assert all(isinstance(one, tensorhub.Error) for one in update(threads, engines))
    assert "has no version yet" in str(staleness(Llm(threads, engines)))


def test_settings_of_the_bound():
    from tensorhub.integrations._settings import Settings

    variables = {"TENSORHUB_SERVER": "hub:1", "TENSORHUB_MODEL": "a", "TENSORHUB_MAX_LAG": "2"}
    assert Settings.of({}, variables).max_lag == 2
    assert Settings.of({"max_lag": 0}, variables).max_lag == 0
    for given, said in (({"max_lag": -1}, "give 0 or more"), ({"max_lag": True}, "is a bool")):
        with pytest.raises(tensorhub.InvalidArgumentError, match=said):
            Settings.of(given, variables)
    with pytest.raises(tensorhub.InvalidArgumentError, match="TENSORHUB_MAX_LAG is 'two'"):
        Settings.of({}, {**variables, "TENSORHUB_MAX_LAG": "two"})


class Server:
    """An application behind the plug-in's gate, and the engine that it serves."""

    def __init__(self, lag):
        from tensorhub.integrations.vllm_http import FreshOnly

        self.lag = lag
        self.asked = 0
        self.app = types.SimpleNamespace(state=types.SimpleNamespace(engine_client=self))
        self._gate = FreshOnly(self._answer)

    async def collective_rpc(self, method):
        assert method == "tensorhub_lag"
        self.asked += 1
        return [dataclasses.asdict(self.lag)]

    async def _answer(self, scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"{}"})

    def call(self, path, method="POST"):
        sent = []

        async def send(message):
            sent.append(message)

        scope = {"type": "http", "method": method, "path": path, "app": self.app}
        asyncio.run(self._gate(scope, None, send))
        return sent[0]["status"], dict(sent[0]["headers"]), json.loads(sent[1]["body"])


def test_by_http_prompts_wait_for_an_update_and_other_routes_do_not():
    from tensorhub.integrations._lag import Lag

    server = Server(Lag(3, 1, True, 7))
    status, headers, said = server.call("/v1/completions")
    assert (status, headers[b"retry-after"]) == (503, b"1")
    assert "has version 3, more than 1 behind version 7" in said["error"]["message"]
    assert server.call("/update_weights")[0] == 200
    assert server.call("/v1/models", "GET")[0] == 200
    server.lag = Lag(7, 1, False)
    asked = server.asked
    assert server.call("/v1/completions")[0] == 200
    assert server.asked == asked + 1, "a stale engine is asked again at once"
