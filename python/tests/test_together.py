# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""What else may live in the process: torch, grpcio, another UCX; before and after."""

import itertools
import os
import subprocess
import sys
import textwrap

import pytest
import tensorhub

_USES = {
    "tensorhub": """
        import numpy as np, tensorhub
        a = tensorhub.connect(server, model, "trainer")
        b = tensorhub.connect(server, model, "rollout")
        w, v = np.ones(300_000, np.float32), np.zeros(300_000, np.float32)
        a.register({"w": w})
        b.register({"w": v})
        a.publish(1)
        b.fetch(tensorhub.latest())
        assert (v == 1).all()
        b.leave(drain_timeout=0)
        a.leave(drain_timeout=0)
    """,
    "torch": """
        import torch
        assert torch.nn.Linear(3, 3)(torch.ones(3)).sum().backward() is None
    """,
    "grpc": """
        import grpc
        channel = grpc.insecure_channel(server)
        grpc.channel_ready_future(channel).result(timeout=10)
        call = channel.unary_unary("/grpc.reflection.v1alpha.None/None")
        try:
            call(b"", timeout=10)
        except grpc.RpcError as error:
            assert error.code() == grpc.StatusCode.UNIMPLEMENTED, error
        channel.close()
    """,
    "libucx": """
        import ctypes, libucx
        libraries = libucx.load_library()
        libraries[-1].ucp_get_version_string.restype = ctypes.c_char_p
        assert libraries[-1].ucp_get_version_string()
    """,
}


@pytest.mark.parametrize("order", list(itertools.permutations(["tensorhub", "torch", "grpc"])))
def test_with_torch_and_grpcio(server, connect, order):
    for name in ("torch", "grpc"):
        pytest.importorskip(name)
    run(server, connect.model, order)


@pytest.mark.parametrize("order", [("tensorhub", "libucx"), ("libucx", "tensorhub")])
def test_with_another_ucx(server, connect, order):
    folder = os.environ.get("TENSORHUB_TEST_LIBUCX", "")
    if not os.path.exists(f"{folder}/libucx/__init__.py"):
        pytest.skip("TENSORHUB_TEST_LIBUCX does not name a folder with the package libucx")
    run(server, connect.model, order, PYTHONPATH=folder)


def run(server, model, order, **variables):
    uses = "".join(textwrap.dedent(_USES[name]) for name in order * 2)
    head = f"server, model = {server!r}, {model!r}\n"
    # The second time with a version of its own.
    first, _, second = uses.rpartition("a.publish(1)")
    program = head + first + "a.publish(2)" + second
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_a_ucx_of_ones_own(tmp_path):
    code = "import tensorhub; print(tensorhub.info().ucx_reason)"
    refused = subprocess.run(
        [sys.executable, "-c", code],
        env={"TENSORHUB_UCX_DIR": str(tmp_path), "PATH": "/usr/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "TENSORHUB_UCX_DIR" in refused.stderr
    assert "no libucp.so.0" in refused.stderr
    if not tensorhub.info().ucx_path:
        pytest.skip("the system's UCX is used: there is no folder to name")
    named = subprocess.run(
        [sys.executable, "-c", code],
        env={"TENSORHUB_UCX_DIR": tensorhub.info().ucx_path, "PATH": "/usr/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert named.stdout.strip() == "TENSORHUB_UCX_DIR names it", named.stderr
