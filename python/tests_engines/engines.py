# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""vLLM on a CPU with tiny random models, and what it generates without TensorHub.

    python engines.py FOLDER      makes two checkpoints there, and expected.json

A process of vLLM has one engine at a time, so each test file has one, in a process of its own.
"""

import json
import os
import pathlib
import sys

# Before vLLM is imported.
os.environ.update(
    VLLM_CPU_KVCACHE_SPACE="1",
    VLLM_CPU_OMP_THREADS_BIND="nobind",
    OMP_NUM_THREADS="1",
    HF_HUB_OFFLINE="1",
    VLLM_ENABLE_V1_MULTIPROCESSING="0",
    VLLM_WORKER_MULTIPROC_METHOD="spawn",
)

PROMPTS = [[5, 6, 7, 8], [100, 200, 300], [17]]
SEEDS = (1, 2)


def llama(seed):
    """Untied: vLLM on a CPU does not refresh a tied lm_head."""
    import torch
    import transformers

    torch.manual_seed(seed)
    config = transformers.LlamaConfig(
        vocab_size=512, hidden_size=256, intermediate_size=512, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, head_dim=64, max_position_embeddings=256,
        tie_word_embeddings=False, initializer_range=0.2, dtype="bfloat16",
    )  # fmt: skip
    return transformers.LlamaForCausalLM(config).to(torch.bfloat16)


def qwen3(seed):
    """With norms of queries and keys, and untied as well."""
    import torch
    import transformers

    torch.manual_seed(seed)
    config = transformers.Qwen3Config(
        vocab_size=512, hidden_size=256, intermediate_size=512, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, head_dim=64, max_position_embeddings=256,
        tie_word_embeddings=False, initializer_range=0.2, dtype="bfloat16",
    )  # fmt: skip
    return transformers.Qwen3ForCausalLM(config).to(torch.bfloat16)


def awkward(seed):
    """Fused in the checkpoint, one key and value head for all ranks, words that do not divide."""
    import torch
    import transformers

    torch.manual_seed(seed)
    config = transformers.Phi3Config(
        vocab_size=499, hidden_size=256, intermediate_size=512, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=1, max_position_embeddings=256,
        original_max_position_embeddings=256, pad_token_id=0, bos_token_id=1, eos_token_id=2,
        tie_word_embeddings=False, initializer_range=0.2, dtype="bfloat16",
    )  # fmt: skip
    return transformers.Phi3ForCausalLM(config).to(torch.bfloat16)


def mixture(seed):
    """A mixture of experts, which vLLM on a CPU packs when it starts."""
    import torch
    import transformers

    torch.manual_seed(seed)
    config = transformers.Qwen3MoeConfig(
        vocab_size=512, hidden_size=256, intermediate_size=512, moe_intermediate_size=128,
        num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, head_dim=64,
        num_experts=4, num_experts_per_tok=2, max_position_embeddings=256,
        tie_word_embeddings=False, initializer_range=0.2, dtype="bfloat16",
    )  # fmt: skip
    return transformers.Qwen3MoeForCausalLM(config).to(torch.bfloat16)


LORA = {"peft_type": "LORA", "r": 4, "lora_alpha": 8, "target_modules": ["q_proj", "down_proj"]}


def with_adapter(seed):
    """The first checkpoint with matrices where PEFT puts them, of two linear layers in each."""
    import torch

    module = llama(SEEDS[0])
    torch.manual_seed(seed)
    for layer in module.model.layers:
        for linear in (layer.self_attn.q_proj, layer.mlp.down_proj):
            inner = {"lora_A": (linear.in_features, LORA["r"]),
                     "lora_B": (LORA["r"], linear.out_features)}  # fmt: skip
            for name, size in inner.items():
                matrix = torch.nn.Linear(*size, bias=False, dtype=torch.bfloat16)
                torch.nn.init.normal_(matrix.weight, std=0.1)
                linear.add_module(name, torch.nn.ModuleDict({"default": matrix}))
    return module


def engine_of(path, **options):
    from vllm import LLM

    return LLM(
        str(path), skip_tokenizer_init=True, enforce_eager=True, max_model_len=128,
        dtype="bfloat16", enable_prefix_caching=False, **options,
    )  # fmt: skip


def receiving(path, **options):
    return engine_of(path, weight_transfer_config={"backend": "tensorhub"}, **options)


def tokens(engine, prompts=PROMPTS, lora_request=None):
    from vllm import SamplingParams

    sampling = SamplingParams(temperature=0, max_tokens=16, detokenize=False)
    given = [{"prompt_token_ids": prompt} for prompt in prompts]
    return [list(one.outputs[0].token_ids)
            for one in engine.generate(given, sampling, use_tqdm=False, lora_request=lora_request)
    ]  # fmt: skip


def join(engine, server, model, **more):
    engine.init_weight_transfer_engine({"init_info": {"server": server, "model": model, **more}})


def update(engine, **info):
    engine.start_weight_update()
    engine.update_weights({"update_info": info})
    engine.finish_weight_update()


def worker_of(engine):
    """vLLM's worker of an engine in this process."""
    return engine.llm_engine.engine_core.engine_core.model_executor.driver_worker.worker


def use_plain_gemm():
    """As on a GPU: a linear layer uses its weight where the loader put it."""
    import torch
    import vllm.model_executor.layers.linear as linear
    import vllm.model_executor.layers.utils as utils
    import vllm.model_executor.layers.vocab_parallel_embedding as embedding

    def plain(layer, remove_weight):
        layer.cpu_linear = torch.nn.functional.linear

    for module in (linear, utils, embedding):
        if hasattr(module, "dispatch_cpu_unquantized_gemm"):
            module.dispatch_cpu_unquantized_gemm = plain


def use_plain_experts():
    """As on a GPU by Triton: experts are used where the loader put them. On each rank there may be
    some of them (``enable_expert_parallel``), which vLLM's own kernel for a CPU does not know."""
    import vllm.model_executor.layers.fused_moe.unquantized_fused_moe_method as methods
    from vllm.model_executor.layers.fused_moe.experts.cpu_moe import CPUUnquantizedExperts

    select = methods.select_unquantized_moe_backend

    def backend(**given):
        return methods.UnquantizedMoeBackend.TRITON, select(**given)[1]

    methods.select_unquantized_moe_backend = backend
    CPUUnquantizedExperts.process_weights_after_loading = lambda experts, layer: None
    CPUUnquantizedExperts.apply = _apply_plainly


def _apply_plainly(
    experts, output, hidden_states, w1, w2, topk_weights, topk_ids, expert_map, **given
):
    import torch
    from torch.nn import functional

    total = torch.zeros(hidden_states.shape)
    for expert in range(given["global_num_experts"]):
        place = expert if expert_map is None else int(expert_map[expert])
        tokens, choice = torch.nonzero(topk_ids == expert, as_tuple=True)
        if place < 0:  # another rank's
            continue
        gate, up = functional.linear(hidden_states[tokens], w1[place]).chunk(2, -1)
        found = functional.linear(functional.silu(gate) * up, w2[place])
        total.index_add_(0, tokens, found.float() * topk_weights[tokens, choice, None])
    output.copy_(total)


def prepare(folder):
    """The checkpoints, and the tokens of engines that vLLM itself loaded from them."""
    for seed in SEEDS:
        llama(seed).save_pretrained(folder / str(seed))
    # All are kept to the end: the end of one takes what another in this process needs.
    engines = [engine_of(folder / str(seed)) for seed in SEEDS]
    expected = {"packed": [tokens(engine) for engine in engines]}
    use_plain_gemm()
    engines += [engine_of(folder / str(seed)) for seed in SEEDS]
    expected["plain"] = [tokens(engine) for engine in engines[len(SEEDS) :]]
    (folder / "expected.json").write_text(json.dumps(expected), encoding="utf-8")
    sys.stdout.flush()
    os._exit(0)  # engines are not worth an orderly end


if __name__ == "__main__":
    prepare(pathlib.Path(sys.argv[1]))
