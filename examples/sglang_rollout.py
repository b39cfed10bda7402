# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""A trainer and an SGLang that follows it: publish, update, generate.

python examples/sglang_rollout.py MODEL              # a Hugging Face directory; both in one process
python examples/sglang_rollout.py MODEL HOST:PORT    # beside a running tensorhub-server

Needs SGLang and transformers. docs/engines.md has the same by HTTP.
"""

import os
import sys

import sglang
import tensorhub
import torch
import transformers
from tensorhub.integrations.sglang import LOADER, version
from tensorhub.torch import WholePublisher

PROMPTS = [[1, 2, 3, 4], [5, 6, 7]]
ON_A_CPU = {} if torch.cuda.is_available() else {
    "device": "cpu", "attention_backend": "torch_native", "disable_cuda_graph": True,
    "disable_overlap_schedule": True, "max_total_tokens": 4096,
}  # fmt: skip


def update(engine, number):
    """What a trainer does to each SGLang after a publish."""
    engine.begin_weight_update()
    done, said = engine.update_weights_from_tensor(version(number), load_format=LOADER)
    engine.end_weight_update()
    if not done:
        raise RuntimeError(said)


def main(folder, server):
    os.environ.update(TENSORHUB_SERVER=server, TENSORHUB_MODEL="actor")  # for SGLang's schedulers
    engine = sglang.Engine(model_path=folder, skip_tokenizer_init=True,
                           custom_weight_loader=[LOADER], **ON_A_CPU)  # fmt: skip
    trained = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    with WholePublisher(trained, server, "actor", dtype=torch.bfloat16) as publisher:
        for step in range(1, 4):
            with torch.no_grad():
                for parameter in trained.parameters():  # stands for a step of the optimizer
                    parameter.add_(torch.randn_like(parameter), alpha=0.05)
            publisher.publish(step)
            update(engine, step)
            sampling = {"temperature": 0, "max_new_tokens": 8, "ignore_eos": True}
            outputs = engine.generate(input_ids=PROMPTS, sampling_params=sampling)
            print(f"step {step}:", [one["output_ids"] for one in outputs], flush=True)
    engine.shutdown()


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2] if len(sys.argv) == 3 else tensorhub.serve().address)
