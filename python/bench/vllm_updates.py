# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""How long a vLLM takes to update: by its own loader, and in place, from two trainer ranks.

    build/engines/vllm/bin/python python/bench/vllm_updates.py [--ranks 2] [--way place]

The trainer's ranks are processes that publish rows of a random Llama. vLLM runs on the CPU; `place`
and `loader` leave weights unpacked, as a GPU does, and `packed` is what vLLM does on a CPU. Prints
medians. One way a call, since a process has one vLLM.
"""

import argparse
import multiprocessing
import os
import pathlib
import statistics
import sys
import tempfile
import time

import tensorhub

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "tests_engines"))
os.environ["PYTHONPATH"] = sys.path[0]  # of vLLM's workers
MODEL = "bench"


def llama(layers):
    import torch
    import transformers

    config = transformers.LlamaConfig(
        vocab_size=4096, hidden_size=1024, intermediate_size=4096, num_hidden_layers=layers,
        num_attention_heads=16, num_key_value_heads=4, head_dim=64, max_position_embeddings=256,
        tie_word_embeddings=False, dtype="bfloat16",
    )  # fmt: skip
    with torch.device("meta"):
        module = transformers.LlamaForCausalLM(config)
    return module.to(torch.bfloat16)


def publish(rank, ranks, server, layers, orders, done):
    """The rows that a rank of FSDP2 has; their values are the version's number."""
    import torch

    pieces = {}
    for name, value in llama(layers).state_dict().items():
        rows = value.shape[0] // ranks
        mine = torch.full((rows, *value.shape[1:]), 0.01, dtype=value.dtype)
        offset = (rank * rows, *[0] * (value.dim() - 1))
        pieces[name] = tensorhub.sliced(mine, tuple(value.shape), offset)
    with tensorhub.connect(server, MODEL, "trainer", rank, ranks) as client:
        client.register(pieces)
        for version in iter(orders.get, None):
            client.unpublish()
            for piece in pieces.values():
                piece.array.fill_(0.001 * version)
            client.publish(version, wait_for_group=True)
            done.put(version)


class Trainer:
    def __init__(self, ranks, server, layers):
        context = multiprocessing.get_context("spawn")
        self._orders = [context.Queue() for _ in range(ranks)]
        self._done = context.Queue()
        for rank, orders in enumerate(self._orders):
            given = (rank, ranks, server, layers, orders, self._done)
            context.Process(target=publish, args=given, daemon=True).start()

    def publish(self, version):
        for orders in self._orders:
            orders.put(version)
        for _ in self._orders:
            self._done.get(timeout=120)


def engine_of(folder, options):
    import engines

    if options.way != "packed":
        engines.use_plain_gemm()
    more = {}
    if options.ranks > 1:
        more["tensor_parallel_size"] = options.ranks
        if options.way != "packed":
            more["worker_extension_cls"] = "plain_worker.Extension"
    return engines.receiving(folder, load_format="dummy", **more)


def measure(engine, trainer, options):
    from engines import update
    from tensorhub.integrations.vllm import arrived

    seconds, fetches = [], []
    for version in range(1, options.updates + 2):
        trainer.publish(version)
        began = time.monotonic()
        update(engine, version=version)
        seconds.append(1e3 * (time.monotonic() - began))
        took = arrived(engine)
        fetches.append(1e3 * max(one.seconds for one in took))
    each = ", ".join(f"{one.bytes_read / 1e6:.0f}" for one in took)
    later, fetch = statistics.median(seconds[1:]), statistics.median(fetches[1:])
    print(f"{options.way}, {options.ranks} ranks: first update {seconds[0]:.0f} ms, then "
          f"{later:.0f} ms, of which the fetch {fetch:.0f} ms; read by each rank: {each} MB",
          flush=True)  # fmt: skip


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--ranks", type=int, default=1, help="of vLLM, tensor parallel (1)")
    parser.add_argument("--trainers", type=int, default=2, help="trainer ranks (2)")
    parser.add_argument("--layers", type=int, default=12, help="of 15 M parameters each (12)")
    parser.add_argument("--updates", type=int, default=7, help="after the first one (7)")
    parser.add_argument("--way", choices=("place", "loader", "packed"), default="place")
    options = parser.parse_args()
    with tensorhub.serve() as server, tempfile.TemporaryDirectory() as folder:
        llama(options.layers).config.save_pretrained(folder)
        engine = engine_of(folder, options)
        given = {"server": server.address, "model": MODEL, "in_place": options.way == "place"}
        engine.init_weight_transfer_engine({"init_info": given})
        measure(engine, Trainer(options.trainers, server.address, options.layers), options)


if __name__ == "__main__":
    main()
