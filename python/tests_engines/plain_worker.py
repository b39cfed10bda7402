# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""For the workers that vLLM starts as processes: weights stay where the loader put them."""

import engines

engines.use_plain_gemm()


class Extension:
    """What the workers have besides (``worker_extension_cls``)."""

    def holds(self):
        """The version, the bytes that it took, the receipt, whether it is in place, its memory."""
        plugin = self.weight_transfer_engine
        places = [value.data_ptr() for value in self.model_runner.get_model().parameters()]
        arrived = plugin.arrived
        in_place = plugin._in_place is not None
        return arrived.version, arrived.bytes_read, arrived.receipt, in_place, places
