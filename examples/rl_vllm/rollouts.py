# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""The rollouts: processes with a vLLM each, which starts from peers and takes every version.

Samples go back by a pipe; weights come by TensorHub alone.
"""

import multiprocessing
import multiprocessing.connection
import os
import time
from typing import NamedTuple

import numpy as np
import task

PATIENCE = 120  # seconds


class Samples(NamedTuple):
    worker: str
    version: int  # of the weights that wrote them
    wait_s: float  # for a newer version
    update_s: float  # in which vLLM generates nothing
    bytes_read: int
    sources: str
    tokens: np.ndarray  # [samples, prompt and answer]
    before: np.ndarray  # [samples, answer]: log probabilities
    rewards: np.ndarray  # [prompts, samples of each]


def start_vllm(folder, threads, ranks):
    """From the latest version that is published: the folder has no weights."""
    os.environ.update(
        VLLM_CPU_KVCACHE_SPACE="1", VLLM_CPU_OMP_THREADS_BIND="nobind", OMP_NUM_THREADS=threads,
        HF_HUB_OFFLINE="1", VLLM_ENABLE_V1_MULTIPROCESSING="0", VLLM_LOGGING_LEVEL="WARNING",
        VLLM_WORKER_MULTIPROC_METHOD="spawn",
    )  # fmt: skip
    from vllm import LLM

    return LLM(
        folder, load_format="tensorhub", weight_transfer_config={"backend": "tensorhub"},
        dtype="bfloat16", skip_tokenizer_init=True, enforce_eager=True, max_model_len=32,
        enable_prefix_caching=False, disable_log_stats=True, tensor_parallel_size=ranks,
    )  # fmt: skip


def take_newer(engine):
    """(version, seconds of waiting, what each rank took)."""
    from tensorhub.integrations.vllm import arrived, follow

    began = time.monotonic()
    version = follow(engine, wait=PATIENCE, in_place=True)  # on a GPU it is
    took = arrived(engine)
    return version, time.monotonic() - began - took[0].pause, took


def bytes_of(took):
    """That one rank has read; all of them share what their host has in its memory."""
    return max(one.bytes_read for one in took)


def write_answers(engine, prompts, samples):
    from vllm import SamplingParams

    sampling = SamplingParams(
        n=samples, temperature=1.0, max_tokens=task.ANSWER, min_tokens=task.ANSWER, logprobs=0,
        detokenize=False, ignore_eos=True,
    )  # fmt: skip
    given = [{"prompt_token_ids": prompt} for prompt in prompts]
    tokens, before, rewards = [], [], []
    for prompt, one in zip(prompts, engine.generate(given, sampling, use_tqdm=False), strict=True):
        answers = [list(output.token_ids) for output in one.outputs]
        tokens += [prompt + answer for answer in answers]
        before += [
            [odds[token].logprob for token, odds in zip(out.token_ids, out.logprobs, strict=True)]
            for out in one.outputs
        ]
        rewards.append([task.reward(prompt, answer) for answer in answers])
    return np.array(tokens), np.array(before, np.float32), np.array(rewards, np.float32)


def run_rollout(name, server, folder, ranks, prompts, samples, pipe):
    """Takes a version, writes, sends: until the trainer is gone."""
    os.environ.update(
        TENSORHUB_SERVER=server, TENSORHUB_MODEL=task.MODEL, TENSORHUB_GROUP=name,
        TENSORHUB_SPOT="1",
    )  # fmt: skip
    engine = start_vllm(folder, "1", ranks)
    generator = task.seeded(name)
    while True:
        version, waited, took = take_newer(engine)
        written = write_answers(engine, task.prompts(prompts, generator), samples)
        try:
            pipe.send(Samples(name, version, waited, took[0].pause, bytes_of(took),
                              took[0].sources, *written))  # fmt: skip
        except OSError:
            return


class Crew:
    """The rollouts' processes."""

    def __init__(self, *given):
        self._context = multiprocessing.get_context("spawn")
        self._given = given
        self._workers = {}
        self._pipes = []

    def hire(self):
        name = f"rollout-{len(self._workers)}"
        ours, theirs = self._context.Pipe(duplex=False)
        worker = self._context.Process(
            target=run_rollout,
            args=(name, *self._given, theirs),  # no daemon: a vLLM of several ranks has children
        )
        worker.start()
        theirs.close()  # so that the pipe ends with the worker
        self._workers[name] = worker
        self._pipes.append(ours)
        return name

    def kill(self, name):
        self._workers[name].kill()

    def living(self):
        return [name for name, worker in self._workers.items() if worker.is_alive()]

    def take(self):
        """All samples that are there; waits for the first."""
        taken = []
        while not taken:
            ready = multiprocessing.connection.wait(self._pipes, PATIENCE)
            if not ready:
                raise SystemExit(f"no rollout has sent anything for {PATIENCE} s")
            for pipe in ready:
                try:
                    taken.append(pipe.recv())
                except EOFError:
                    self._pipes.remove(pipe)
        return taken

    def dismiss(self):
        for worker in self._workers.values():
            worker.terminate()
        for worker in self._workers.values():
            worker.join(10)
