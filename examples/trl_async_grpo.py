# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
r"""TRL's AsyncGRPOTrainer, whose weights go through TensorHub to any number of vLLMs.

python examples/trl_async_grpo.py MODEL HOST:PORT VLLM_URL

Start each vLLM before; the trainer asks the one at VLLM_URL for samples:
export VLLM_SERVER_DEV_MODE=1 TENSORHUB_SERVER=HOST:PORT TENSORHUB_MODEL=actor
vllm serve MODEL --weight-transfer-config '{"backend": "tensorhub"}' \
  --middleware tensorhub.integrations.vllm_http.Follow
"""

import sys

from tensorhub.integrations.trl import WeightTransfer


def brevity(completions, **_):
    """A reward that TRL can name in its log, as no lambda has a name."""
    return [-len(str(completion)) for completion in completions]


def main(model, server, url):
    import datasets
    from trl.experimental.async_grpo import AsyncGRPOConfig, AsyncGRPOTrainer

    prompts = [{"prompt": [{"role": "user", "content": f"Count to {n}."}]} for n in range(2, 66)]
    AsyncGRPOTrainer(
        model=model, reward_funcs=brevity,
        args=AsyncGRPOConfig(output_dir="grpo", max_steps=10, vllm_server_base_url=url),
        weight_transfer=WeightTransfer(server=server, model="actor"),
        train_dataset=datasets.Dataset.from_list(prompts),
    ).train()  # fmt: skip


if __name__ == "__main__":
    main(*sys.argv[1:]) if len(sys.argv) == 4 else sys.exit(__doc__)
