# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""A causal language model of some million parameters, and its task: to write the larger of two
digits behind `a?b=`."""

import torch

_OR, _EQUALS = 10, 11
_TOKENS, _LENGTH = 12, 4


def prompts(count, generator):
    """Tokens of shape [count, 4], and the right answers, of shape [count]."""
    terms = torch.randint(0, 10, (count, 2), generator=generator)
    sign, equals = torch.full((count, 1), _OR), torch.full((count, 1), _EQUALS)
    tokens = torch.cat([terms[:, :1], sign, terms[:, 1:], equals], dim=1)
    return tokens, terms.max(1).values


class _Block(torch.nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm_in = torch.nn.LayerNorm(width)
        self.norm_out = torch.nn.LayerNorm(width)
        self.qkv = torch.nn.Linear(width, 3 * width)
        self.mix = torch.nn.Linear(width, width)
        self.up = torch.nn.Linear(width, 4 * width)
        self.down = torch.nn.Linear(4 * width, width)

    def forward(self, state):
        batch, length, width = state.shape
        parts = self.qkv(self.norm_in(state)).view(batch, length, 3, self.heads, -1)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        seen = torch.nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        state = state + self.mix(seen.transpose(1, 2).reshape(batch, length, width))
        return state + self.down(torch.nn.functional.gelu(self.up(self.norm_out(state))))


class Model(torch.nn.Module):
    """Tokens of shape [batch, length] to the logits of the ten digits that may come next."""

    def __init__(self, width=160, layers=4, heads=4):
        super().__init__()
        self.tokens = torch.nn.Embedding(_TOKENS, width)
        self.places = torch.nn.Embedding(_LENGTH, width)
        self.blocks = torch.nn.ModuleList(_Block(width, heads) for _ in range(layers))
        self.norm = torch.nn.LayerNorm(width)
        self.head = torch.nn.Linear(width, 10)

    def forward(self, tokens):
        state = self.tokens(tokens) + self.places.weight[: tokens.shape[1]]
        for block in self.blocks:
            state = block(state)
        return self.head(self.norm(state[:, -1]))
