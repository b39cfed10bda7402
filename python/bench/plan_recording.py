# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""How long it takes to record what vLLM's loading code does: once for each layout.

    build/engines/vllm/bin/python python/bench/plan_recording.py [--rounds 5]

Models of vLLM on the meta device, with the shapes of Llama 3.1 (44 layers, 399 tensors) and of
Qwen3-235B-A22B (36,945 tensors). Beside it what vLLM's own code takes for the same calls, of which
nothing is recorded. Prints medians of the thread's own time and of time by the clock.
"""

import argparse
import json
import os
import pathlib
import statistics
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "tests_engines"))
import engines  # noqa: F401  (what vLLM on a CPU wants of the environment)

LLAMA = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": 128256,
    "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 44,
    "num_attention_heads": 32, "num_key_value_heads": 8, "max_position_embeddings": 4096,
    "tie_word_embeddings": False, "torch_dtype": "bfloat16",
}  # fmt: skip
MIXTURE = {
    "architectures": ["Qwen3MoeForCausalLM"], "model_type": "qwen3_moe", "vocab_size": 151936,
    "hidden_size": 4096, "intermediate_size": 12288, "moe_intermediate_size": 1536,
    "num_hidden_layers": 94, "num_attention_heads": 64, "num_key_value_heads": 4, "head_dim": 128,
    "num_experts": 128, "num_experts_per_tok": 8, "max_position_embeddings": 4096,
    "norm_topk_prob": True, "tie_word_embeddings": False, "torch_dtype": "bfloat16",
}  # fmt: skip


def shapes_of(config):
    """The checkpoint's, by name."""
    hidden, words = config["hidden_size"], config["vocab_size"]
    found = {"model.embed_tokens.weight": (words, hidden), "lm_head.weight": (words, hidden),
             "model.norm.weight": (hidden,)}  # fmt: skip
    for layer in range(config["num_hidden_layers"]):
        prefix = f"model.layers.{layer}."
        found |= {prefix + name: shape for name, shape in _layer(config).items()}
    return found


def _layer(config):
    hidden, mixed = config["hidden_size"], "num_experts" in config
    head = config.get("head_dim", hidden // config["num_attention_heads"])
    queries, keys = config["num_attention_heads"] * head, config["num_key_value_heads"] * head
    found = {
        "input_layernorm.weight": (hidden,), "post_attention_layernorm.weight": (hidden,),
        "self_attn.q_proj.weight": (queries, hidden), "self_attn.k_proj.weight": (keys, hidden),
        "self_attn.v_proj.weight": (keys, hidden), "self_attn.o_proj.weight": (hidden, queries),
    }  # fmt: skip
    if mixed:
        found |= {"self_attn.q_norm.weight": (head,), "self_attn.k_norm.weight": (head,),
                  "mlp.gate.weight": (config["num_experts"], hidden)}  # fmt: skip
    wide = config["moe_intermediate_size" if mixed else "intermediate_size"]
    parts = [f"experts.{one}." for one in range(config["num_experts"])] if mixed else [""]
    for part in parts:
        found |= {f"mlp.{part}gate_proj.weight": (wide, hidden),
                  f"mlp.{part}up_proj.weight": (wide, hidden),
                  f"mlp.{part}down_proj.weight": (hidden, wide)}  # fmt: skip
    return found


def vllm_config_of(config, folder):
    from vllm.engine.arg_utils import EngineArgs

    pathlib.Path(folder, "config.json").write_text(json.dumps(config), encoding="utf-8")
    return EngineArgs(
        model=folder, skip_tokenizer_init=True, enforce_eager=True, max_model_len=128,
        dtype="bfloat16",
    ).create_engine_config()  # fmt: skip


def join_nobody(folder):
    """vLLM's layers ask for their rank."""
    from vllm.distributed import parallel_state

    parallel_state.init_distributed_environment(1, 0, f"file://{folder}/group", 0, "gloo")
    parallel_state.ensure_model_parallel_initialized(1, 1)


def measure(name, config, folder, rounds):
    import torch
    from tensorhub._layouts import TensorSpec
    from tensorhub.integrations._vllm_model import record_plan
    from vllm.config import set_current_vllm_config
    from vllm.model_executor.model_loader.utils import initialize_model

    vllm_config = vllm_config_of(config, folder)
    specs = [TensorSpec(name, "BF16", shape) for name, shape in shapes_of(config).items()]
    with set_current_vllm_config(vllm_config):
        if not torch.distributed.is_initialized():
            join_nobody(folder)
        with torch.device("meta"):
            model = initialize_model(vllm_config)
        seconds = [timed(lambda: record_plan(model, specs)) for _ in range(rounds)]
        alone = [timed(lambda: load_alone(model, specs)) for _ in range(rounds)]
        plan = record_plan(model, specs)
    if plan.unfilled or plan.untaken or plan.changed:
        raise SystemExit(f"{name}: {plan.unfilled[:3]} {plan.untaken[:3]} {plan.changed}")
    print(f"{name}: {len(specs)} tensors, {len(plan.pieces)} pieces, recorded in {shown(seconds)}; "
          f"vLLM's code alone {shown(alone)}", flush=True)  # fmt: skip


def timed(step):
    """Seconds of this thread, and all."""
    began = time.thread_time(), time.monotonic()
    step()
    return time.thread_time() - began[0], time.monotonic() - began[1]


def load_alone(model, specs):
    """What ``record_plan`` has vLLM do. Copies between tensors without bytes do nothing."""
    import torch
    from tensorhub.integrations import _vllm_model
    from tensorhub.torch import storage_of
    from vllm.model_executor.model_loader.reload import initialize_layerwise_reload

    initialize_layerwise_reload(model)
    for tensor in _vllm_model.named_tensors(model).values():
        _vllm_model._unwrap(tensor)
    given = []
    for spec in specs:
        dtype, shape = storage_of(spec)
        given.append((spec.name, torch.empty(shape, dtype=dtype, device="meta")))
    with torch.no_grad():
        model.load_weights(given)
    _vllm_model._put_back(model)


def shown(pairs):
    own, whole = (1e3 * statistics.median(found) for found in zip(*pairs, strict=True))
    return f"{own:.0f} ms ({whole:.0f} ms by the clock)"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5, help="(5)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        # The mixture first, as it wants a group more.
        measure("Qwen3-235B-A22B", MIXTURE, folder, options.rounds)
        measure("Llama", LLAMA, folder, options.rounds)
        sys.stdout.flush()
        os._exit(0)  # vLLM's groups are not worth an orderly end


if __name__ == "__main__":
    main()
