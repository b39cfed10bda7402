# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""The task, which can be checked, and a small Qwen3 that knows nothing yet.

Behind `a,b,c=` the model is to write the three digits in order, the smallest one first.
"""

import numpy as np

MODEL = "actor"  # at the hub
COMMA, EQUALS, VOCABULARY = 10, 11, 16
DIGITS = 3
PROMPT, ANSWER = 2 * DIGITS, DIGITS  # tokens


def prompts(count, generator):
    """Lists of tokens."""
    made = np.full((count, PROMPT), COMMA)
    made[:, ::2] = generator.integers(0, 10, (count, DIGITS))
    made[:, -1] = EQUALS
    return made.tolist()


def reward(prompt, answer):
    """Which part of the answer is right."""
    right = sorted(prompt[::2])
    return sum(mine == yours for mine, yours in zip(answer, right, strict=True)) / ANSWER


def advantages(rewards):
    """GRPO's: of [prompts, samples], against the other samples of the same prompt."""
    middle = rewards.mean(axis=1, keepdims=True)
    return (rewards - middle) / (rewards.std(axis=1, keepdims=True) + 1e-4)


def config():
    """Untied, since vLLM on a CPU does not refresh a tied lm_head."""
    import transformers

    return transformers.Qwen3Config(
        vocab_size=VOCABULARY, hidden_size=256, intermediate_size=768, num_hidden_layers=4,
        num_attention_heads=4, num_key_value_heads=2, head_dim=64, max_position_embeddings=64,
        tie_word_embeddings=False, initializer_range=0.05, dtype="bfloat16",
        architectures=["Qwen3ForCausalLM"], bos_token_id=None, eos_token_id=None,
    )  # fmt: skip


def module():
    """Random weights, in float32; the same in each process."""
    import torch
    import transformers

    torch.manual_seed(0)
    return transformers.Qwen3ForCausalLM(config()).float()


def seeded(name):
    """A generator for a process of that name."""
    return np.random.default_rng(sum(name.encode()))
