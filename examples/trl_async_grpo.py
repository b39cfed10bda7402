# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""TRL's AsyncGRPOTrainer, whose weights go through TensorHub to any number of vLLMs.

python examples/trl_async_grpo.py MODEL HOST:PORT VLLM_URL...

Start each vLLM before, with the hub's address and the name `actor` in its environment:
VLLM_SERVER_DEV_MODE=1 vllm serve MODEL --weight-transfer-config '{"backend": "tensorhub"}'
"""

import json
import sys
import urllib.request
from multiprocessing.pool import ThreadPool

from tensorhub.integrations.trl import WeightTransfer


def post(url, path, body=None):
    given = json.dumps(body or {}).encode()
    request = urllib.request.Request(f"{url}/{path}", given, {"Content-Type": "application/json"})
    urllib.request.urlopen(request, timeout=600).close()


def everywhere(urls, *calls):
    """Each call at all vLLMs, before the next one."""
    with ThreadPool(len(urls)) as pool:
        for path, body in calls:
            pool.starmap(post, [(url, path, body) for url in urls])


def transfer_to(urls, server):
    everywhere(urls, ("init_weight_transfer_engine", {"init_info": {}}))

    def update(version):
        everywhere(urls, ("start_weight_update", None),
                   ("update_weights", {"update_info": {"version": version}}),
                   ("finish_weight_update", {"weight_version": str(version)}))  # fmt: skip

    return WeightTransfer(server=server, model="actor", update=update,
                          pause=lambda: everywhere(urls, ("pause?mode=wait", None)),
                          resume=lambda: everywhere(urls, ("resume", None)))  # fmt: skip


def brevity(completions, **_):
    """A reward that TRL can name in its log, as no lambda has a name."""
    return [-len(str(completion)) for completion in completions]


def main(model, server, *urls):
    import datasets
    from trl.experimental.async_grpo import AsyncGRPOConfig, AsyncGRPOTrainer

    prompts = [{"prompt": [{"role": "user", "content": f"Count to {n}."}]} for n in range(2, 66)]
    AsyncGRPOTrainer(
        model=model, reward_funcs=brevity,
        args=AsyncGRPOConfig(output_dir="grpo", max_steps=10, vllm_server_base_url=urls[0]),
        weight_transfer=transfer_to(urls, server),
        train_dataset=datasets.Dataset.from_list(prompts),
    ).train()  # fmt: skip


if __name__ == "__main__":
    main(*sys.argv[1:]) if len(sys.argv) > 3 else sys.exit(__doc__)
