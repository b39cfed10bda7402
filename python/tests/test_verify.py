# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""What is held is compared with what was published, by clients."""

import threading

import numpy as np
import pytest
import tensorhub


def weights(version):
    return {"a": np.full((3, 5), version, np.float32), "b": np.arange(7, dtype=np.int16) + version}


def test_a_receipt_is_equal_wherever_the_version_is(connect):
    trainer, rollouts = connect("trainer"), [connect(f"rollout-{n}") for n in range(2)]
    trainer.register(weights(1))
    trainer.publish(1)
    receipts = set()
    for rollout in rollouts:
        rollout.register(weights(0))
        receipts.add(rollout.fetch(tensorhub.latest()).receipt)
        found = tensorhub.verify(rollout)
        assert (found.version, found.tensors, found.bytes) == (1, 2, 74)
        receipts.add(found.receipt)
    receipts.add(tensorhub.verify(trainer).receipt)
    assert len(receipts) == 1
    assert len(receipts.pop()) == 32


def test_what_was_written_into_is_named(connect):
    trainer, rollout = connect("trainer"), connect("rollout")
    trainer.register(weights(1))
    trainer.publish(1)
    mine = weights(0)
    rollout.register(mine)
    rollout.fetch(tensorhub.latest())
    mine["b"][3] += 1
    with pytest.raises(tensorhub.DataLossError, match="version 1: b differ"):
        tensorhub.verify(rollout)
    rollout.unpublish()
    rollout.fetch(tensorhub.latest())
    assert mine["b"][3] == weights(1)["b"][3]
    assert tensorhub.verify(rollout).version == 1


def test_the_ranks_of_a_group_verify_together(connect):
    trainer = connect("trainer")
    trainer.register({"w": np.arange(12.0).reshape(4, 3)})
    trainer.publish(1)
    outcomes = [None, None]

    def run(rank):
        client = connect("rollout", rank=rank, world_size=2)
        rows = np.zeros((2, 3))
        client.register({"w": tensorhub.sliced(rows, (4, 3), (2 * rank, 0))})
        fetched = client.fetch(tensorhub.latest())
        outcomes[rank] = (fetched.receipt, tensorhub.verify(client).receipt, rows)

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    receipts = {receipt for one in outcomes for receipt in one[:2]}
    assert receipts == {tensorhub.verify(trainer).receipt}
    assert np.array_equal(np.concatenate([one[2] for one in outcomes]).ravel(), np.arange(12.0))


def test_another_cut_is_compared_with_what_the_publishers_have(connect):
    # Not with itself: the rollout is the only one of its cut, and its digests are of what it has.
    trainers = [connect("trainer", rank=rank, world_size=2) for rank in range(2)]
    for rank, trainer in enumerate(trainers):
        rows = np.full((2, 3), rank + 1.0)
        trainer.register({"w": tensorhub.sliced(rows, (4, 3), (2 * rank, 0))})
        trainer.publish(1)
    rollout, mine = connect("rollout"), np.zeros((4, 3))
    rollout.register({"w": mine})
    fetched = rollout.fetch(tensorhub.latest())
    found = tensorhub.verify(rollout)
    assert (found.receipt, found.tensors, found.bytes) == (fetched.receipt, 1, 96)
    mine[3, 2] = 9
    with pytest.raises(tensorhub.DataLossError, match="version 1: w differ"):
        tensorhub.verify(rollout)


def test_what_holds_nothing_is_told_so(connect):
    client = connect("rollout")
    with pytest.raises(tensorhub.FailedPreconditionError, match="holds no whole version"):
        tensorhub.verify(client)
    engine = type("Engine", (), {"__module__": "sglang.srt", "collective_rpc": pytest.fail})
    with pytest.raises(TypeError, match="vLLM, SGLang or verl with TensorHub's plug-in, not dict"):
        tensorhub.verify({})
    with pytest.raises(TypeError, match="not Engine"):
        tensorhub.verify(engine())
