# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""One server for all tests; each test has a model of its own. Engines are stand-ins."""

import importlib
import itertools
import types

import pytest
import tensorhub

_numbers = itertools.count()


@pytest.fixture(scope="session")
def server():
    with tensorhub.serve() as running:
        yield running.address


@pytest.fixture
def connect(server, request):
    """connect(group, ...): a client of this test's own model, which leaves at the test's end."""
    model = f"{request.node.name[:80].replace(' ', '_')}-{next(_numbers)}"
    clients = []

    def make(group, **options):
        client = tensorhub.connect(server, model, group, **options)
        clients.append(client)
        return client

    make.model = model
    yield make
    for client in reversed(clients):
        client.leave(drain_timeout=0)


@pytest.fixture
def publish_slices(connect):
    """publish_slices(version, axis=...): from two new ranks, which have slices along that axis."""

    from fake_ranks import sliced, weights_of

    def publish(version, *, axis=0):
        ranks = [connect(f"trainer-{version}", rank=rank, world_size=2) for rank in range(2)]
        for rank, client in enumerate(ranks):
            pieces = {name: sliced(whole, rank, axis)
                      for name, whole in weights_of(version).items()}  # fmt: skip
            client.register(pieces)
            client.publish(version)
        return ranks

    return publish


@pytest.fixture
def make_ranks(monkeypatch, server, connect):
    """make_ranks(ranks): the threads, and an engine for each rank."""
    import fake_vllm
    import torch
    from fake_ranks import Model, Threads

    fake_vllm.install(monkeypatch, "0.32.0")
    importlib.import_module("tensorhub.integrations.vllm").register()
    module = importlib.import_module("tensorhub.integrations._vllm_engine")
    receivers = importlib.import_module("tensorhub.integrations._receiver")
    made = []

    class Ranks(receivers.Peers):
        def __init__(self, threads):
            self.rank, self.gather = threads.here.rank, threads.gather
            self.notice = threads.notice

    def make(ranks, models=None, **info):
        threads = Threads(ranks)
        config = types.SimpleNamespace(quantization=None)
        models = models or [Model(rank, ranks) for rank in range(ranks)]

        def joined(settings):
            return receivers.Receiver(settings, Ranks(threads)), None

        monkeypatch.setattr(module._vllm_ranks, "joined", joined)
        monkeypatch.setattr(module._vllm_ranks, "taken", lambda: None)

        def start(rank):
            engine = module.TensorHubWeightTransferEngine(
                None, fake_vllm.vllm_config(config), torch.device("cpu"), models[rank]
            )
            given = {"server": server, "model": connect.model, **(info or {"in_place": True})}
            engine.init_transfer_engine(engine.init_info_cls(**given))
            return engine

        engines = threads.run(start)
        assert not [one for one in engines if isinstance(one, Exception)], engines
        made.append((threads, engines))
        return threads, engines

    yield make
    for threads, engines in made:

        def stop(rank, engines=engines):
            engines[rank]._receiver.close()
            engines[rank].shutdown()

        threads.run(stop)
