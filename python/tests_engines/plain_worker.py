# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""For the workers that vLLM starts as processes: weights stay where the loader put them."""

import engines
import measured_worker

engines.use_plain_gemm()


class Extension(measured_worker.Extension):
    """What the workers have besides (``worker_extension_cls``)."""

    def in_place(self):
        return self.weight_transfer_engine._slices is not None

    def places(self):
        """Where the model's parameters are."""
        return [value.data_ptr() for value in self.model_runner.get_model().parameters()]
