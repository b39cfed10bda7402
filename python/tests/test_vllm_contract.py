# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""What the vLLM plug-in promises, against a stand-in for vLLM (fake_vllm.py) and a real hub."""

import importlib
import logging
import threading
import types

import pytest
import tensorhub

torch = pytest.importorskip("torch", reason="torch is not installed in this environment")

import fake_vllm  # noqa: E402

TRIED = "0.32.0"


class Model(torch.nn.Module):
    """One fused parameter, as engines have them, and a plain one."""

    def __init__(self):
        super().__init__()
        self.qk = torch.nn.Parameter(torch.zeros(6, 4), requires_grad=False)
        self.norm = torch.nn.Parameter(torch.zeros(4), requires_grad=False)
        self.breaks = False

    def load_weights(self, weights):
        for name, tensor in weights:
            if name not in ("q", "k", "norm"):
                raise ValueError(f"There is no module or parameter named {name!r}")
            if self.breaks and tensor.device.type != "meta":
                raise RuntimeError("the loader breaks")
            self._load(name, tensor)
        return {"qk", "norm"}

    def _load(self, name, tensor):
        parameter = self.norm if name == "norm" else self.qk
        if parameter.is_meta and not tensor.is_meta:
            parameter = torch.nn.Parameter(
                torch.zeros(parameter.shape, dtype=parameter.dtype), False
            )
            self._parameters["norm" if name == "norm" else "qk"] = parameter
        begin = {"q": 0, "k": 4}.get(name, 0)
        parameter.data.narrow(0, begin, tensor.shape[0]).copy_(tensor)


def weights_of(value):
    return {
        "q": torch.full((4, 4), float(value)), "k": torch.full((2, 4), value + 0.5),
        "norm": torch.full((4,), -float(value)),
    }  # fmt: skip


def holds(model, value):
    theirs = weights_of(value)
    fused = torch.cat([theirs["q"], theirs["k"]])
    return torch.equal(model.qk, fused) and torch.equal(model.norm, theirs["norm"])


@pytest.fixture
def plugin(monkeypatch):
    """The plug-in's module in a process that has the stand-in."""
    fake_vllm.install(monkeypatch, TRIED)
    return importlib.import_module("tensorhub.integrations.vllm")


@pytest.fixture
def publish(connect):
    trainers = []

    def publish(version, tensors):
        trainer = connect(f"trainer-{len(trainers)}")
        trainers.append(trainer)
        trainer.register(tensors)
        trainer.publish(version)
        return trainer

    return publish


@pytest.fixture
def make_engine(plugin, server, connect):
    engines = []

    def make(
        model=None, *, device="cpu", start=True, quantization=None, tied=False, eplb=False, **info
    ):
        plugin.register()
        module, name = fake_vllm.Factory.registry["tensorhub"]
        config = types.SimpleNamespace(
            quantization=quantization,
            hf_text_config=types.SimpleNamespace(tie_word_embeddings=tied),
        )
        engine = getattr(importlib.import_module(module), name)(
            None, fake_vllm.vllm_config(config, enable_eplb=eplb), torch.device(device),
            Model() if model is None else model,
        )  # fmt: skip
        engines.append(engine)
        if start:
            given = {"server": server, "model": connect.model, **info}
            engine.init_transfer_engine(engine.init_info_cls(**given))
        return engine

    yield make
    for engine in engines:
        engine.shutdown()


def test_registering_is_idempotent_and_connects_to_nobody(plugin, monkeypatch):
    monkeypatch.setattr(tensorhub, "connect", lambda *_, **__: pytest.fail("it connected"))
    plugin.register()
    plugin.register()
    assert fake_vllm.Factory.registry.keys() == fake_vllm.LOADERS.keys() == {"tensorhub"}


def test_an_old_vllm_is_left_alone_and_an_untried_one_warned_of(monkeypatch, caplog):
    fake_vllm.install(monkeypatch, "0.24.1")
    old = importlib.import_module("tensorhub.integrations.vllm")
    with caplog.at_level(logging.WARNING, "vllm.tensorhub"):
        old.register()
    assert not fake_vllm.Factory.registry
    assert "needs vLLM 0.25 or newer, and this is 0.24.1" in caplog.text
    fake_vllm.install(monkeypatch, "0.99.0")
    with caplog.at_level(logging.WARNING, "vllm.tensorhub"):
        importlib.import_module("tensorhub.integrations.vllm").warn_if_untried()
    assert "not tried with vLLM 0.99.0" in caplog.text
    assert TRIED in caplog.text


def test_an_update_brings_the_version_asked_for(make_engine, publish):
    engine = make_engine()
    publish(1, weights_of(1))
    publish(2, weights_of(2))
    for info, value in (({}, 2), ({"version": 1}, 1), ({"version": 2}, 2)):
        engine.start_weight_update()
        engine.update_weights(info)
        engine.finish_weight_update()
        assert holds(engine.model, value)
        assert engine.arrived.version == value


def test_two_workers_have_the_same_receipt_and_the_second_reads_from_peers(
    make_engine, publish, connect
):
    first = make_engine()
    trainer = publish(1, weights_of(1))
    first.update_weights({})
    groups = [replica.group for replica in trainer.list()[-1].replicas]
    assert any(group.startswith("vllm-") for group in groups), groups
    reader = connect("reader")
    reader.register({name: torch.zeros_like(value) for name, value in weights_of(1).items()})
    receipt = reader.fetch(tensorhub.latest()).identity
    assert receipt.hex() == first.arrived.receipt


def test_the_model_is_not_touched_by_what_fails_before(make_engine, publish):
    engine = make_engine()
    publish(1, weights_of(1))
    engine.update_weights({})
    places = [engine.model.qk.data_ptr(), engine.model.norm.data_ptr()]
    publish(2, {**weights_of(2), "q.of.another": torch.zeros(2)})
    with pytest.raises(tensorhub.FailedPreconditionError, match=r"named 'q\.of\.another'"):
        engine.update_weights({})
    partly = weights_of(3)
    del partly["norm"]
    publish(3, partly)
    with pytest.raises(tensorhub.FailedPreconditionError, match="nothing published goes to norm"):
        engine.update_weights({})
    with pytest.raises(tensorhub.NotFoundError):
        engine.update_weights({"version": 77})
    assert holds(engine.model, 1)
    assert [engine.model.qk.data_ptr(), engine.model.norm.data_ptr()] == places
    assert engine.arrived.version == 1


@pytest.mark.parametrize("lacking", ["q", "k"])
@pytest.mark.parametrize("way", ["loader", "in_place", "stage"])
def test_a_part_of_a_fused_weight_is_not_enough(make_engine, publish, way, lacking):
    engine = make_engine(**({} if way == "loader" else {way: True}))
    publish(1, weights_of(1))
    engine.update_weights({"version": 1})
    partial = {name: value for name, value in weights_of(2).items() if name != lacking}
    publish(2, partial)
    there = "k" if lacking == "q" else "q"
    said = rf"version 2 has only a part .* qk \(it would keep \d+ of its 24 .* gets {there}\)"
    with pytest.raises(tensorhub.FailedPreconditionError, match=said):
        engine.update_weights({"version": 2})
    assert holds(engine.model, 1)
    assert engine.verify(20).version == 1


def test_a_part_is_not_enough_to_start_with(plugin, server, connect, publish):
    publish(1, {name: value for name, value in weights_of(1).items() if name != "k"})
    plugin.register()
    extra = {"server": server, "model": connect.model}
    loader = fake_vllm.LOADERS["tensorhub"](types.SimpleNamespace(model_loader_extra_config=extra))
    with pytest.raises(tensorhub.FailedPreconditionError, match="only a part of what goes to qk"):
        loader.load_weights(Model(), types.SimpleNamespace(quantization=None))


@pytest.mark.parametrize("wrong", [-1, "7", True, 1.5, 2**64])
def test_what_is_no_version_is_named(make_engine, publish, wrong):
    publish(1, weights_of(1))
    for engine in (make_engine(), make_engine(stage=True)):
        with pytest.raises(tensorhub.InvalidArgumentError, match=r"^version .* leave it out"):
            engine.update_weights({"version": wrong})
    with pytest.raises(tensorhub.InvalidArgumentError, match=r"^version .* leave it out"):
        engine.stage(wrong)


def test_names_that_do_not_meet_are_listed_up_to_ten(make_engine, publish):
    class Wide(Model):
        def __init__(self):
            super().__init__()
            for number in range(12):
                setattr(self, f"more_{number:02}", torch.nn.Parameter(torch.zeros(1), False))

    engine = make_engine(Wide())
    publish(1, weights_of(1))
    with pytest.raises(tensorhub.FailedPreconditionError) as caught:
        engine.update_weights({})
    assert "more_09 and 2 more;" in str(caught.value)
    assert "more_10" not in str(caught.value)


def test_a_quantised_model_may_have_parameters_of_its_own(make_engine, publish):
    model = Model()
    model.scale = torch.nn.Parameter(torch.ones(1), requires_grad=False)
    publish(1, weights_of(1))
    for way in ({}, {"stage": True}):
        engine = make_engine(model, quantization="fp8", **way)
        engine.update_weights({})
        engine.update_weights({})
        assert holds(model, 1)
        assert model.scale == 1
        assert engine.verify(20).unchecked == ("scale",)
        engine.shutdown()


class Quantised(Model):
    """As a checkpoint of whole numbers has it, each with a scale for all rows."""

    def __init__(self):
        super().__init__()
        self.qk = torch.nn.Parameter(torch.zeros(6, 4, dtype=torch.int8), requires_grad=False)
        self.more = torch.nn.Module()
        self.more.packed = torch.nn.Parameter(torch.zeros(2, 2), requires_grad=False)
        self.more.scale = torch.nn.Parameter(torch.ones(2), requires_grad=False)
        self.register_parameter("packed_away", None)  # a kernel has its bytes
        self.cache = torch.nn.Module()
        self.cache.scale = torch.nn.Parameter(torch.ones(1), requires_grad=False)

    def load_weights(self, weights):
        for name, tensor in weights:
            if name == "packed":
                self.more.packed.data.copy_(tensor)
            else:
                self._load(name, tensor)


def test_a_quantised_model_takes_nothing_that_is_not(make_engine, publish, plugin, server, connect):
    plugin.register()
    extra = {"server": server, "model": connect.model}
    loader = fake_vllm.LOADERS["tensorhub"](types.SimpleNamespace(model_loader_extra_config=extra))
    config = types.SimpleNamespace(quantization="int8")
    engine, fresh = make_engine(Quantised(), quantization="int8"), Quantised()
    whole = {"packed": torch.zeros(2, 2), **weights_of(1)}
    numbers = {name: whole[name].to(torch.int8) for name in ("q", "k")}
    bare = {"norm": whole["norm"], **numbers}
    for version, tensors, said in (
        (1, whole, "version 1 has k, q as float32, and this engine has them quantised, as int8"),
        (2, bare, r"nothing published goes to more\.packed; of"),
    ):
        publish(version, tensors)
        with pytest.raises(tensorhub.FailedPreconditionError, match=said):
            engine.update_weights({})
        with pytest.raises(tensorhub.FailedPreconditionError, match=said):
            loader.load_weights(fresh, config)
        for model in (engine.model, fresh):
            assert torch.equal(model.norm, torch.zeros(4))
            assert torch.equal(model.qk, torch.zeros(6, 4).to(model.qk.dtype))
            assert model.packed_away is None
    publish(3, {**whole, **numbers})
    engine.update_weights({})
    loader.load_weights(fresh, config)
    for model in (engine.model, fresh):
        assert torch.equal(model.qk, torch.cat([numbers["q"], numbers["k"]]))
        assert model.norm[0] == -1
        assert model.packed_away is None
    importlib.import_module("tensorhub.integrations._vllm_ranks").release()


def test_a_loader_that_breaks_says_what_the_model_has(make_engine, publish):
    engine = make_engine()
    publish(1, weights_of(1))
    engine.update_weights({})
    publish(2, weights_of(2))
    engine.model.breaks = True
    with pytest.raises(tensorhub.Error, match="the loader breaks; the model has parts of it"):
        engine.update_weights({})
    assert engine.arrived is None
    assert not engine.model.qk.is_meta
    engine.model.breaks = False
    engine.update_weights({})
    assert holds(engine.model, 2)


def test_what_a_loader_keeps_of_the_staging_is_copied(make_engine, publish):
    class Keeps(Model):
        def load_weights(self, weights):
            for name, tensor in weights:
                if name == "norm" and not tensor.is_meta:
                    self.register_buffer("kept", tensor)
                self._load(name, tensor)

    engine = make_engine(Keeps())
    publish(1, weights_of(1))
    engine.update_weights({})
    kept = engine.model.kept
    publish(2, weights_of(2))
    engine._receiver.fetch(*engine._receiver.describe(2))
    assert torch.equal(kept, weights_of(1)["norm"])


def test_an_update_while_one_runs_is_refused(make_engine, publish):
    entered, go_on = threading.Event(), threading.Event()

    class Waits(Model):
        def load_weights(self, weights):
            entered.set()
            assert go_on.wait(30)
            return super().load_weights(weights)

    engine = make_engine(Waits())
    publish(1, weights_of(1))
    running = threading.Thread(target=engine.update_weights, args=({},))
    running.start()
    assert entered.wait(30)
    try:
        with pytest.raises(tensorhub.FailedPreconditionError, match="runs already"):
            engine.update_weights({})
    finally:
        go_on.set()
        running.join()
    assert holds(engine.model, 1)


def test_tied_embeddings_are_refused_on_a_cpu(make_engine):
    with pytest.raises(tensorhub.FailedPreconditionError, match="ties lm_head"):
        make_engine(tied=True)


class UnquantizedFusedMoEMethod:
    moe_kernel = None


def test_experts_are_packed_by_a_new_kernel_or_refused_on_a_cpu(make_engine, publish):
    class Packs(Model):
        def __init__(self):
            super().__init__()
            self.experts, self.kept = torch.nn.Module(), torch.nn.Module()
            for module in (self.experts, self.kept):
                module.quant_method = UnquantizedFusedMoEMethod()

        def load_weights(self, weights):
            weights = list(weights)
            super().load_weights(weights)
            if not weights[0][1].is_meta:
                assert not self.experts.quant_method.moe_kernel
                self.experts.quant_method.moe_kernel = "new"

    model = Packs()
    with pytest.raises(tensorhub.FailedPreconditionError, match="experts is a mixture of experts"):
        make_engine(model)
    model.experts.quant_method.moe_kernel = model.kept.quant_method.moe_kernel = "old"
    engine = make_engine(model)
    publish(1, weights_of(1))
    engine.update_weights({})
    kernels = [one.quant_method.moe_kernel for one in (model.experts, model.kept)]
    assert kernels == ["new", "old"]


def test_quantised_layers_are_refused_on_a_cpu(make_engine):
    class CompressedTensorsLinearMethod:
        pass

    model = Model()
    model.qk_proj = torch.nn.Module()
    model.qk_proj.quant_method = CompressedTensorsLinearMethod()
    with pytest.raises(tensorhub.FailedPreconditionError, match=r"qk_proj is quantised \(Comp"):
        make_engine(model, quantization="compressed-tensors")


def test_experts_that_move_between_ranks_are_refused(make_engine):
    with pytest.raises(tensorhub.FailedPreconditionError, match=r"ranks \(enable_eplb\)"):
        make_engine(eplb=True)


def test_settings_come_from_the_caller_and_then_from_the_environment(make_engine, monkeypatch):
    engine = make_engine(start=False)
    with pytest.raises(tensorhub.InvalidArgumentError, match="set TENSORHUB_SERVER"):
        engine.init_transfer_engine(engine.init_info_cls(model="m"))
    with pytest.raises(tensorhub.FailedPreconditionError, match="init_weight_transfer_engine"):
        engine.start_weight_update()
    from tensorhub.integrations._settings import Settings

    variables = {
        "TENSORHUB_SERVER": "hub:1",
        "TENSORHUB_MODEL": "a",
        "TENSORHUB_FETCH_TIMEOUT": "5s",
        "TENSORHUB_IN_PLACE": "1",
    }
    found = Settings.of({"model": "b"}, variables)
    assert (found.server, found.model, found.timeout, found.in_place) == ("hub:1", "b", 5.0, True)
    for given, said in (
        ({"modle": "b"}, "'modle' is no setting"),
        ({"spot": 1}, "'spot' is a int"),
    ):
        with pytest.raises(tensorhub.InvalidArgumentError, match=said):
            Settings.of(given, variables)
    with pytest.raises(tensorhub.InvalidArgumentError, match="TENSORHUB_SPOT is 'perhaps'"):
        Settings.of({}, {**variables, "TENSORHUB_SPOT": "perhaps"})


def test_the_load_format_fills_a_fresh_model(plugin, server, connect, publish):
    publish(1, weights_of(1))
    plugin.register()
    extra = {"server": server, "model": connect.model}
    loader = fake_vllm.LOADERS["tensorhub"](types.SimpleNamespace(model_loader_extra_config=extra))
    model = Model()
    loader.load_weights(model, types.SimpleNamespace(quantization=None))
    assert holds(model, 1)
    model.more = torch.nn.Parameter(torch.zeros(1))
    with pytest.raises(tensorhub.FailedPreconditionError, match="nothing published goes to more;"):
        loader.load_weights(model, types.SimpleNamespace(quantization=None))
    importlib.import_module("tensorhub.integrations._vllm_ranks").release()


def test_each_engine_takes_its_part_of_a_bundle(make_engine, publish):
    actor, teacher = make_engine(part="actor", in_place=True), make_engine(part="teacher")
    for version in (1, 2):
        both = {"actor": weights_of(version), "teacher": weights_of(-version)}
        publish(version, {f"{part}.{name}": tensor for part, tensors in both.items()
                          for name, tensor in tensors.items()})  # fmt: skip
        actor.update_weights({})
        teacher.update_weights({})
        assert holds(actor.model, version)
        assert holds(teacher.model, -version)
    assert actor.arrived.bytes_read == teacher.arrived.bytes_read == 112
    with pytest.raises(
        tensorhub.FailedPreconditionError,
        match=r"no tensor of it is of 'judge'.*names here begin with actor, teacher",
    ):
        make_engine(part="judge").update_weights({})


def test_in_place_from_the_second_version_on(make_engine, publish):
    engine = make_engine(in_place=True)
    publish(1, weights_of(1))
    engine.update_weights({})
    assert holds(engine.model, 1)
    place = engine.model.qk.data_ptr()
    publish(2, weights_of(2))
    engine.model.breaks = True  # vLLM's loader has no part in it
    engine.update_weights({})
    assert holds(engine.model, 2)
    assert engine.model.qk.data_ptr() == place
    with pytest.raises(tensorhub.NotFoundError):
        engine.update_weights({"version": 77})
    publish(3, {**weights_of(3), "more": torch.zeros(2)})
    with pytest.raises(tensorhub.FailedPreconditionError, match="named 'more'"):
        engine.update_weights({})
    assert holds(engine.model, 2)
    assert engine.arrived.version == 2
    publish(4, weights_of(4))
    engine.update_weights({})
    assert holds(engine.model, 4)


def test_not_in_place_where_the_engine_repacks(make_engine, publish, monkeypatch, caplog):
    finalize = fake_vllm.finalize_layerwise_reload

    def repack(model, config):
        finalize(model, config)
        model.qk.data.copy_(model.qk.flip(0))

    engine = make_engine(in_place=True)
    import sys

    reload = sys.modules["vllm.model_executor.model_loader.reload"]
    monkeypatch.setattr(reload, "finalize_layerwise_reload", repack)
    publish(1, {**weights_of(1), "q": torch.rand(4, 4)})
    with caplog.at_level(logging.WARNING, "vllm.tensorhub"):
        engine.update_weights({})
    assert "k, q: vLLM keeps it in another form" in caplog.text
    assert engine._slices is None


def test_an_engine_says_what_it_took_and_whether_it_still_has_it(make_engine, publish, plugin):
    engine = make_engine()
    llm = fake_vllm.LLM(fake_vllm.WorkerBase(engine))
    assert plugin.arrived(llm) == [None]
    with pytest.raises(tensorhub.FailedPreconditionError, match="call update_weights first"):
        tensorhub.verify(llm)
    publish(1, weights_of(1))
    engine.update_weights({})
    (took,), (receipt,) = plugin.arrived(llm), tensorhub.verify(llm)
    assert (took.version, took.bytes_read) == (1, 112)
    assert receipt == tensorhub.Receipt(1, took.receipt, 3, 112)
    with torch.no_grad():
        engine.model.qk[5, 1] += 1
    with pytest.raises(tensorhub.DataLossError, match="version 1: k differ; somebody wrote into"):
        tensorhub.verify(llm)
    engine.update_weights({})
    assert tensorhub.verify(llm) == [receipt]


def test_what_is_kept_in_another_form_is_named_and_not_compared(make_engine, publish):
    engine = make_engine()
    llm = fake_vllm.LLM(fake_vllm.WorkerBase(engine))
    publish(1, weights_of(1))
    engine.update_weights({})
    engine.model.qk = torch.nn.Parameter(torch.zeros(0), requires_grad=False)
    (receipt,) = tensorhub.verify(llm)
    assert (receipt.tensors, receipt.unchecked) == (1, ("k", "q"))


def test_another_vllm_is_told_that_it_has_no_plug_in(plugin):
    plugin.register()
    llm = fake_vllm.LLM(fake_vllm.WorkerBase(None))
    with pytest.raises(tensorhub.FailedPreconditionError, match="start it with"):
        plugin.arrived(llm)
