# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""As much of a vLLM that serves by HTTP as following it takes: its client, and its application."""

import asyncio
import json
import threading
import types


class Client:
    """vLLM's asynchronous client of workers in this process; each call takes its turn."""

    def __init__(self, workers, **parallel):
        self.workers = workers
        self.calls, self.methods = [], []
        self.paused = self.ended = False
        self.label = None
        transfer = types.SimpleNamespace(backend="tensorhub")
        parallel = {"data_parallel_size": 1, **parallel}
        self.vllm_config = types.SimpleNamespace(
            weight_transfer_config=transfer, parallel_config=types.SimpleNamespace(**parallel)
        )
        self._turn = threading.Lock()

    async def collective_rpc(self, method, args=()):
        return await asyncio.to_thread(self._call, method, args)

    def _call(self, method, args):
        with self._turn:
            self.methods.append(method)
            if method == "tensorhub_take":
                self.calls.append(("take", self.paused))
            return [getattr(worker, method)(*args) for worker in self.workers]

    async def is_paused(self):
        return self.paused

    async def pause_generation(self, *, mode, clear_cache):
        assert clear_cache
        self.calls.append(("pause", mode))
        self.paused = True

    async def resume_generation(self):
        self.calls.append(("resume", self.label))
        self.paused = False

    async def reset_prefix_cache(self, reset_running_requests):
        self.calls.append(("reset", reset_running_requests))

    async def update_weight_version(self, version):
        self.label = version

    def shutdown(self, timeout=None):
        self.ended = True


class Server:
    """An application in a thread, and what its middleware answers."""

    def __init__(self, middleware, client):
        self.client = client
        self.app = types.SimpleNamespace(state=types.SimpleNamespace(engine_client=client))
        self._outside = middleware(self._inside)
        self._said = None
        self._loop = asyncio.new_event_loop()
        self._begun, self._ended = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=(self._live(),))

    def __enter__(self):
        self._thread.start()
        assert self._begun.wait(30)
        return self

    def __exit__(self, *_):
        self.client.shutdown()
        self._loop.call_soon_threadsafe(self._said.put_nowait, {"type": "lifespan.shutdown"})
        self._thread.join(30)
        assert not self._thread.is_alive()
        self._loop.close()

    def call(self, path, method="GET"):
        status, _, said = asyncio.run_coroutine_threadsafe(
            self._call(path, method), self._loop
        ).result(60)
        return status, said

    async def _live(self):
        self._said = asyncio.Queue()
        self._said.put_nowait({"type": "lifespan.startup"})
        await self._outside({"type": "lifespan", "app": self.app}, self._said.get, self._send_life)

    async def _send_life(self, message):
        assert message["type"].endswith(".complete")

    async def _call(self, path, method):
        sent = []

        async def send(message):
            sent.append(message)

        scope = {"type": "http", "method": method, "path": path, "app": self.app}
        await self._outside(scope, None, send)
        return sent[0]["status"], dict(sent[0]["headers"]), json.loads(sent[1]["body"])

    async def _inside(self, scope, receive, send):
        if scope["type"] == "lifespan":
            while (message := await receive())["type"] != "lifespan.shutdown":
                await send({"type": f"{message['type']}.complete"})
                self._begun.set()
            await send({"type": "lifespan.shutdown.complete"})
            return
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b'"a prompt"'})
