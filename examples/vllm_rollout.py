# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""A trainer and a vLLM that follows it: publish, follow, generate.

python examples/vllm_rollout.py MODEL              # a Hugging Face directory; both in one process
python examples/vllm_rollout.py MODEL HOST:PORT    # beside a running tensorhub-server

Needs vLLM 0.25 or newer and transformers, on a GPU or a CPU. docs/engines.md has the same by HTTP.
"""

import sys

import tensorhub
import torch
import transformers
from tensorhub.integrations.vllm import follow
from tensorhub.torch import WholePublisher
from vllm import LLM, SamplingParams

PROMPTS = [{"prompt_token_ids": [1, 2, 3, 4]}, {"prompt_token_ids": [5, 6, 7]}]


def train(module: torch.nn.Module) -> None:
    """Stands for a step of the optimizer."""
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.05)


def main(folder: str, server: str) -> None:
    # The engine comes first: it may fork, and no TensorHub client works in a fork.
    engine = LLM(folder, skip_tokenizer_init=True, enforce_eager=True, max_model_len=128,
                 weight_transfer_config={"backend": "tensorhub"})  # fmt: skip
    trained = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    with WholePublisher(trained, server, "actor", dtype=torch.bfloat16) as publisher:
        for step in range(1, 4):
            train(trained)
            publisher.publish(step)
            follow(engine, wait=60, server=server, model="actor")
            sampling = SamplingParams(temperature=0, max_tokens=8, detokenize=False)
            outputs = engine.generate(PROMPTS, sampling, use_tqdm=False)
            print(f"step {step}:", [list(one.outputs[0].token_ids) for one in outputs], flush=True)


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2] if len(sys.argv) == 3 else tensorhub.serve().address)
