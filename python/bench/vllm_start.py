# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""How long a vLLM that starts waits for its weights, against a plain fetch of the same bytes.

    build/engines/vllm/bin/python python/bench/vllm_start.py [--rounds 5]

Two trainer ranks publish rows of a random Llama. Each round is two processes, in turns first: a
client fetches the version into fresh memory, and a vLLM starts with `--load-format tensorhub`,
weights unpacked as on a GPU. Both times are with joining the hub, and the vLLM's also with vLLM's
loader. Prints medians.
"""

import argparse
import multiprocessing
import os
import statistics
import sys
import tempfile
import time

import tensorhub
from vllm_updates import MODEL, Trainer, llama


def plain_fetch(server):
    """Seconds of a fetch of whole tensors, and with joining, memory and registering."""
    from tensorhub.integrations._settings import Settings
    from tensorhub.integrations._stage import Stage

    began = time.monotonic()
    stage = Stage(Settings(server, MODEL, "plain"))
    number, specs = stage.describe(None)
    stage.hold(specs)
    arrived = stage.fetch(number)
    whole = time.monotonic() - began
    stage.close()
    return arrived.seconds, whole


def start(server, folder):
    """Seconds of the fetch in it, and until the model has its weights."""
    import engines
    from tensorhub.integrations._vllm_loader import TensorHubModelLoader

    engines.use_plain_gemm()
    seconds = []
    load = TensorHubModelLoader.load_weights

    def timed(self, model, model_config):
        began = time.monotonic()
        load(self, model, model_config)
        seconds.append(time.monotonic() - began)

    TensorHubModelLoader.load_weights = timed
    os.environ.update(TENSORHUB_SERVER=server, TENSORHUB_MODEL=MODEL)
    engine = engines.receiving(folder, load_format="tensorhub")
    return engines.worker_of(engine).weight_transfer_engine.arrived.seconds, seconds[0]


def report(step, given, results):
    results.put(step(*given))
    results.close()
    results.join_thread()
    os._exit(0)  # an engine is not worth an orderly end


def in_a_process(step, *given):
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    child = context.Process(target=report, args=(step, given, results))
    child.start()
    found = results.get(timeout=300)
    child.join()
    return found


def one_round(server, folder, start_first):
    steps = [(plain_fetch, server), (start, server, folder)]
    found = [in_a_process(*step) for step in (reversed(steps) if start_first else steps)]
    return found[::-1] if start_first else found


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5, help="(5)")
    parser.add_argument("--layers", type=int, default=12, help="of 15 M parameters each (12)")
    options = parser.parse_args()
    with tensorhub.serve() as server, tempfile.TemporaryDirectory() as folder:
        llama(options.layers).config.save_pretrained(folder)
        trainer = Trainer(2, server.address, options.layers)
        trainer.publish(1)
        rows = [one_round(server.address, folder, number % 2 == 1)
                for number in range(options.rounds)]  # fmt: skip
    plain, started = (zip(*found, strict=True) for found in zip(*rows, strict=True))
    (fetch, whole), (inner, all_of_it) = (
        [1e3 * statistics.median(one) for one in found] for found in (plain, started)
    )
    each = [start[1] / plain[1] for plain, start in rows]
    print(f"a plain fetch {fetch:.0f} ms, with joining {whole:.0f} ms; a vLLM that starts "
          f"{all_of_it:.0f} ms, of which its fetch {inner:.0f} ms: {all_of_it / whole:.2f} times "
          f"as long ({min(each):.2f} to {max(each):.2f})", flush=True)  # fmt: skip
    sys.exit(0)


if __name__ == "__main__":
    main()
