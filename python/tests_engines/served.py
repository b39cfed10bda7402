# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""vLLMs that serve by HTTP, each in a process of its own."""

import contextlib
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

START_S = 600
PATIENCE_S = 300
HERE = pathlib.Path(__file__).parent  # its workers have extensions there
OPTIONS = (
    "--skip-tokenizer-init", "--enforce-eager", "--max-model-len=128", "--dtype=bfloat16",
    "--no-enable-prefix-caching", "--enable-scale-out",
    '--weight-transfer-config={"backend": "tensorhub"}',
)  # fmt: skip


class Served:
    """One of them. ``path``: a folder with the model's configuration."""

    def __init__(self, path, *options, port=None, **variables):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", port or 0))
            self.port = port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        environment = dict(
            os.environ, VLLM_SERVER_DEV_MODE="1", VLLM_ENABLE_V1_MULTIPROCESSING="1",
            PYTHONPATH=os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")]), **variables,
        )  # fmt: skip
        # As `vllm serve`, which asks for a distribution of the name vllm.
        command = [sys.executable, "-m", "vllm.entrypoints.openai.api_server", f"--model={path}",
                   "--host=127.0.0.1", f"--port={port}", *OPTIONS, *options]  # fmt: skip
        self.process = subprocess.Popen(command, env=environment, start_new_session=True)

    def until_it_serves(self):
        end = time.monotonic() + START_S
        while True:
            assert self.process.poll() is None, "vLLM has ended"
            assert time.monotonic() < end, "vLLM has not begun to serve"
            with contextlib.suppress(OSError):
                urllib.request.urlopen(f"{self.url}/health", timeout=5).close()
                return self
            time.sleep(0.5)

    def post(self, path, body=None):
        """The status and the answer."""
        headers = {"content-type": "application/json"}
        return self._call(
            urllib.request.Request(self.url + path, json.dumps(body or {}).encode(), headers)
        )

    def get(self, path):
        return self._call(urllib.request.Request(self.url + path))

    def prompt(self, prompt, tokens=16):
        """Which version made which of the answer's tokens, and these."""
        body = {"token_ids": prompt, "sampling_params": {"max_tokens": tokens, "temperature": 0}}
        status, said = self.post("/inference/v1/generate", body)
        assert status == 200, said
        (choice,) = said["choices"]
        made_by = [(one["version"], one["start"], one["end"]) for one in choice["weight_versions"]]
        return made_by, choice["token_ids"]

    def end(self):
        self.process.terminate()
        try:
            self.process.wait(PATIENCE_S)
        finally:
            self.kill()

    def kill(self):
        """With its engine and its workers, which outlive the process that serves."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def _call(self, request):
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
                return answer.status, json.loads(answer.read() or "null")
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.loads(error.read() or "null")


def eventually(step):
    end = time.monotonic() + PATIENCE_S
    while not step():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.1)
