# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""vLLMs that follow while a trainer publishes, and others come and go.

    python crowd.py [VLLMS [VERSIONS [EVERY]]]     (default: 4 200 10)

Every so many versions one is killed and another one starts. Prompts run all the time. The last line
has what was seen.
"""

import json
import pathlib
import statistics
import sys
import tempfile
import threading
import time

import engines
import tensorhub
from served import Served, eventually
from tensorhub.torch import WholePublisher

MODEL = "crowd"
OPTIONS = ("--load-format=tensorhub", "--middleware=tensorhub.integrations.vllm_http.Follow",
           "--worker-extension-cls=plain_worker.Extension")  # fmt: skip


class Prompter(threading.Thread):
    """Asks one vLLM again and again, until it is told that this one is to go."""

    def __init__(self, vllm, prompt):
        super().__init__(daemon=True)
        self.vllm, self._prompt, self._ends = vllm, prompt, threading.Event()
        self.failures, self.answers = [], []
        self.start()

    def run(self):
        while not self._ends.is_set():
            try:
                self.answers.append(self.vllm.prompt(self._prompt))
            except Exception as error:
                if not self._ends.is_set():
                    self.failures.append(repr(error))
                    return

    def end(self):
        self._ends.set()


class Crowd:
    def __init__(self, address, folder):
        self._address, self._folder = address, folder
        self.living, self._gone = [], []

    def start(self):
        """Returns when it serves."""
        vllm = Served(self._folder, *OPTIONS, TENSORHUB_SERVER=self._address,
                      TENSORHUB_MODEL=MODEL)  # fmt: skip
        vllm.until_it_serves()
        self.living.append(Prompter(vllm, engines.PROMPTS[0]))

    def kill(self):
        prompter = self.living.pop(0)
        prompter.end()
        prompter.vllm.kill()
        self._gone.append(prompter)

    def end(self):
        for prompter in self.living:
            prompter.end()
        for prompter in self.living:
            prompter.join()
            prompter.vllm.end()

    def everybody(self):
        return self._gone + self.living

    def standings(self):
        return [prompter.vllm.get("/tensorhub")[1] for prompter in self.living]

    def is_caught_up(self, version):
        return all(one["version"] == version for one in self.standings())


def check(crowd, tokens):
    """Of whole answers of one version: how many there are. AssertionError: others are wrong."""
    count = 0
    for prompter in crowd.everybody():
        assert not prompter.failures, prompter.failures
        for made_by, answer in prompter.answers:
            labels = [label for label, _, _ in made_by]
            assert all(label.isdecimal() for label in labels), made_by
            assert labels == sorted(labels, key=int), made_by
            if len(labels) == 1:
                count += 1
                assert answer == tokens[int(labels[0]) % 2], made_by
    return count


def run(vllms, versions, every, tokens):
    """``tokens``: of both checkpoints' answers to the first prompt; a version has one of them."""
    modules = [engines.llama(seed) for seed in engines.SEEDS]
    with tempfile.TemporaryDirectory() as folder, tensorhub.serve() as hub:
        modules[0].config.save_pretrained(folder)
        trainer = engines.llama(engines.SEEDS[1])
        publisher = WholePublisher(trainer, hub.address, MODEL)
        publisher.publish(1)
        crowd = Crowd(hub.address, folder)
        took, pauses = [], []
        try:
            for _ in range(vllms):
                crowd.start()
            for version in range(2, versions + 2):
                trainer.load_state_dict(modules[version % 2].state_dict())
                began = time.monotonic()
                publisher.publish(version)
                publisher.wait_taken(version, share=1.0, timeout=300)
                took.append(time.monotonic() - began)
                pauses += [one["pause"] for one in crowd.standings()]
                if version % every == 0:
                    crowd.kill()
                    crowd.start()
            eventually(lambda: crowd.is_caught_up(versions + 1))
            errors = [one["error"] for one in crowd.standings() if one["error"]]
        finally:
            crowd.end()
            publisher.close()
        return {
            "whole answers of one version": check(crowd, tokens), "errors": errors,
            "all have it after, s": round(statistics.median(took), 3),
            "a pause, s": round(statistics.median(pauses), 3), "longest pause, s": max(pauses),
        }  # fmt: skip


def main(vllms="4", versions="200", every="10"):
    with tempfile.TemporaryDirectory() as folder:
        import subprocess

        subprocess.run([sys.executable, engines.__file__, folder], check=True)
        said = (pathlib.Path(folder) / "expected.json").read_text(encoding="utf-8")
    tokens = [made[0] for made in json.loads(said)["plain"]]
    print(run(int(vllms), int(versions), int(every), tokens))


if __name__ == "__main__":
    main(*sys.argv[1:])
