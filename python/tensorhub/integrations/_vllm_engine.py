# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""vLLM's weight-transfer engine: one in each worker process, for vLLM 0.25 and newer.

An update fetches and verifies first, checks that names meet, and touches the model last, on all
ranks or on none.
"""

from __future__ import annotations

import dataclasses
import threading
import time
from collections.abc import Iterator
from typing import Any, NoReturn

import torch
from vllm.distributed.weight_transfer.base import WeightTransferEngine

from tensorhub._errors import AbortedError, Error, FailedPreconditionError
from tensorhub._layouts import TensorSpec
from tensorhub._verify import Receipt, verify_client
from tensorhub.integrations import _vllm_in_place, _vllm_model, _vllm_ranks
from tensorhub.integrations._plan import Plan
from tensorhub.integrations._receiver import Peers, Received, Receiver
from tensorhub.integrations._settings import Settings
from tensorhub.integrations._stage import Arrived, Member, Target
from tensorhub.integrations._vllm_infos import TensorHubInitInfo, TensorHubUpdateInfo
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
        self._settings = Settings("", "")
        self._checked: list[TensorSpec] | None = None
        self._plan: Plan | None = None
        self._in_place: Target | None = None
        self._received: Received | None = None  # what the model was loaded from, if not in place
        self._busy = threading.Lock()
        self.arrived: Arrived | None = None
        """What the model holds, with its receipt; None before the first update and after one that
        failed while the model was changed."""

    def init_transfer_engine(self, init_info: TensorHubInitInfo) -> None:
        """Joins the hub. InvalidArgumentError names a setting; UnavailableError: nobody answers."""
        settings = Settings.of(vars(init_info))
        if self.device.type == "cpu":
            _vllm_model.refuse_packed_once(self.model, self.model_config)
        warn_if_untried()
        self.shutdown()
        receiver = _vllm_ranks.receiver(settings)
        receiver.peers.together(receiver.connect)
        self._receiver, self._settings = receiver, settings

    def start_weight_update(self) -> None:
        """Begins nothing: the model stays as it is until a version has arrived."""
        self._ready()

    def receive_weights(self, update_info: TensorHubUpdateInfo) -> None:
        """Fetches a version and puts it into the model.

        FailedPreconditionError: an update runs already, or names do not meet. Errors of the fetch
        as ``tensorhub.Client.fetch``. After each of these the model is as it was. An error of
        vLLM's own loader after that says that the model has parts of both; another update mends it.
        """
        if not self._busy.acquire(blocking=False):
            raise FailedPreconditionError(
                "an update runs already in this worker; wait for it to end"
            )
        try:
            self._ready().take(update_info.number(), self._update)
        finally:
            self._busy.release()

    def finish_weight_update(self) -> None:
        """Nothing is left to do: ``receive_weights`` ends with a whole model."""

    def verify(self, timeout: float) -> Receipt:
        """Whether the model has what was published; all ranks call it together.

        What vLLM keeps in another form than its loader was given is named, and not compared.
        DataLossError names what differs. FailedPreconditionError: no update has brought anything.
        """
        peers = self._ready().peers
        receipts = peers.together(lambda: self._verify(timeout))
        return receipts[peers.rank]

    def shutdown(self) -> None:
        """Leaves the hub. The model stays as it is."""
        receiver, self._receiver = self._receiver, None
        self._checked = self._plan = self._received = None
        self._leave_place()
        if receiver is not None:
            _vllm_ranks.release()

    @staticmethod
    def trainer_send_weights(
        iterator: Iterator[tuple[str, torch.Tensor]], trainer_args: Any
    ) -> None:
        """vLLM before 0.28 demands it. Trainers publish by ``tensorhub.torch.WholePublisher``."""
        raise NotImplementedError(
            "a trainer publishes by tensorhub.torch.WholePublisher, and vLLM's workers fetch"
        )

    def _ready(self) -> Receiver:
        if self._receiver is None:
            raise FailedPreconditionError("call init_weight_transfer_engine first")
        return self._receiver

    def _update(self, found: int, specs: list[TensorSpec]) -> None:
        receiver = self._ready()
        receiver.peers.together(lambda: self._check(found, specs))
        if self._in_place is not None:
            self._fetch_in_place(found)
            return
        self._received = None
        received = receiver.fetch(found, specs)
        begin = time.monotonic()
        self.arrived = None
        receiver.peers.together(lambda: self._load(received))
        self.arrived, self._received = received.arrived, received
        log.info("TensorHub: %s, loaded in %.3f s", received.arrived, time.monotonic() - begin)
        if self._settings.in_place:
            self._go_in_place(received)

    def _check(self, number: int, specs: list[TensorSpec]) -> None:
        """Once for each layout: whether the engine's own loading code takes these names."""
        if specs == self._checked:
            return
        quantized = self.model_config.quantization is not None
        plan = _vllm_model.plan_or_none(self.model, specs)
        if plan is not None:
            _vllm_model.check_names(plan, number, quantized=quantized)
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

    def _go_in_place(self, received: Received) -> None:
        """Registers the model itself, if what was just loaded shows that this is right.

        On all ranks or on none. The version in host memory is served until the first fetch in place
        has succeeded.
        """
        why_not = self._register_model(received, self._ready().peers)
        for line in why_not:
            log.warning("TensorHub: updates go through vLLM's loader: %s", line)
        if why_not:
            self._settings = dataclasses.replace(self._settings, in_place=False)
        else:
            log.info("TensorHub: from now on, versions are fetched into the model's own memory")

    def _register_model(self, received: Received, peers: Peers) -> list[str]:
        """Why the model cannot be fetched into; if nothing is in the way, it is registered."""
        ranks = len(peers.gather(None))
        found, mine = self._views(received, ranks)
        why_not = _vllm_in_place.of_ranks(peers.gather(mine))
        if why_not:
            return why_not
        group = peers.gather(self._settings.group_here())[0]
        target = Target(self._settings, Member(group, peers.rank, ranks))
        complaint = ""
        try:
            target.register(found)
        except Error as error:
            complaint = str(error)
        why_not = _vllm_in_place.of_ranks(peers.gather([complaint] if complaint else []))
        if why_not:
            target.close()
        else:
            self._in_place = target
        return why_not

    def _views(self, received: Received, ranks: int) -> tuple[dict[str, Any], list[str]]:
        """What this rank would register, and why it cannot."""
        reason = _vllm_in_place.obstacles(self.model, self.vllm_config)
        if reason or self._plan is None:
            return {}, [reason or "what the loader does could not be recorded"]
        found, reasons = _vllm_in_place.views(self.model, self._plan, received.tensors, ranks)
        return found, _vllm_in_place.lines(reasons)

    def _fetch_in_place(self, number: int) -> None:
        """Requires that the engine is paused: the model changes while the fetch runs."""
        target, peers = self._in_place, self._ready().peers
        assert target is not None
        if self.device.type != "cpu":
            torch.accelerator.synchronize()  # what was enqueued reads the old version
        before, self.arrived = self.arrived, None
        failed: list[Error] = []
        arrived = None
        try:
            arrived = target.fetch(number)
        except Error as error:
            failed.append(error)
        held = peers.gather((bool(failed), target.client.held()))
        if any(broke for broke, _ in held):
            self._did_not_arrive(number, before, failed, [version for _, version in held])
        self.arrived, self._received = arrived, None
        self._ready().close()
        log.info("TensorHub: %s, in place", self.arrived)

    def _did_not_arrive(
        self, number: int, before: Arrived | None, failed: list[Error], held: list[int | None]
    ) -> NoReturn:
        """Raises on each rank what went wrong there, or elsewhere."""
        error = failed[0] if failed else AbortedError("another rank of this engine could not fetch")
        if before is not None and all(version == before.version for version in held):
            self.arrived = before
            raise error
        raise type(error)(
            f"version {number} did not arrive whole: {error}; the model is fetched into, and has "
            "parts of it and of what it had before: update again before it serves"
        ) from error

    def _verify(self, timeout: float) -> Receipt:
        received = self._received
        if received is None and self._in_place is not None and self.arrived is not None:
            return verify_client(self._in_place.client, timeout)
        if received is None:
            raise FailedPreconditionError(
                "no update has brought this model a version; call update_weights first"
            )
        here = self._ready().stage
        staged = verify_client(here.client, timeout) if here.block is not None else None
        number = received.arrived.version
        found = _vllm_in_place.compared(self.model, self._plan, received.tensors, number)
        receipt = staged.receipt if staged is not None else received.arrived.receipt
        return Receipt(number, receipt, *found)

    def _leave_place(self) -> None:
        """No peer reads the model any more, so it may be written to in another way."""
        target, self._in_place = self._in_place, None
        if target is not None:
            target.close()
