# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""The verbs, from a trainer's and a rollout worker's side."""

import threading
import time

import numpy as np
import pytest
import tensorhub


def pair(connect, shape=(300, 1000), dtype=np.float32):
    trainer, rollout = connect("trainer"), connect("rollout")
    source = np.arange(np.prod(shape)).astype(dtype).reshape(shape)
    target = np.zeros(shape, dtype)
    trainer.register({"w": source})
    rollout.register({"w": target})
    return trainer, rollout, source, target


def test_a_version_arrives_in_place(connect):
    trainer, rollout, source, target = pair(connect)
    trainer.publish(1)
    result = rollout.fetch(tensorhub.newer_than(0))
    assert (result.version, result.bytes_read) == (1, source.nbytes)
    assert result.sources == "trainer/0"
    assert np.array_equal(source, target)
    assert (trainer.held(), rollout.held()) == (1, 1)
    again = rollout.fetch(tensorhub.latest())
    assert again.bytes_read == 0
    assert len(result.identity) == 16
    assert again.identity == result.identity
    trainer.unpublish()
    assert trainer.held() is None
    source += 1
    trainer.publish(2)
    assert rollout.fetch(tensorhub.version(2)).version == 2
    assert np.array_equal(source, target)


def test_a_fetch_is_traced_for_its_caller(connect, monkeypatch, tmp_path):
    monkeypatch.setenv("TENSORHUB_TRACE", str(tmp_path))
    trainer, rollout, *_ = pair(connect)
    trainer.publish(1)
    with pytest.raises(tensorhub.InvalidArgumentError, match="traceparent"):
        rollout.fetch(tensorhub.latest(), traceparent="00-1-2-3")
    caller = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    rollout.fetch(tensorhub.latest(), traceparent=caller)
    rollout.leave(drain_timeout=0)
    trainer.leave(drain_timeout=0)
    (file,) = tmp_path.iterdir()
    assert caller in file.read_text()


def test_the_server_lists_what_is_held(connect):
    trainer, rollout, source, _ = pair(connect)
    trainer.publish(3)
    rollout.fetch(tensorhub.latest())
    (listed,) = rollout.list()
    assert (listed.version, listed.state, listed.bytes) == (3, "visible", source.nbytes)
    assert {replica.group for replica in listed.replicas} == {"trainer", "rollout"}
    assert all(replica.state == "complete" for replica in listed.replicas)
    assert rollout.health() is None


def test_wait_hears_of_a_version(connect):
    trainer, rollout, *_ = pair(connect)
    timer = threading.Timer(0.3, trainer.publish, [7])
    timer.start()
    began = time.monotonic()
    assert rollout.wait(tensorhub.newer_than(2), timeout=20) == 7
    assert time.monotonic() - began > 0.2, "it waited"
    timer.join()
    with pytest.raises(tensorhub.DeadlineExceededError):
        rollout.wait(tensorhub.newer_than(7), timeout=0.2)


def test_other_threads_run_while_one_waits(connect):
    rollout = connect("rollout")
    counted = 0

    def wait():
        with pytest.raises(tensorhub.DeadlineExceededError):
            rollout.wait(tensorhub.newer_than(1), timeout=0.5)

    waiter = threading.Thread(target=wait)
    waiter.start()
    while waiter.is_alive():
        counted += 1
    waiter.join()
    assert counted > 10_000


def test_errors_have_codes_and_classes(connect):
    trainer, rollout, *_ = pair(connect)
    with pytest.raises(tensorhub.NotFoundError, match="version") as caught:
        rollout.fetch(tensorhub.version(99))
    assert caught.value.code == "NOT_FOUND"
    assert isinstance(caught.value, LookupError)
    trainer.publish(1)
    with pytest.raises(tensorhub.FailedPreconditionError, match="unpublish them before"):
        trainer.publish(2)
    with pytest.raises(tensorhub.FailedPreconditionError, match="register"):
        connect("third").publish(1)


def test_an_absent_server_is_unavailable():
    began = time.monotonic()
    with pytest.raises(tensorhub.UnavailableError, match=r"127\.0\.0\.1:9"):
        tensorhub.connect("127.0.0.1:9", "m", "g", connect_timeout=0.3)
    assert time.monotonic() - began < 5


def test_a_network_that_is_not_there_is_named(connect):
    with pytest.raises(tensorhub.NotFoundError, match=r"data_address.*nowhere7.*there are"):
        connect("trainer", data_address="nowhere7")


def test_a_rank_is_one_process(connect):
    connect("trainer")
    with pytest.raises(tensorhub.AlreadyExistsError):
        connect("trainer", connect_timeout=0.5)


def test_nothing_goes_after_leave(connect):
    trainer, *_ = pair(connect)
    trainer.leave()
    trainer.leave()
    with pytest.raises(tensorhub.FailedPreconditionError, match="left"):
        trainer.publish(1)
    assert trainer.held() is None


def test_a_context_leaves(server, connect):
    with tensorhub.connect(server, connect.model, "g") as client:
        client.register({"w": np.zeros(4)})
    with pytest.raises(tensorhub.FailedPreconditionError):
        client.publish(1)


def test_progress_is_reported_in_the_calling_thread(connect):
    trainer, rollout, source, _ = pair(connect, shape=(3000, 5000))
    trainer.publish(1)
    reports = []
    rollout.fetch(
        tensorhub.latest(), progress=lambda report: reports.append((report, threading.get_ident()))
    )
    assert reports
    assert {ident for _, ident in reports} == {threading.get_ident()}
    assert all(
        0 <= report.bytes_done <= report.bytes_total == source.nbytes for report, _ in reports
    )


def test_a_callback_that_raises_ends_the_fetch(connect):
    trainer, rollout, source, target = pair(connect, shape=(3000, 5000))
    trainer.publish(1)

    def fail(report):
        raise ZeroDivisionError(report.version)

    with pytest.raises(ZeroDivisionError):
        rollout.fetch(tensorhub.latest(), progress=fail)
    rollout.fetch(tensorhub.latest())
    assert np.array_equal(source, target)


def test_allocated_memory_is_read_one_sided(connect):
    trainer, rollout = connect("trainer"), connect("rollout")
    ours, theirs = trainer.allocate(4000), rollout.allocate(4000)
    assert bytes(ours) == bytes(4000)
    trainer.register({"w": np.frombuffer(ours, np.float32)})
    rollout.register({"w": np.frombuffer(theirs, np.float32)})
    ours[:4] = b"abcd"
    trainer.publish(1)
    assert rollout.fetch(tensorhub.latest()).way.startswith("one-sided")
    assert bytes(theirs[:4]) == b"abcd"


def test_ranks_publish_together(connect):
    ranks = [connect("trainer", rank=rank, world_size=2) for rank in range(2)]
    for client in ranks:
        client.register({"w": np.zeros(1000, np.float32)})
    with pytest.raises(tensorhub.DeadlineExceededError, match="1"):
        ranks[0].publish(1, wait_for_group=True, timeout=0.5)
    ranks[1].publish(1, wait_for_group=True, timeout=10)


def test_rollouts_follow_a_trainer_that_goes_back(connect):
    trainer, rollout, late = connect("trainer"), connect("rollout"), connect("late")
    for client in (trainer, rollout, late):
        client.register({"w": np.zeros(1000, np.float32)})
    trainer.publish(50)
    assert rollout.fetch(tensorhub.latest()).version == 50
    trainer.unpublish()
    with pytest.raises(tensorhub.FailedPreconditionError, match="supersede"):
        trainer.publish(49)
    trainer.publish(49, supersede=True)
    assert rollout.wait(tensorhub.newer_than(50), timeout=20) == 49
    deadline = time.monotonic() + 20
    while rollout.health() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    assert isinstance(rollout.health(), tensorhub.OutOfRangeError)
    listed = [(v.version, v.state, v.term) for v in rollout.list()]
    assert listed == [(49, "visible", 1), (50, "superseded", 0)]
    assert rollout.fetch(tensorhub.newer_than(rollout.held())).version == 49
    assert rollout.health() is None
    with pytest.raises(tensorhub.FailedPreconditionError, match="begun by group trainer"):
        late.publish(51)


def test_programs_are_told_which_ucx_and_why():
    variables = tensorhub._programs.environment()
    assert variables["TENSORHUB_UCX_WHY"] == tensorhub.info().ucx_reason
    assert variables.get("LD_LIBRARY_PATH", "").startswith(tensorhub.info().ucx_path)


def test_pieces_carry_their_place(connect):
    client = connect("trainer")
    half = np.zeros((2, 8), np.float32)
    client.register({"w": tensorhub.sliced(half, global_shape=(4, 8), offset=(2, 0))})
    with pytest.raises(tensorhub.InvalidArgumentError, match="w"):
        connect("other").register({"w": tensorhub.sliced(half, (3, 8), (2, 0))})


def test_another_layout_is_explained(connect):
    trainer, rollout = connect("trainer"), connect("rollout")
    trainer.register({"a": np.zeros((2, 3), np.float32), "b": np.zeros(4, np.int8)})
    rollout.register({"a": np.zeros((3, 2), np.float32), "c": np.zeros(4, np.int8)})
    trainer.publish(1)
    with pytest.raises(tensorhub.FailedPreconditionError) as caught:
        rollout.fetch(tensorhub.latest())
    said = str(caught.value)
    assert 'tensor "a" is F32 [2, 3] at its sources and F32 [3, 2] at its readers' in said
    assert 'tensor "c" is held by nobody' in said
    assert said.endswith("not registered here is what it has: 'b'")
    assert "\n" not in said


def test_each_rank_reads_its_slices(connect):
    whole = np.arange(48, dtype=np.float32).reshape(6, 8)
    trainers = [connect("trainer", rank=rank, world_size=2) for rank in range(2)]
    for rank, trainer in enumerate(trainers):
        rows = np.ascontiguousarray(whole[3 * rank : 3 * rank + 3])
        trainer.register({"w": tensorhub.sliced(rows, (6, 8), (3 * rank, 0))})
        trainer.publish(1)
    columns = np.zeros((6, 4), np.float32)
    right = connect("rollout")
    right.register({"w": tensorhub.sliced(columns, (6, 8), (0, 4))})
    right.fetch(tensorhub.latest(), partial=True)
    assert np.array_equal(columns, whole[:, 4:])


def test_where_it_shows_itself_has_to_be_right(server, connect, tmp_path):
    with pytest.raises(TypeError, match="http must be a str"):
        connect("g", http=9101)
    with pytest.raises(tensorhub.InvalidArgumentError, match='http: "9101"'):
        connect("g", http="9101")
    with pytest.raises(tensorhub.UnavailableError, match="http: cannot listen on"):
        connect("g", http=server)
    with pytest.raises(tensorhub.FailedPreconditionError, match=r"trace: .*a folder that is there"):
        connect("g", trace=tmp_path / "nowhere")


def test_info_says_which_ucx():
    info = tensorhub.info()
    assert info.ucx_version
    assert info.ucx_reason
