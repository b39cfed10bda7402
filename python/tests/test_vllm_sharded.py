# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""The vLLM plug-in with a trainer whose ranks publish slices, and an engine of one or two ranks.

vLLM is a stand-in (fake_vllm.py), and the ranks of an engine are threads. The hub is real.
"""

import importlib
import logging
import threading
import types

import pytest
import tensorhub

torch = pytest.importorskip("torch", reason="torch is not installed in this environment")

import fake_vllm  # noqa: E402

Q, KV, UP, HIDDEN, WORDS = 8, 4, 6, 6, 7
SHAPES = {
    "q": (Q, HIDDEN), "k": (KV, HIDDEN), "v": (KV, HIDDEN), "o": (HIDDEN, Q), "norm": (HIDDEN,),
    "gate": (UP, HIDDEN), "up": (UP, HIDDEN), "embed": (WORDS, HIDDEN),
}  # fmt: skip


class Model(torch.nn.Module):
    """One tensor-parallel rank as engines have it: fused by rows, cut by columns, padded words."""

    def __init__(self, rank, ranks):
        super().__init__()
        self.rank, self.ranks = rank, ranks
        words = 8 // ranks
        shapes = {
            "qkv": ((Q + 2 * KV) // ranks, HIDDEN), "o": (HIDDEN, Q // ranks), "norm": (HIDDEN,),
            "gate_up": (2 * UP // ranks, HIDDEN), "embed": (words, HIDDEN),
        }  # fmt: skip
        for name, shape in shapes.items():
            setattr(self, name, torch.nn.Parameter(torch.full(shape, -1.0), requires_grad=False))
        self.loads = 0

    def load_weights(self, weights):
        for name, tensor in weights:
            if name not in SHAPES:
                raise ValueError(f"There is no module or parameter named {name!r}")
            self._load(name, tensor)
            self.loads += not tensor.is_meta
        return set(self._parameters)

    def _load(self, name, tensor):
        rank, ranks = self.rank, self.ranks
        if name == "o":
            self._whole("o", tensor).copy_(tensor.chunk(ranks, 1)[rank])
        elif name == "norm":
            self._whole("norm", tensor).copy_(tensor)
        elif name == "embed":
            self._load_embed(tensor)
        else:
            rows = tensor.shape[0] // ranks
            fused, begin = {
                "q": ("qkv", 0), "k": ("qkv", Q // ranks), "v": ("qkv", (Q + KV) // ranks),
                "gate": ("gate_up", 0), "up": ("gate_up", UP // ranks),
            }[name]  # fmt: skip
            into = self._whole(fused, tensor).narrow(0, begin, rows)
            into.copy_(tensor.narrow(0, rank * rows, rows))

    def _load_embed(self, tensor):
        into = self._whole("embed", tensor)
        begin = self.rank * into.shape[0]
        mine = tensor[begin : begin + into.shape[0]]
        into[: mine.shape[0]].copy_(mine)
        into[mine.shape[0] :].fill_(0)

    def _whole(self, name, tensor):
        """As vLLM's layerwise reload: memory of its own once bytes arrive."""
        parameter = self._parameters[name]
        if parameter.is_meta and not tensor.is_meta:
            parameter = torch.nn.Parameter(torch.zeros(parameter.shape), False)
            self._parameters[name] = parameter
        return parameter.data


def weights_of(version):
    """Every element tells the version, the tensor and its place."""
    made = {}
    for number, (name, shape) in enumerate(SHAPES.items()):
        count = torch.Size(shape).numel()
        made[name] = torch.arange(float(count)).reshape(shape) + 100 * number + 1000 * version
    return made


def holds(model, version):
    fresh = Model(model.rank, model.ranks)
    fresh.load_weights(weights_of(version).items())
    theirs = dict(fresh.named_parameters())
    return all(torch.equal(value, theirs[name]) for name, value in model.named_parameters())


class Threads:
    """The ranks of one engine, each in a thread; ``run(step)`` gives each rank's result."""

    def __init__(self, ranks):
        self.ranks = ranks
        self.here = threading.local()
        self._barrier = threading.Barrier(ranks)
        self._given = [None] * ranks

    def gather(self, value):
        self._given[self.here.rank] = value
        self._barrier.wait(60)
        values = list(self._given)
        self._barrier.wait(60)
        return values

    def run(self, step):
        outcomes = [None] * self.ranks

        def one(rank):
            self.here.rank = rank
            try:
                outcomes[rank] = step(rank)
            except Exception as error:
                outcomes[rank] = error

        threads = [threading.Thread(target=one, args=(rank,)) for rank in range(self.ranks)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return outcomes


@pytest.fixture
def publish(connect):
    """publish(version, cut=...): from two ranks, which have slices along that axis."""
    made = {}

    def ranks_of(group):
        if group not in made:
            made[group] = [connect(group, rank=rank, world_size=2) for rank in range(2)]
        return made[group]

    def publish(version, tensors=None, *, axis=0, group="trainer"):
        group = f"{group}-{version}"
        for rank, client in enumerate(ranks_of(group)):
            client.register(
                {name: sliced(whole, rank, axis)
                 for name, whole in (tensors or weights_of(version)).items()}
            )  # fmt: skip
            client.publish(version)
        return made[group]

    return publish


def sliced(whole, rank, axis):
    axis = min(axis, whole.dim() - 1)
    size = -(-whole.shape[axis] // 2)
    begin = rank * size
    piece = whole.narrow(axis, begin, min(size, whole.shape[axis] - begin)).contiguous()
    offset = [0] * whole.dim()
    offset[axis] = begin
    return tensorhub.sliced(piece, whole.shape, offset)


@pytest.fixture
def make_engine(monkeypatch, server, connect):
    """make_engine(ranks): the threads, and an engine for each rank."""
    fake_vllm.install(monkeypatch, "0.32.0")
    importlib.import_module("tensorhub.integrations.vllm").register()
    module = importlib.import_module("tensorhub.integrations._vllm_engine")
    receivers = importlib.import_module("tensorhub.integrations._receiver")
    made = []

    class Ranks(receivers.Peers):
        def __init__(self, threads):
            self.rank, self.gather = threads.here.rank, threads.gather

    def make(ranks, models=None):
        threads = Threads(ranks)
        config = types.SimpleNamespace(quantization=None)
        models = models or [Model(rank, ranks) for rank in range(ranks)]

        def receiver(settings):
            threads.here.receiver = receivers.Receiver(settings, Ranks(threads))
            return threads.here.receiver

        monkeypatch.setattr(module._vllm_ranks, "receiver", receiver)
        monkeypatch.setattr(module._vllm_ranks, "release", lambda: None)

        def start(rank):
            engine = module.TensorHubWeightTransferEngine(
                None, types.SimpleNamespace(model_config=config), torch.device("cpu"), models[rank]
            )
            given = {"server": server, "model": connect.model, "in_place": True}
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


def update(threads, engines, **info):
    return threads.run(lambda rank: engines[rank].update_weights(info))


def fetched(engines):
    return [engine.arrived.bytes_read for engine in engines]


def own_bytes(model):
    """What a rank takes of a version: all its parameters, but for the words that are padding."""
    rows = min(max(WORDS - model.rank * model.embed.shape[0], 0), model.embed.shape[0])
    padding = (model.embed.shape[0] - rows) * HIDDEN
    return 4 * (sum(value.numel() for value in model.parameters()) - padding)


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("axis", [0, 1], ids=["rows", "columns"])
def test_slices_of_two_trainer_ranks_arrive_in_place(make_engine, publish, ranks, axis):
    publish(1, axis=axis)
    threads, engines = make_engine(ranks)
    assert update(threads, engines) == [None] * ranks
    places = [[p.data_ptr() for p in engine.model.parameters()] for engine in engines]
    loads = [engine.model.loads for engine in engines]
    for version in (2, 3):
        publish(version, axis=axis)
        assert update(threads, engines) == [None] * ranks
        assert [holds(engine.model, version) for engine in engines] == [True] * ranks
        assert fetched(engines) == [own_bytes(engine.model) for engine in engines]
        assert len({engine.arrived.receipt for engine in engines}) == 1
    assert [engine.model.loads for engine in engines] == loads, "vLLM's loader had a part in it"
    assert [[p.data_ptr() for p in engine.model.parameters()] for engine in engines] == places


def test_whole_tensors_arrive_in_place_on_two_ranks(make_engine, connect):
    threads, engines = make_engine(2)
    for version in (1, 2):
        trainer = connect(f"trainer-{version}")
        trainer.register(weights_of(version))
        trainer.publish(version)
        assert update(threads, engines) == [None] * 2
    assert fetched(engines) == [own_bytes(engine.model) for engine in engines]
    assert all(holds(engine.model, 2) for engine in engines)


def test_a_second_engine_of_the_same_cut_reads_from_the_first(make_engine, publish):
    publish(1)
    engines = [make_engine(2) for _ in range(2)]
    for threads, ranks in engines:
        assert update(threads, ranks) == [None] * 2
    trainers = publish(2)
    assert update(*engines[0]) == [None] * 2
    for trainer in trainers:
        trainer.unpublish()
    assert update(*engines[1], version=2) == [None] * 2
    assert all(holds(engine.model, 2) for engine in engines[1][1])
    assert all("vllm-" in engine.arrived.sources for engine in engines[1][1])


class OneStage(Model):
    """A pipeline-parallel rank: it takes nothing of what other ranks hold."""

    MINE = (("embed", "q", "k", "v"), ("o", "norm", "gate", "up"))

    def __init__(self, rank):
        super().__init__(0, 1)
        self.stage = rank
        for name in (("o", "norm", "gate_up"), ("qkv", "embed"))[rank]:
            delattr(self, name)

    def _load(self, name, tensor):
        if name in self.MINE[self.stage]:
            super()._load(name, tensor)


def test_stages_fetch_their_own_layers(make_engine, publish):
    threads, engines = make_engine(2, [OneStage(rank) for rank in range(2)])
    for version in (1, 2):
        publish(version)
        assert update(threads, engines) == [None] * 2
    wanted = Model(0, 1)
    wanted.load_weights(weights_of(2).items())
    for engine in engines:
        for name, value in engine.model.named_parameters():
            assert torch.equal(value, getattr(wanted, name)), name
    assert sum(fetched(engines)) == own_bytes(wanted)


def test_no_rank_goes_in_place_if_one_cannot(make_engine, publish, caplog):
    models = [Model(rank, 2) for rank in range(2)]
    models[1].quant_method = types.SimpleNamespace()
    publish(1)
    with caplog.at_level(logging.WARNING, "vllm.tensorhub"):
        threads, engines = make_engine(2, models)
        assert update(threads, engines) == [None] * 2
    assert "rank 1:  is loaded by SimpleNamespace, which may repack it" in caplog.text
    assert [engine._in_place for engine in engines] == [None, None]
    publish(2)
    assert update(threads, engines) == [None] * 2
    assert all(holds(engine.model, 2) for engine in engines)


def test_pieces_that_leave_a_gap_touch_no_model(make_engine, publish, connect):
    publish(1)
    threads, engines = make_engine(2)
    update(threads, engines)
    publish(2)
    update(threads, engines)
    for rank in range(2):
        client = connect("gap", rank=rank, world_size=2)
        pieces = {name: sliced(whole, rank, 0) for name, whole in weights_of(3).items()}
        if rank == 1:
            pieces["o"] = tensorhub.sliced(torch.zeros(1, Q), (HIDDEN, Q), (5, 0))
        client.register(pieces)
        client.publish(3)
    failed = update(threads, engines)
    assert all(isinstance(one, tensorhub.FailedPreconditionError) for one in failed), failed
    assert all('"o" is held by nobody in' in str(one) for one in failed), failed
    assert all(holds(engine.model, 2) for engine in engines)
    assert [engine.arrived.version for engine in engines] == [2, 2]
    publish(4)
    assert update(threads, engines) == [None] * 2
    assert all(holds(engine.model, 4) for engine in engines)


def test_pieces_without_a_place_are_refused_with_the_remedy(make_engine, connect):
    for rank in range(2):
        client = connect("trainer", rank=rank, world_size=2)
        client.register({"q": torch.zeros(4, HIDDEN)})
        client.publish(1)
    threads, engines = make_engine(1)
    (failed,) = update(threads, engines)
    assert isinstance(failed, tensorhub.FailedPreconditionError), failed
    assert "rank 0 of 2 published tensor 'q' without its place in the whole" in str(failed)
    assert "register_module" in str(failed)


def test_pieces_that_disagree_are_refused(make_engine, connect):
    for rank, whole in enumerate(((8, HIDDEN), (9, HIDDEN))):
        client = connect("trainer", rank=rank, world_size=2)
        client.register({"q": tensorhub.sliced(torch.zeros(4, HIDDEN), whole, (rank * 4, 0))})
        client.publish(1)
    threads, engines = make_engine(1)
    (failed,) = update(threads, engines)
    assert "'q' is a piece of F32[9, 6] on rank 1, and of F32[8, 6] on another" in str(failed)


def test_ranks_in_place_are_verified_against_the_trainer(make_engine, publish):
    publish(1)
    threads, engines = make_engine(2)
    update(threads, engines)
    trainers = publish(2)
    update(threads, engines)

    def verify(rank):
        return engines[rank].verify(60.0)

    found = threads.run(verify)
    assert [one.version for one in found] == [2, 2]
    assert {one.receipt for one in found} == {engines[0].arrived.receipt}
    assert [one.bytes for one in found] == [own_bytes(engine.model) for engine in engines]
    with torch.no_grad():
        engines[1].model.o[3, 2] += 1
    for trainer in trainers:
        trainer.unpublish()
    first, second = threads.run(verify)
    assert isinstance(second, tensorhub.DataLossError), second
    assert isinstance(first, tensorhub.Error), first
