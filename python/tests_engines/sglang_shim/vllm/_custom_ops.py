# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Names that SGLang imports where it has no kernels of its own. PyTorch's own ops run instead."""


def _not_here(*_, **__):
    raise NotImplementedError("this is a stand-in for vLLM, for SGLang's tests on a CPU")


fused_add_rms_norm = rms_norm = rotary_embedding = _not_here
