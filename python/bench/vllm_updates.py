# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""How long a vLLM takes to update: by its own loader, and in place, from two trainer ranks.

    build/engines/vllm/bin/python python/bench/vllm_updates.py [--ranks 2] [--way place]

The trainer's ranks are processes that publish rows of a random Llama. vLLM runs on the CPU;
`place`, `stage` and `loader` leave weights unpacked, as a GPU does, and `packed` is what vLLM does
on a CPU. `stage` waits until the version is there, and then updates. Beside that it measures a copy
of what each rank has from memory to memory, on all ranks at once, and what an update adds to each
rank's own memory. Prints medians. One way a call, since a process has one vLLM.
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
MEASURED_MEMORY = 3  # updates


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
    plain = options.way != "packed"
    more["worker_extension_cls"] = f"{'plain' if plain else 'measured'}_worker.Extension"
    return engines.receiving(folder, load_format="dummy", **more)


def measure(engine, trainer, options):
    """Rows of milliseconds, of each update after the first: all of it, the pause, the fetch, and a
    copy of as many bytes. And the first update's, and bytes that each rank has read, and has."""
    from tensorhub.integrations.vllm import arrived

    rows = []
    for version in range(1, options.updates + 2):
        seconds, copy = timed_update(engine, trainer, options, version)
        took = arrived(engine)
        row = (seconds, max(one.pause for one in took), max(one.seconds for one in took), copy)
        rows.append([1e3 * value for value in row])
    own = engine.collective_rpc("nbytes")
    return rows[0][0], rows[1:], [(one.bytes_read, has) for one, has in zip(took, own, strict=True)]


def timed_update(engine, trainer, options, version):
    """Seconds of an update, and of a copy: in turns before it and after it, since publishers go on
    to hash what they have published."""
    from engines import update

    def copy():
        return max(engine.collective_rpc("seconds_of_a_copy"))

    trainer.publish(version)
    if options.way == "stage":
        stage_and_wait(engine)
    before = copy() if version % 2 else None
    began = time.monotonic()
    update(engine, version=version)
    seconds = time.monotonic() - began
    return seconds, copy() if before is None else before


def memory_of_an_update(engine, trainer, options, version):
    """Bytes that a rank has while it updates, and not before, beside memory that it shares."""
    engine.collective_rpc("watch_memory")
    timed_update(engine, trainer, options, version)
    return max(engine.collective_rpc("grown"))


def show(options, first, rows, read, grown):
    later, pause, fetch, copy = (statistics.median(found) for found in zip(*rows, strict=True))
    each = ", ".join(f"{one / 1e6:.0f} MB, {one / has:.2f} times what it has" for one, has in read)
    longer = statistics.median(row[1] - row[3] for row in rows)
    print(f"{options.way}, {options.ranks} ranks: first update {first:.0f} ms, then {later:.0f} ms "
          f"({min(rows)[0]:.0f} to {max(rows)[0]:.0f}), pause {pause:.0f} ms, the fetch "
          f"{fetch:.0f} ms, a copy in memory {copy:.0f} ms, which the pause "
          f"is {longer:.0f} ms longer than; read by each rank: {each}; its "
          f"memory grows by {grown / 2**20:.1f} MiB at most", flush=True)  # fmt: skip


def stage_and_wait(engine):
    from tensorhub.integrations.vllm import stage, staged

    stage(engine)
    while not (found := staged(engine)).ready:
        if found.error:
            raise SystemExit(found.error)
        time.sleep(0.005)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--ranks", type=int, default=1, help="of vLLM, tensor parallel (1)")
    parser.add_argument("--trainers", type=int, default=2, help="trainer ranks (2)")
    parser.add_argument("--layers", type=int, default=12, help="of 15 M parameters each (12)")
    parser.add_argument("--updates", type=int, default=7, help="after the first one (7)")
    parser.add_argument("--way", choices=("place", "stage", "loader", "packed"), default="place")
    options = parser.parse_args()
    with tensorhub.serve() as server, tempfile.TemporaryDirectory() as folder:
        llama(options.layers).config.save_pretrained(folder)
        engine = engine_of(folder, options)
        given = {"server": server.address, "model": MODEL, "in_place": options.way == "place",
                 "stage": options.way == "stage"}  # fmt: skip
        engine.init_weight_transfer_engine({"init_info": given})
        trainer = Trainer(options.trainers, server.address, options.layers)
        found = measure(engine, trainer, options)
        grown = [memory_of_an_update(engine, trainer, options, options.updates + 2 + number)
                 for number in range(MEASURED_MEMORY)]  # fmt: skip
        show(options, *found, max(grown))


if __name__ == "__main__":
    main()
