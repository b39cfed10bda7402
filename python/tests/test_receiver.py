# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""The ranks of an engine receive together; here two threads are two ranks."""

import threading
import time

import pytest
import tensorhub

torch = pytest.importorskip("torch", reason="torch is not installed in this environment")

from tensorhub.integrations import _receiver  # noqa: E402
from tensorhub.integrations._memory import Block, Ticket  # noqa: E402
from tensorhub.integrations._settings import Settings  # noqa: E402

RANKS = 2


def until_lost(client, number):
    """The copy for which its unpublish waited goes once a newer version is out, and not before."""
    deadline = time.monotonic() + 30
    while any(one.version == number and one.replicas for one in client.list()):
        assert time.monotonic() < deadline, f"version {number} is still held"
        time.sleep(0.005)


class Ranks(_receiver.Peers):
    def __init__(self, rank, barrier, given):
        self.rank = rank
        self._barrier = barrier
        self._given = given

    def gather(self, value):
        self._given[self.rank] = value
        self._barrier.wait(30)
        values = list(self._given)
        self._barrier.wait(30)
        return values


def on_all_ranks(step):
    """step(peers) on each rank; what each returned or raised."""
    barrier, given, outcomes = threading.Barrier(RANKS), [None] * RANKS, [None] * RANKS

    def run(rank):
        try:
            outcomes[rank] = step(Ranks(rank, barrier, given))
        except Exception as error:
            outcomes[rank] = error

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(RANKS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return outcomes


def test_a_step_that_fails_on_one_rank_fails_on_all():
    def step(peers):
        def fails_on_rank_1():
            if peers.rank == 1:
                raise KeyError("it broke")
            return peers.rank

        return peers.together(fails_on_rank_1)

    first, second = on_all_ranks(step)
    assert isinstance(first, tensorhub.AbortedError)
    assert "rank 1" in str(first)
    assert "it broke" in str(first)
    assert isinstance(second, KeyError)


@pytest.mark.parametrize(("share", "holders"), [(True, 1), (False, 2)])
def test_the_ranks_of_a_host_have_one_copy_if_they_share(server, connect, share, holders):
    trainer = connect("trainer")
    weights = {"w": torch.arange(1000.0), "nothing": torch.zeros(0, 4)}
    trainer.register(weights)
    trainer.publish(1)
    settings = Settings(server, connect.model, share=share)

    def step(peers):
        receiver = _receiver.Receiver(settings, peers)
        received = receiver.fetch(*receiver.describe(None))
        replicas = peers.gather(trainer.list()[-1].replicas)[0]
        tensors = {name: tensor.clone() for name, tensor in received.tensors.items()}
        peers.gather(None)  # nobody closes what another one looks at
        receiver.close()
        return received.arrived, tensors, replicas

    outcomes = on_all_ranks(step)
    for outcome in outcomes:
        assert not isinstance(outcome, Exception), outcome
        arrived, tensors, replicas = outcome
        assert arrived.version == 1
        assert tensors["nothing"].shape == (0, 4)
        assert torch.equal(tensors["w"], weights["w"])
        assert sum(one.group.startswith("vllm-") for one in replicas) == holders
    assert outcomes[0][0].receipt == outcomes[1][0].receipt != ""


def test_a_layout_that_changes_gets_memory_anew(server, connect):
    receiver = _receiver.Receiver(Settings(server, connect.model), _receiver.Peers())
    for version, shape in ((1, (3, 4)), (2, (5,))):
        trainer = connect(f"trainer-{version}")
        trainer.register({"w": torch.full(shape, float(version))})
        trainer.publish(version)
        received = receiver.fetch(*receiver.describe(version))
        assert torch.equal(received.tensors["w"], torch.full(shape, float(version)))
    receiver.close()


def test_a_latest_version_that_goes_meanwhile_is_followed_by_the_next(server, connect):
    trainer = connect("trainer")
    trainer.register({"w": torch.zeros(3)})
    trainer.publish(1)
    receiver = _receiver.Receiver(Settings(server, connect.model), _receiver.Peers())
    tried = []

    def step(number, specs):
        tried.append(number)
        if number < 3:
            trainer.unpublish()
            trainer.publish(number + 1)
            until_lost(trainer, number)
        return receiver.fetch(number, specs)

    assert receiver.take(None, step).arrived.version == 3
    assert tried == [1, 2, 3]
    trainer.unpublish()
    trainer.publish(4)
    receiver.close()
    with pytest.raises(tensorhub.NotFoundError):
        receiver.take(3, receiver.fetch)


def test_memory_of_another_process_is_known_by_its_name():
    block = Block.shared(100)
    assert block.ticket is not None
    block.flat[7] = 9
    seen = Block.of(block.ticket)
    assert seen.flat[7] == 9
    stranger = Ticket(block.ticket.pid, block.ticket.descriptor, 100, "tensorhub-of-somebody-else")
    with pytest.raises(tensorhub.FailedPreconditionError, match="TENSORHUB_SHARE=0"):
        Block.of(stranger)
    nobody = Ticket(2**22 + 1, 0, 100, block.ticket.name)
    with pytest.raises(tensorhub.FailedPreconditionError, match="TENSORHUB_SHARE=0"):
        Block.of(nobody)
