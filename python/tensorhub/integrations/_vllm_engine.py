# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""vLLM's weight-transfer engine: one in each worker process, for vLLM 0.25 and newer.

An update fetches and verifies first, checks that names meet, and touches the model last, on all
ranks or on none. The fetch may be begun before it, while the engine generates: then the version is
staged.
"""

from __future__ import annotations

import contextlib
import dataclasses
import threading
import time
from collections.abc import Iterator
from typing import Any

import torch
from vllm.distributed.weight_transfer.base import WeightTransferEngine

from tensorhub._errors import Error, FailedPreconditionError
from tensorhub._layouts import TensorSpec
from tensorhub._verify import Receipt, verify_client
from tensorhub.integrations import _vllm_in_place, _vllm_lora, _vllm_model, _vllm_ranks
from tensorhub.integrations._lag import Lag, Watch
from tensorhub.integrations._plan import Plan
from tensorhub.integrations._receiver import Received, Receiver, followed
from tensorhub.integrations._settings import Settings
from tensorhub.integrations._stage import Arrived, Target
from tensorhub.integrations._staged import Staged
from tensorhub.integrations._twins import Twins
from tensorhub.integrations._vllm_infos import TensorHubInitInfo, TensorHubUpdateInfo, asked
from tensorhub.integrations.vllm import log, warn_if_untried

__all__ = ["TensorHubWeightTransferEngine"]


class TensorHubWeightTransferEngine(
    WeightTransferEngine[TensorHubInitInfo, TensorHubUpdateInfo]  # type: ignore[misc]
):
    """Puts published versions into this worker's model. vLLM calls it, in one thread."""

    init_info_cls = TensorHubInitInfo
    update_info_cls = TensorHubUpdateInfo
    # A draft model would be another model at the hub, with a receiver of its own.
    supports_draft_weight_update = False

    def __init__(self, config: Any, vllm_config: Any, device: Any, model: Any) -> None:
        super().__init__(config, vllm_config, device, model)
        self._receiver: Receiver | None = None
        self._settings = self._asked = Settings("", "")
        self._checked: list[TensorSpec] | None = None
        self._plan: Plan | None = None
        self._slices: Target | None = None  # once what this rank takes is known to be slices
        self._received: Received | None = None  # what the model was loaded from, if still there
        self.staged: Staged | None = None
        """What the next update puts into the model, if it is begun already."""
        self._watch: Watch | None = None
        self._busy = threading.Lock()
        self.arrived: Arrived | None = _vllm_ranks.take_started()
        """What the model holds, with its receipt; None if it came of something else, and after an
        update that failed while the model was changed."""
        self.torn = False
        """Whether the model has parts of two versions."""
        _vllm_ranks.note_engine(self)

    def init_transfer_engine(self, init_info: TensorHubInitInfo) -> None:
        """Joins the hub. InvalidArgumentError names a setting; UnavailableError: nobody answers."""
        settings = Settings.of(vars(init_info))
        if self.device.type == "cpu":
            _vllm_model.refuse_packed_once(self.model, self.model_config)
        _vllm_model.refuse_moved_experts(self.vllm_config)
        warn_if_untried()
        if self._receiver is not None and settings == self._asked:
            return  # what this engine holds stays held
        receiver, others = _vllm_ranks.joined(settings)
        self._leave(others)
        self._receiver, self._settings, self._asked = receiver, settings, settings
        receiver.peers.together(self._begin_watch)

    def start_weight_update(self) -> None:
        """Begins nothing: the model stays as it is until a version has arrived."""
        self._ready()

    def receive_weights(self, update_info: TensorHubUpdateInfo) -> None:
        """Fetches a version and puts it into the model.

        FailedPreconditionError: an update runs already, or names do not meet. Errors of the fetch
        as ``tensorhub.Client.fetch``. After each of these the model is as it was. An error of
        vLLM's own loader after that says that the model has parts of both; another update mends it.
        """
        with self._alone():
            began = time.monotonic()
            try:
                how = self._bring(update_info.number())
            finally:
                self._tell_watch()
            assert self.arrived is not None
            took = time.monotonic() - began
            self.arrived = dataclasses.replace(self.arrived, pause=took)
            log.info("TensorHub: %s, %s; vLLM stood still for %.3f s", self.arrived, how, took)

    def stage(self, number: int | None) -> int:
        """Begins to fetch a version into host memory (the latest one without a number), and returns
        its number. All ranks call it together. Whatever was staged before is given up.

        FailedPreconditionError: names do not meet, or this engine fetches in place.
        """
        wanted = asked("version", number)
        with self._alone():
            return self._ready().take(wanted, self._stage)

    def here(self) -> str:
        """How the groups begin in which this worker joins the hub."""
        self._ready()
        return self._settings.here()

    def lag(self) -> Lag:
        """Whether this engine is too far behind what is published. The first rank knows."""
        held = None if self.arrived is None else self.arrived.version
        newest = None if self._watch is None else self._watch.too_new()
        superseded = (self._slices or self._ready().stage).superseded
        return Lag(held, self._settings.max_lag, newest is not None or superseded, newest)

    def finish_weight_update(self) -> None:
        """Nothing is left to do: ``receive_weights`` ends with a whole model."""

    def verify(self, timeout: float) -> Receipt:
        """Whether the model has what was published; all ranks call it together.

        What vLLM keeps in another form than its loader was given is named, and not compared.
        DataLossError names what differs. FailedPreconditionError: no update has brought anything.
        """
        peers = self._ready().peers
        peers.together(self._check_copy)  # by itself, as the rest waits for all ranks
        receipts = peers.together(lambda: self._verify(timeout))
        return receipts[peers.rank]

    def shutdown(self) -> None:
        """Leaves the hub. The model stays as it is."""
        if self._receiver is not None:
            self._leave(_vllm_ranks.taken())

    @staticmethod
    def trainer_send_weights(
        iterator: Iterator[tuple[str, torch.Tensor]], trainer_args: Any
    ) -> None:
        """vLLM before 0.28 demands it. Trainers publish by ``tensorhub.torch.WholePublisher``."""
        raise NotImplementedError(
            "a trainer publishes by tensorhub.torch.WholePublisher, and vLLM's workers fetch"
        )

    def _leave(self, others: Receiver | None) -> None:
        """``others``: what this engine had joined the hub with, if it has that no more."""
        self._receiver = None
        self._end_staged()
        watch, self._watch = self._watch, None
        if watch is not None:
            watch.close()
        self._leave_place()
        self._checked = self._plan = None
        if others is not None:
            self._received = None
            others.close()

    def _ready(self) -> Receiver:
        if self._receiver is None:
            raise FailedPreconditionError("call init_weight_transfer_engine first")
        return self._receiver

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        if not self._busy.acquire(blocking=False):
            raise FailedPreconditionError(
                "an update runs already in this worker; wait for it to end"
            )
        try:
            yield
        finally:
            self._busy.release()

    def _bring(self, number: int | None) -> str:
        """Puts a version into the model, and says how."""
        if self.staged is not None and number in (None, self.staged.number):
            return self._put_staged()
        return self._ready().take(number, self._update)

    def _update(self, found: int, specs: list[TensorSpec]) -> str:
        self._check_all(found, specs)
        if self._slices is not None and not isinstance(self._slices, Twins):
            self._fetch_in_place(found, self._slices)
            return "in place"
        self._begin(found, specs)
        return self._put_staged()

    def _stage(self, found: int, specs: list[TensorSpec]) -> int:
        here = self.staged
        kept = here is not None and here.number == found and not here.error
        if all(self._ready().peers.gather(kept)):
            return found
        self._check_all(found, specs)
        if self._slices is not None and not isinstance(self._slices, Twins):
            raise FailedPreconditionError(
                "this vLLM fetches straight into its model, so nothing can be staged; set 'stage' "
                "instead of 'in_place'"
            )
        self._begin(found, specs)
        return found

    def _check_all(self, found: int, specs: list[TensorSpec]) -> None:
        """Ends what is staged. All ranks go on, or none."""
        self._end_staged()
        # The exchange also says that no rank fetches any more.
        self._ready().peers.together(lambda: self._check(found, specs))

    def _begin(self, found: int, specs: list[TensorSpec]) -> None:
        receiver, twins = self._ready(), self._slices
        if twins is None:
            self._received = None
            self.staged = Staged(found, specs, receiver.begin(found, specs))
            return
        if self._received is None:
            receiver.close()  # the model is served by the twins
        self.staged = Staged(found, specs, twins.begin(found))

    def _put_staged(self) -> str:
        """Puts what is staged into the model, as soon as all ranks have it."""
        staged, self.staged = self.staged, None
        assert staged is not None
        peers, fetching, twins = self._ready().peers, staged.fetching, self._slices
        if fetching is not None:
            fetching.hurry(self._settings.max_pause)
        if isinstance(twins, Twins) and fetching is not None:
            arrived = peers.together(lambda: followed(fetching, peers))[peers.rank]
            self.arrived, self.torn = None, True
            twins.copy()
            self.arrived, self.torn, self._received = arrived, False, None
            return "copied from host memory"
        received = self._ready().finish(staged.number, staged.specs, fetching)
        self.arrived, self.torn = None, True
        peers.together(lambda: self._load(received))
        self.arrived, self.torn, self._received = received.arrived, False, received
        if self._settings.in_place or self._settings.stage:
            self._take_slices(received)
        return "by vLLM's loader"

    def _end_staged(self) -> None:
        staged, self.staged = self.staged, None
        if staged is not None:
            staged.cancel()

    def _check(self, number: int, specs: list[TensorSpec]) -> None:
        """Whether the engine's own loading code takes these names, once for each layout; and
        whether no adapter is loaded that belongs to another version."""
        _vllm_lora.refuse_bound(number)
        if specs == self._checked:
            return
        quantized = self.model_config.quantization is not None
        plan = _vllm_model.plan_or_none(self.model, specs, quantized=quantized)
        if plan is not None:
            _vllm_model.check_names(plan, number)
        self._leave_place()  # of another layout
        self._plan, self._checked = plan, specs

    def _load(self, received: Received) -> None:
        try:
            _vllm_model.reload(self.model, self.model_config, received.tensors.items())
            _vllm_model.detach(self.model, received.memory)
        except Exception as error:
            raise Error(
                f"vLLM could not load version {received.arrived.version}: "
                f"{type(error).__name__}: {error}; the model has parts of it and of what it had "
                "before, so update again before it serves"
            ) from error

    def _take_slices(self, received: Received) -> None:
        """From now on each rank fetches its slices, if what was just loaded shows that it may.

        On all ranks or on none. The version in host memory is served until the first of the next
        ones is in the model.
        """
        before = self._checked[0].before if self._checked else ""
        here = _vllm_in_place.Loaded(
            self.model, self.vllm_config, self._plan, received.tensors, before
        )
        self._slices, why_not = _vllm_in_place.join(
            here, self._settings, self._ready().peers, Twins if self._settings.stage else Target
        )
        for line in why_not:
            log.warning("TensorHub: updates go through vLLM's loader: %s", line)
        if why_not:
            self._settings = dataclasses.replace(self._settings, in_place=False, stage=False)
        elif self._settings.stage:
            log.info("TensorHub: from now on, versions are copied from host memory of each rank")
        else:
            log.info("TensorHub: from now on, versions are fetched into the model's own memory")

    def _fetch_in_place(self, number: int, target: Target) -> None:
        """Requires that the engine is paused: the model changes while the fetch runs."""
        peers = self._ready().peers
        if self.device.type != "cpu":
            torch.accelerator.synchronize()  # what was enqueued reads the old version
        before, self.arrived = self.arrived, None
        self.arrived, error = _vllm_in_place.fetch(
            target, peers, number, before, self._settings.max_pause
        )
        self.torn = self.arrived is None
        if error is not None:
            raise error
        self._received = None
        self._ready().close()

    def _check_copy(self) -> None:
        """Whether the model still has what was copied into it."""
        if isinstance(self._slices, Twins) and self._received is None and self.arrived is not None:
            self._slices.check(self.arrived.version)

    def _verify(self, timeout: float) -> Receipt:
        received = self._received
        if received is None and self._slices is not None and self.arrived is not None:
            found = verify_client(self._slices.client, timeout)
            kept = () if self._plan is None else tuple(self._plan.kept)
            return dataclasses.replace(found, unchecked=kept)
        if received is None:
            raise FailedPreconditionError(
                "no update has brought this model a version, or the next one is being staged; call "
                "update_weights first"
            )
        here = self._ready().stage
        staged = verify_client(here.client, timeout) if here.block is not None else None
        number = received.arrived.version
        compared = _vllm_in_place.compared(self.model, self._plan, received.tensors, number)
        receipt = staged.receipt if staged is not None else received.arrived.receipt
        return Receipt(number, receipt, *compared)

    def _begin_watch(self) -> None:
        """On the first rank; the others do what it does."""
        if self._settings.max_lag is not None and self._ready().peers.rank == 0:
            client = self._settings.beside("watch")
            self._watch = Watch(client, self._settings.max_lag)
            self._tell_watch()

    def _tell_watch(self) -> None:
        if self._watch is not None:
            self._watch.have(None if self.arrived is None else self.arrived.version)

    def _leave_place(self) -> None:
        """No peer reads the model any more, so it may be written to in another way."""
        target, self._slices = self._slices, None
        if target is not None:
            target.close()
