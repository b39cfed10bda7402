# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""For the workers that vLLM starts as processes: weights stay where the loader put them."""

import engines
import measured_worker
from tensorhub import ResourceExhaustedError
from tensorhub.integrations import _stage

engines.use_plain_gemm()
engines.use_plain_experts()


class Extension(measured_worker.Extension):
    """What the workers have besides (``worker_extension_cls``)."""

    def in_place(self):
        return self.weight_transfer_engine._slices is not None

    def places(self):
        """Where the model's parameters are."""
        return [value.data_ptr() for value in self.model_runner.get_model().parameters()]

    def fail_to_join(self, rank):
        """From now on this rank's fetches end before they have begun."""
        if self.rank == rank:
            _stage.Fetching._fetch = _fail


def _fail(fetching, client):
    raise ResourceExhaustedError("no memory for it")
