# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""A vLLM that follows what is published. vLLM is a stand-in, the hub is real."""

import importlib
import types

import pytest
import tensorhub

torch = pytest.importorskip("torch", reason="torch is not installed in this environment")

import fake_vllm  # noqa: E402
from fake_ranks import Model, eventually, holds, weights_of  # noqa: E402
from fake_served import Client, Server  # noqa: E402


@pytest.fixture
def worker(monkeypatch, server, connect):
    """vLLM's worker of one rank, which has joined nothing."""
    fake_vllm.install(monkeypatch, "0.32.0")
    monkeypatch.setenv("TENSORHUB_SERVER", server)
    monkeypatch.setenv("TENSORHUB_MODEL", connect.model)
    importlib.import_module("tensorhub.integrations.vllm").register()
    module = importlib.import_module("tensorhub.integrations._vllm_engine")
    config = fake_vllm.vllm_config(types.SimpleNamespace(quantization=None))
    engine = module.TensorHubWeightTransferEngine(None, config, torch.device("cpu"), Model(0, 1))
    yield fake_vllm.WorkerBase(engine)
    engine.shutdown()


@pytest.fixture
def serve(worker):
    """serve(...): a vLLM that follows, with whatever differs of its configuration."""
    running = []

    def serve(**parallel):
        http = importlib.import_module("tensorhub.integrations.vllm_http")
        running.append(Server(http.Follow, Client([worker], **parallel)))
        return running[-1].__enter__()

    yield serve
    for one in running:
        one.__exit__()


@pytest.fixture
def trainer(connect):
    client = connect("trainer")
    client.tensors = {name: value.clone() for name, value in weights_of(0).items()}
    client.register(client.tensors)

    def publish(version, **options):
        client.unpublish()
        for name, value in weights_of(version).items():
            client.tensors[name].copy_(value)
        client.publish(version, **options)

    return publish


def standing(served):
    status, said = served.call("/tensorhub")
    assert status == 200, said
    return said


def has(served, version):
    eventually(lambda: standing(served)["version"] == version)


def test_it_takes_each_version_by_itself(serve, trainer, worker):
    served = serve()
    assert standing(served)["version"] is None
    for version in (1, 2, 3):
        trainer(version)
        has(served, version)
        assert holds(worker.weight_transfer_engine.model, version)
    said = standing(served)
    assert (said["updates"], said["error"], said["broken"]) == (3, "", False)
    assert said["pause"] > 0
    calls = served.client.calls
    assert calls == [("pause", "keep"), ("take", True), ("resume", "1"), ("pause", "keep"),
                     ("take", True), ("resume", "2"), ("pause", "keep"), ("take", True),
                     ("resume", "3")]  # fmt: skip
    assert served.call("/v1/completions", "POST") == (200, "a prompt")


def test_what_it_was_started_with_is_in_its_first_answer(serve, trainer, worker):
    trainer(1)
    engine = worker.weight_transfer_engine
    importlib.import_module("tensorhub.integrations._driving").join(Here(worker), {})
    engine.update_weights({})
    served = serve()
    assert (served.client.label, standing(served)["version"]) == ("1", 1)
    assert served.client.calls == []


class Here:
    """A vLLM of this worker alone, for who drives it."""

    def __init__(self, worker):
        self._worker = worker

    def call(self, method, *args):
        return [getattr(self._worker, method)(*args)]


def test_a_trainer_that_went_back_is_followed_to_the_lower_number(serve, trainer, worker):
    served = serve()
    for version, supersede in ((7, False), (3, True), (4, False)):
        trainer(version, supersede=supersede)
        has(served, version)
        assert holds(worker.weight_transfer_engine.model, version)


def test_it_keeps_its_version_while_somebody_holds_it(serve, trainer):
    served = serve()
    trainer(1)
    has(served, 1)
    status, said = served.call("/tensorhub/hold", "POST")
    assert (status, said["held"], said["version"]) == (200, True, 1)
    trainer(2)
    eventually(lambda: standing(served)["newest"] == 2)
    assert standing(served)["version"] == 1
    assert served.call("/tensorhub/release", "POST")[1]["held"] is False
    has(served, 2)
    assert served.call("/tensorhub/other")[0] == 404
    assert served.call("/tensorhubs") == (200, "a prompt")


def test_a_vllm_that_is_held_too_long_refuses_prompts(serve, trainer, monkeypatch):
    monkeypatch.setenv("TENSORHUB_MAX_LAG", "0")
    served = serve()
    trainer(1)
    has(served, 1)
    eventually(lambda: served.call("/v1/completions", "POST")[0] == 200)
    served.call("/tensorhub/hold", "POST")
    trainer(2)
    eventually(lambda: served.call("/v1/completions", "POST")[0] == 503)
    served.call("/tensorhub/release", "POST")
    has(served, 2)
    eventually(lambda: served.call("/v1/completions", "POST")[0] == 200)


def test_each_so_many_th_version_and_so_many_in_a_minute(serve, trainer, monkeypatch):
    monkeypatch.setenv("TENSORHUB_FOLLOW_EVERY", "3")
    monkeypatch.setenv("TENSORHUB_FOLLOW_MODE", "wait")
    served = serve()
    trainer(1)
    has(served, 1)
    for version in (20, 30, 40):
        trainer(version)
    has(served, 40)
    assert standing(served)["updates"] == 2
    assert served.client.calls[0] == ("pause", "wait")
    rules = importlib.import_module("tensorhub.integrations._rules").Rules
    for given in ({"mode": "stop"}, {"every": 0}, {"every": True}, {"every": "x"},
                  {"per_minute": -1}, {"per_minute": "nan"}, {"per_minute": True}):  # fmt: skip
        (name,) = given
        with pytest.raises(tensorhub.InvalidArgumentError, match=rf"^{name} \(TENSORHUB_FOLLOW_"):
            rules.of(given, {})
    with pytest.raises(tensorhub.InvalidArgumentError, match="'modes' is nothing that follow"):
        rules.of({"modes": "keep"})
    assert rules.of({}, {"TENSORHUB_FOLLOW_PER_MINUTE": "0.5"}).per_minute == 0.5


def test_no_more_than_so_many_in_a_minute(serve, trainer, monkeypatch):
    monkeypatch.setenv("TENSORHUB_FOLLOW_PER_MINUTE", "0.001")
    served = serve()
    trainer(1)
    has(served, 1)
    trainer(2)
    eventually(lambda: standing(served)["newest"] == 2)
    assert standing(served)["version"] == 1


def test_what_it_cannot_take_it_says_and_serves_on(serve, trainer, connect, worker):
    served = serve()
    trainer(1)
    has(served, 1)
    other = connect("other")
    other.register({"what": torch.zeros(3)})
    other.publish(2)
    eventually(lambda: standing(served)["error"])
    assert "named 'what'" in standing(served)["error"]
    assert holds(worker.weight_transfer_engine.model, 1)
    assert not served.client.paused
    assert served.call("/v1/completions", "POST")[0] == 200
    assert served.client.methods.count("tensorhub_stage") == 2, "what is refused is not tried again"
    trainer(3)
    has(served, 3)
    assert standing(served)["error"] == ""


def test_a_version_that_goes_while_it_is_staged(serve, trainer, worker, monkeypatch):
    served = serve()
    trainer(1)
    has(served, 1)
    stages = importlib.import_module("tensorhub.integrations._stage")
    fetch = stages.Fetching._fetch

    def gone(fetching, client):
        if fetching.number == 2:
            raise tensorhub.NotFoundError("version 2 went away")
        return fetch(fetching, client)

    monkeypatch.setattr(stages.Fetching, "_fetch", gone)
    trainer(2)
    eventually(lambda: standing(served)["error"] == "version 2 went away")
    assert holds(worker.weight_transfer_engine.model, 1)
    assert not served.client.paused
    trainer(3)
    has(served, 3)
    assert (standing(served)["error"], standing(served)["updates"]) == ("", 2)


def test_a_model_with_parts_of_two_versions_answers_no_prompts(serve, trainer, worker, monkeypatch):
    served = serve()
    trainer(1)
    has(served, 1)
    model = worker.weight_transfer_engine.model
    twins = importlib.import_module("tensorhub.integrations._twins")

    def breaks(*_):
        model.qkv.zero_()
        raise RuntimeError("it broke")

    with monkeypatch.context() as patch:
        for where, name in ((twins.Twins, "copy"), (type(model), "load_weights")):
            patch.setattr(where, name, breaks)
        trainer(2)
        eventually(lambda: standing(served)["broken"])
        status, said = served.call("/v1/completions", "POST")
        assert (status, said["error"]["code"]) == (503, 503)
        eventually(lambda: ("pause", "abort") in served.client.calls)
        assert served.call("/v1/models") == (200, "a prompt")
    has(served, 2)
    assert holds(model, 2)
    assert served.call("/v1/completions", "POST")[0] == 200


def test_who_has_paused_it_resumes_it(serve, trainer):
    served = serve()
    served.client.paused = True
    trainer(1)
    has(served, 1)
    assert served.client.paused
    assert served.client.calls == [("take", True), ("reset", True)]


@pytest.mark.parametrize(
    ("parallel", "said"),
    [({"data_parallel_size": 2}, "start a vLLM for each"), ({"_api_process_count": 2}, "count 1")],
)
def test_what_cannot_follow_says_so_and_serves(serve, parallel, said):
    served = serve(**parallel)
    status, answer = served.call("/tensorhub")
    assert status == 503
    assert said in answer["error"]
    assert served.call("/v1/completions", "POST")[0] == 200


def test_without_the_backend_it_says_what_to_start_it_with(worker):
    http = importlib.import_module("tensorhub.integrations.vllm_http")
    client = Client([worker])
    client.vllm_config.weight_transfer_config = None
    with Server(http.Follow, client) as served:
        status, answer = served.call("/tensorhub")
    assert status == 503
    assert "--weight-transfer-config" in answer["error"]


def test_its_workers_say_goodbye(serve, trainer, connect):
    served = serve()
    trainer(1)
    has(served, 1)
    served.client.shutdown()
    assert served.client.ended
    replicas = connect("looker").list()[-1].replicas
    assert not [one for one in replicas if one.group.startswith("vllm-") and
                not one.group.endswith("-in-model")]  # fmt: skip


def test_in_one_process_it_follows_between_two_calls(worker, trainer):
    plugin = importlib.import_module("tensorhub.integrations.vllm")
    llm = fake_vllm.LLM(worker)
    with pytest.raises(tensorhub.DeadlineExceededError, match="no version of"):
        plugin.follow(llm, timeout=0.2)
    with pytest.raises(tensorhub.FailedPreconditionError, match="other settings"):
        plugin.follow(llm, timeout=5)
    trainer(1)
    eventually(lambda: took(plugin, llm) == 1)
    assert plugin.follow(llm) == 1
    assert (llm.label, llm.resets) == ("1", 1)
    trainer(2)
    assert plugin.follow(llm, wait=60) == 2
    assert holds(worker.weight_transfer_engine.model, 2)
    trainer(1, supersede=True)
    eventually(lambda: plugin.follow(llm) == 1)
    assert holds(worker.weight_transfer_engine.model, 1)


def took(plugin, llm):
    try:
        return plugin.follow(llm)
    except tensorhub.DeadlineExceededError:
        return None


def test_a_trainer_asks_the_hub_who_has_a_version(serve, server, connect, worker):
    def publisher(group):
        module = torch.nn.ParameterDict(
            {name: value.clone() for name, value in weights_of(1).items()}
        )
        return tensorhub.torch.SlicePublisher(module, server, connect.model, group)

    with publisher("trainer") as trainer:
        trainer.publish(1)
        assert str(trainer.taken(1)) == "no engine follows the model"
        with pytest.raises(tensorhub.DeadlineExceededError, match="no engine follows"):
            trainer.wait_taken(1, timeout=0.1)
        served = serve()
        found = trainer.wait_taken(1, share=1.0, timeout=60)
        (engine,) = found.has
        assert (found.share, found.behind, engine.startswith("vllm-")) == (1.0, (), True)
        served.call("/tensorhub/hold", "POST")
        trainer.publish(2)
        eventually(lambda: standing(served)["newest"] == 2)
        assert trainer.taken(2).behind == (engine,)
        with pytest.raises(tensorhub.DeadlineExceededError, match=rf"0%.*{engine} is behind"):
            trainer.wait_taken(2, timeout=0.1)
        for share in (0, 1.5, float("nan")):
            with pytest.raises(tensorhub.InvalidArgumentError, match="share is"):
                trainer.wait_taken(2, share=share)
        served.call("/tensorhub/release", "POST")
        assert trainer.wait_taken(2, timeout=60).has == (engine,)
        trainer.publish(1, supersede=True)
        assert trainer.wait_taken(1, timeout=60).has == (engine,)
        assert standing(served)["version"] == 1
    with publisher("whole") as module:
        module.publish(3)
    whole = tensorhub.torch.WholePublisher(
        torch.nn.ParameterDict({name: value.clone() for name, value in weights_of(4).items()}),
        server, connect.model, "whole-2",
    )  # fmt: skip
    with whole:
        whole.publish(4)
        assert whole.wait_taken(4, timeout=60) is None
        assert whole.taken(3).share == 1
