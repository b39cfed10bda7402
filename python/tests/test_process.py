# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Interrupts, forks, garbage, the end of the interpreter, logs: in processes of their own."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest
import tensorhub
from processes import runs

_HEAD = """
import os, sys, time, signal, threading, gc
import numpy as np
import tensorhub
signal.signal(signal.SIGINT, signal.default_int_handler)  # it may have been ignored above us
server, model = sys.argv[1:3]
client = tensorhub.connect(server, model, "group")
memory = np.ones(100_000, np.float32)
client.register({"w": memory})
"""


@pytest.fixture
def program(server, connect):
    """program(text): runs it behind _HEAD; returns what it printed. Fails unless it exits 0."""

    def run(text, timeout=30):
        done = subprocess.run(
            [sys.executable, "-c", _HEAD + textwrap.dedent(text), server, connect.model],
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done

    return run


_INTERRUPTED = """
def interrupt(seconds):
    threading.Timer(seconds, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    return time.monotonic() + seconds
client.{publish}
due = interrupt(0.5)
try:
    {call}
    sys.exit("it was not interrupted")
except KeyboardInterrupt:
    late = time.monotonic() - due
print(late)
client.unpublish()
client.publish(9)
assert client.held() == 9
assert client.list()[-1].version == 9
"""


@pytest.mark.parametrize(
    ("publish", "call"),
    [
        ("held()", "client.wait(tensorhub.newer_than(100), timeout=60)"),
        ("held()", "client.fetch(tensorhub.newer_than(100), timeout=60)"),
        ("publish(1)", "client.fetch(tensorhub.newer_than(100), timeout=60)"),
    ],
)
def test_an_interrupt_ends_a_wait_and_the_client_goes_on(program, publish, call):
    late = float(program(_INTERRUPTED.format(publish=publish, call=call)).stdout)
    assert late < 0.2


def test_an_interrupt_ends_connecting(program):
    done = program("""
        import socket
        listener = socket.socket()
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        due = time.monotonic() + 0.5
        try:
            tensorhub.connect("127.0.0.1:%d" % listener.getsockname()[1], "m", "g",
                              connect_timeout=60)
        except KeyboardInterrupt:
            print(time.monotonic() - due)
    """)
    assert float(done.stdout) < 0.2


def test_an_interrupt_while_waiting_for_the_group(program):
    done = program("""
        other = tensorhub.connect(server, model, "two", rank=0, world_size=2)
        other.register({"w": np.zeros(5)})
        threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        due = time.monotonic() + 0.5
        try:
            other.publish(1, wait_for_group=True)
        except KeyboardInterrupt:
            print(time.monotonic() - due)
        assert other.held() == 1
        other.unpublish()
    """)
    assert float(done.stdout) < 0.2


def test_a_signal_handler_may_leave_while_a_publish_waits(program):
    done = program("""
        other = tensorhub.connect(server, model, "two", rank=0, world_size=2)
        other.register({"w": np.zeros(5)})
        signal.signal(signal.SIGALRM, lambda *_: other.leave())
        signal.setitimer(signal.ITIMER_REAL, 0.5)
        began = time.monotonic()
        try:
            other.publish(1, wait_for_group=True)
        except (tensorhub.CancelledError, tensorhub.FailedPreconditionError):
            print(time.monotonic() - began)
    """)
    assert float(done.stdout) < 3


def test_a_fork_says_what_to_do(program):
    program("""
        client.publish(1)
        child = os.fork()
        if child == 0:
            for call in (lambda: client.publish(2), lambda: client.fetch(tensorhub.latest()),
                         lambda: client.leave(),
                         lambda: tensorhub.connect(server, model, "child")):
                try:
                    call()
                    os._exit(3)
                except tensorhub.FailedPreconditionError as error:
                    if "spawn" not in str(error):
                        os._exit(4)
            del client
            gc.collect()
            os._exit(0 if threading.active_count() else 5)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert client.held() == 1
        assert client.health() is None
    """)


def test_the_interpreter_may_end_with_a_client_open(program, connect, server):
    began = time.monotonic()
    program("client.publish(1)")
    assert time.monotonic() - began < 20
    # It left in order: nobody waits for its lease.
    with tensorhub.connect(server, connect.model, "group", connect_timeout=0.5):
        pass


def test_the_interpreter_may_end_in_the_middle_of_a_fetch(program):
    program("""
        selector = tensorhub.newer_than(100)
        threading.Thread(target=client.fetch, args=(selector,), daemon=True).start()
        time.sleep(0.2)
    """)


_THREADS = {
    "thread": "threading.Thread(target=wait).start()",
    "executor": """
        import concurrent.futures
        concurrent.futures.ThreadPoolExecutor().submit(wait)
    """,
    "asyncio": """
        import asyncio
        async def follow():
            async with await tensorhub.aio.connect(server, model, "other") as other:
                waiting.set()
                await other.wait(tensorhub.newer_than(100), timeout=600)
        threading.Thread(target=asyncio.run, args=(follow(),)).start()
    """,
}
_WAITS = {
    "fetch": "client.fetch(tensorhub.newer_than(100), timeout=600)",
    "wait": "client.wait(tensorhub.newer_than(100), timeout=600)",
    "publish": "two.publish(1, wait_for_group=True, timeout=600)",
    "connect": "tensorhub.connect(server, model, 'taken', connect_timeout=600)",
}


@pytest.mark.parametrize(
    ("thread", "call"),
    [("thread", call) for call in _WAITS] + [("executor", "fetch"), ("asyncio", "fetch")],
)
def test_waits_end_with_the_main_thread(program, connect, thread, call):
    connect("taken")
    done = program(f"""
        waiting, ended = threading.Event(), []
        two = tensorhub.connect(server, model, "two", rank=0, world_size=2)
        two.register({{"w": np.zeros(5)}})
        def wait():
            waiting.set()
            try:
                {_WAITS[call]}
            except tensorhub.CancelledError as error:
                two.leave()  # in order
                print("left", error, flush=True)
        {textwrap.indent(textwrap.dedent(_THREADS[thread]), " " * 8).strip()}
        waiting.wait()
        time.sleep(0.2)
    """)
    assert thread == "asyncio" or "left the main thread has ended" in done.stdout


def test_a_client_that_nobody_refers_to_leaves_before_its_memory_goes(program):
    program("""
        import weakref
        memory = np.ones(1000, np.float32)
        gone = weakref.ref(memory)
        other = tensorhub.connect(server, model, "other")
        other.register({"w": memory})
        other.publish(1)
        del memory
        gc.collect()
        assert gone() is not None, "the client keeps what it was given"
        del other
        gc.collect()
        assert gone() is None
        held = [r.group for v in client.list() for r in v.replicas]
        assert "other" not in held, held
    """)


def test_allocated_memory_makes_no_cycle(program):
    program("""
        other = tensorhub.connect(server, model, "other")
        memory = np.frombuffer(other.allocate(4096), np.uint8)
        other.register({"w": memory})
        other.publish(1)
        del memory, other
        gc.collect()
        deadline = time.monotonic() + 10
        while any(r.group == "other" for v in client.list() for r in v.replicas):
            assert time.monotonic() < deadline
    """)


def test_warnings_go_through_logging(program, server):
    done = program("""
        import logging
        lines = []
        class Keep(logging.Handler):
            def emit(self, record):
                lines.append((record.name, record.levelno, record.getMessage()))
        logging.getLogger("tensorhub").addHandler(Keep())
        own = tensorhub.serve()
        worker = tensorhub.connect(own.address, "m", "g")
        own.stop()
        deadline = time.monotonic() + 10
        while not lines and time.monotonic() < deadline:
            time.sleep(0.05)
        worker.leave(drain_timeout=0)
        print(lines[0])
    """)
    assert "('tensorhub', 30," in done.stdout


def test_a_process_is_watched(program, connect, monkeypatch, tmp_path):
    monkeypatch.setenv("TENSORHUB_LOG_LEVEL", "info")  # the log says which port it is
    program(f"""
        import asyncio, logging, queue, re, urllib.request
        lines = queue.SimpleQueue()
        class Keep(logging.Handler):
            def emit(self, record):
                lines.put(record.getMessage())
        logging.getLogger("tensorhub").addHandler(Keep())
        logging.getLogger("tensorhub").setLevel(logging.INFO)
        client.publish(3)
        watched = dict(http="127.0.0.1:0", trace={str(tmp_path)!r})
        with tensorhub.connect(server, model, "first", **watched) as first:
            while not (shown := re.search("http:[^ ]+/metrics", lines.get(timeout=20))):
                pass
            first.register({{"w": np.zeros(100_000, np.float32)}})
            first.fetch(tensorhub.latest())
            async def another():
                async with await tensorhub.aio.connect(server, model, "second", **watched):
                    with urllib.request.urlopen(shown.group(), timeout=20) as page:
                        return page.read().decode()
            page = asyncio.run(another())
        of = 'model="' + model + '"'
        assert f"tensorhub_worker_ranks{{{{{{of}}}}}} 2" in page, page
        assert f"tensorhub_worker_held_version{{{{{{of}}}}}} 3" in page, page
    """)
    (file,) = tmp_path.iterdir()
    assert file.name.endswith(".trace.json")
    assert f"{connect.model} first rank 0" in file.read_text(encoding="utf-8")


def test_a_served_server_ends_with_its_process(tmp_path):
    text = "import tensorhub, sys, os; s = tensorhub.serve(sys.argv[1]); print(s._process.pid); "
    for end in ("", "os.kill(os.getpid(), 9)"):
        done = subprocess.run(
            [sys.executable, "-c", text + "sys.stdout.flush(); " + end, str(tmp_path / "data")],
            stdout=subprocess.PIPE,
            text=True,
            timeout=30,
            check=False,
        )
        deadline = time.monotonic() + 10
        while runs(int(done.stdout)):
            assert time.monotonic() < deadline
            time.sleep(0.02)
    assert (tmp_path / "data").is_dir()


def test_a_server_that_cannot_start_says_so(server):
    with pytest.raises(tensorhub.UnavailableError, match="ended with status"):
        tensorhub.serve(listen=server)


def test_the_main_thread_hears_other_signals_meanwhile(connect):
    heard = []
    before = signal.signal(signal.SIGUSR1, lambda *_: heard.append(1))
    try:
        client = connect("g")
        os.kill(os.getpid(), signal.SIGUSR1)
        with pytest.raises(tensorhub.DeadlineExceededError):
            client.wait(tensorhub.newer_than(5), timeout=0.3)
        assert heard
    finally:
        signal.signal(signal.SIGUSR1, before)
